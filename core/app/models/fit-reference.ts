/** The fit of whatever a model is called: on this machine, on a hub, or pasted as a link. */

import { HoneError } from "../../contract/errors.ts";
import type { FitReport, HubSourceName } from "../../contract/hub.ts";
import type { Engine } from "../../engine/types.ts";
import { findSnapshot, type HubSettings } from "../../hub/find-snapshot.ts";
import { parseReference } from "../../hub/sources/parse-reference.ts";
import { findModel, openModel, type ModelFiles } from "../../train/model-ref.ts";
import { fitLocal, fitRepository, thisMachine, withSpeed } from "./fit-model.ts";
import { measureSpeed } from "./model-speed.ts";

export interface FitOptions {
  /** Asks this hub, also for what is here. */
  source?: HubSourceName;
  /** Of a GGUF repository; default: what suits this machine. */
  quant?: string;
  /** Opens a model that is here and draws a short answer. */
  measure?: boolean;
  hubs?: HubSettings;
  signal?: AbortSignal;
}

/** Throws `bad-reference`, `not-a-model`, `not-here` (something to measure must be), and what the hub throws. */
export async function fitReference(engine: Engine, reference: string, options: FitOptions = {}): Promise<FitReport> {
  const machine = thisMachine(engine);
  const files = options.source === undefined ? await findHere(reference) : undefined;
  if (files !== undefined) {
    const report = await fitLocal(files, machine);
    if (options.measure !== true) return report;
    const model = await openModel(engine, files);
    try {
      return withSpeed(report, await measureSpeed(model, files.name, machine.cores));
    } finally {
      await model.close();
    }
  }
  if (options.measure === true) {
    throw new HoneError("not-here", `${reference} is not on this machine, so its speed cannot be measured`, {
      fix: `\`hone get ${reference}\` downloads it`,
    });
  }
  const { source, hubs, signal } = options;
  const parsed = parseReference(reference, source === undefined ? {} : { source });
  if (parsed.ref.kind === "dataset") {
    throw new HoneError("not-a-model", `${parsed.ref.id} is a dataset, which needs no memory for a model`, {
      fix: `\`hone get --dataset ${parsed.ref.id}\` downloads it`,
    });
  }
  const found = await findSnapshot(parsed.ref, { signal, ...(hubs !== undefined && { hubs }) });
  const quant = options.quant ?? parsed.quant ?? (parsed.file?.endsWith(".gguf") === true ? parsed.file : null);
  const { report } = await fitRepository(found.source, found.snapshot, { machine, quant, signal });
  return found.note === null ? report : { ...report, words: [`${found.note}.`, ...report.words] };
}

/** Undefined for what only a hub can know. */
async function findHere(reference: string): Promise<ModelFiles | undefined> {
  if (/^https?:\/\//i.test(reference)) return undefined;
  try {
    return await findModel(reference);
  } catch (error) {
    // What is here in part, or in several versions, is asked for on the hub; a name that no hub can have is the user's slip.
    const elsewhere = ["no-such-model", "incomplete-model", "which-file", "which-revision"];
    if (!(error instanceof HoneError) || !elsewhere.includes(error.code)) throw error;
    if (/^(?:\.{0,2}\/|~|[A-Za-z]:[\\/])/.test(reference) || !reference.includes("/")) throw error;
    return undefined;
  }
}
