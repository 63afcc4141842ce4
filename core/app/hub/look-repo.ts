/** A repository of a hub as a person looks at it before a download: its card, its files, its fit. */

import { existsSync } from "node:fs";
import type { FoundRepos, RepoDetails } from "../../contract/api/hub-calls.ts";
import type { CheckedInput } from "../../contract/api/api.ts";
import { CancelledError, errorToData } from "../../contract/errors.ts";
import type { RepoCard, RepoRef } from "../../contract/hub.ts";
import { createEngine } from "../../engine/engine.ts";
import { datasetSplits } from "../../hub/dataset-files.ts";
import { describePlan, planDownload, readOrder, referenceTo } from "../../hub/download/plan-download.ts";
import { findSnapshot, type HubSettings } from "../../hub/find-snapshot.ts";
import { openSource } from "../../hub/sources/open-hub.ts";
import { parseReference } from "../../hub/sources/parse-reference.ts";
import { fitSnapshot, thisMachine } from "../models/fit-model.ts";

interface Asked {
  hubs: HubSettings;
  signal: AbortSignal;
}

/** Hits of a search. A link or a full name is also told as the one repository that it names. */
export async function searchRepos({ source, query }: CheckedInput<"hub.search">, asked: Asked): Promise<FoundRepos> {
  const named = nameIn(query.text, source, query.kind);
  const hub = named?.source ?? source;
  const words = { ...query, text: named?.id ?? query.text };
  const result = await openSource(hub, asked.hubs[hub]).search(words, { signal: asked.signal });
  return { ...result, named };
}

function nameIn(text: string, source: RepoRef["source"], kind: RepoRef["kind"]): RepoRef | null {
  if (!text.includes("/")) return null;
  try {
    return parseReference(text, { source, kind }).ref;
  } catch {
    // Words with a slash in them are words.
    return null;
  }
}

/** Throws what `readOrder` and `planDownload` throw. */
export async function lookAtRepo(
  { reference, kind, source, quant }: CheckedInput<"hub.look">,
  { hubs, signal }: Asked,
): Promise<RepoDetails> {
  const order = readOrder({
    reference: withHub(reference, source),
    kind: parseKind(reference, kind),
    ...(quant !== null && { quant }),
  });
  const planned = await planDownload(order, { hubs, signal });
  const { choice, note } = planned;
  const plan = describePlan(planned);
  const { files, ...snapshot } = planned.snapshot;
  const isWhole = plan.bytes_to_fetch === 0 && existsSync(plan.path);
  const details: RepoDetails = {
    snapshot,
    plan,
    fit: null,
    fit_problem: null,
    quants: choice.quants,
    splits: snapshot.ref.kind === "dataset" ? datasetSplits({ ref: snapshot.ref, files }) : [],
    note,
    here: isWhole ? referenceTo(plan.ref, choice) : null,
  };
  if (snapshot.ref.kind === "dataset") return details;
  try {
    const machine = thisMachine(await createEngine());
    const fit = await fitSnapshot(planned.source, planned.snapshot, choice, { machine, signal });
    return { ...details, fit };
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    return { ...details, fit_problem: errorToData(error) };
  }
}

/** A link or a name with its hub says where it is. */
function withHub(reference: string, source: RepoRef["source"]): string {
  return source === "huggingface" || reference.includes(":/") || /^[a-z]+:[^/]+\//.test(reference)
    ? reference
    : `${source}:${reference}`;
}

function parseKind(reference: string, kind: RepoRef["kind"]): RepoRef["kind"] {
  return parseReference(reference.replace(/\/[^/]+\.gguf$/i, ""), { kind }).ref.kind;
}

/** Throws what the hub throws. */
export async function readRepoCard(
  { reference, kind, source }: CheckedInput<"hub.card">,
  { hubs, signal }: Asked,
): Promise<RepoCard | null> {
  const { ref } = parseReference(reference, { kind, source });
  const found = await findSnapshot(ref, { hubs, signal });
  return found.source.card(found.snapshot, { signal });
}
