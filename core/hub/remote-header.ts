/** What a model is, from the first bytes of its files: nothing of the weights is read. */

import { HoneError } from "../contract/errors.ts";
import type { FileChoice, RepoSnapshot } from "../contract/hub.ts";
import { readGgufHeader } from "./gguf-header.ts";
import { readSafetensorsHeader, type TensorTotals } from "./safetensors-header.ts";
import type { Cancellable, HubSource } from "./sources/source.ts";

/** Bytes [start, end) of a file. */
export type ReadAt = (path: string, start: number, end: number) => Promise<Buffer>;

export interface ModelHeader {
  format: "safetensors" | "gguf";
  /** `config.json`, or what says the same of a GGUF file. */
  config: Record<string, unknown>;
  /** Of all tensors in the files. */
  parameters: number;
  /** Bytes of the tensors as stored. */
  weightBytes: number;
  /** Of most parameters. */
  dtype: string;
  /** Types of tensors that the engine does not compute with. */
  unreadable: string[];
}

const maxConfig = 1024 ** 2;
/** Shards whose heads are read at once. */
const atOnce = 4;

/** The header of the chosen files of a snapshot. Throws `bad-header`, `no-config`, and what the source throws. */
export async function readRemoteHeader(
  source: HubSource,
  snapshot: RepoSnapshot,
  choice: Pick<FileChoice, "files" | "format">,
  options: Cancellable = {},
): Promise<ModelHeader> {
  const read: ReadAt = (path, start, end) => source.readRange(snapshot, { path }, start, end, options);
  return readHeader(choice.files, read);
}

/** As above, of files wherever they are. */
export async function readHeader(files: readonly { path: string; size: number }[], read: ReadAt): Promise<ModelHeader> {
  const gguf = files.find(({ path }) => /\.gguf$/i.test(path));
  if (gguf !== undefined) {
    const { config, parameters, bytes, dtypes, unreadable } = await readGgufHeader(read, gguf.path, gguf.size);
    return { format: "gguf", config, parameters, weightBytes: bytes, dtype: most(dtypes), unreadable };
  }
  const config = await readConfig(files, read);
  const weights = files.filter(({ path }) => path.endsWith(".safetensors"));
  const totals: TensorTotals[] = [];
  for (let i = 0; i < weights.length; i += atOnce) {
    const some = weights.slice(i, i + atOnce);
    totals.push(...(await Promise.all(some.map(({ path, size }) => readSafetensorsHeader(read, path, size)))));
  }
  const dtypes: Record<string, number> = {};
  for (const one of totals) {
    for (const [name, count] of Object.entries(one.dtypes)) dtypes[name] = (dtypes[name] ?? 0) + count;
  }
  return {
    format: "safetensors",
    config,
    parameters: totals.reduce((sum, one) => sum + one.parameters, 0),
    weightBytes: totals.reduce((sum, one) => sum + one.bytes, 0),
    dtype: most(dtypes),
    unreadable: Object.keys(dtypes).filter((name) => !["F32", "F16", "BF16"].includes(name)),
  };
}

async function readConfig(
  files: readonly { path: string; size: number }[],
  read: ReadAt,
): Promise<Record<string, unknown>> {
  const file = files.find(({ path }) => path === "config.json");
  if (file === undefined || file.size > maxConfig) {
    throw new HoneError(
      "no-config",
      file === undefined ? "there is no config.json beside the weights" : "config.json is too large to be one",
      {
        fix: "choose the repository of a whole model; an adapter needs its base model",
      },
    );
  }
  try {
    const json: unknown = JSON.parse((await read(file.path, 0, file.size)).toString("utf8"));
    if (typeof json === "object" && json !== null && !Array.isArray(json)) return json as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new HoneError("bad-header", "config.json is no JSON object", { fix: "choose another revision or repository" });
}

function most(counts: Record<string, number>): string {
  return Object.entries(counts).sort((a, b) => b[1] - a[1])[0]?.[0] ?? "unknown";
}
