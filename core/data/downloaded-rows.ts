/** `datasets/owner/name[@revision][:split]`: rows of a dataset that was downloaded, where they lie. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { HoneError } from "../contract/errors.ts";
import { datasetSplits } from "../hub/dataset-files.ts";
import { requireOne } from "../hub/storage/find-stored.ts";
import { openSource } from "./open-source.ts";
import { requireRow, type RawEntry, type RecordSource } from "./source.ts";

const reference = /^((?:(?:hf|ms|huggingface|modelscope):)?datasets\/[^:]+)(?::(.+))?$/;

export function namesDownload(name: string): boolean {
  return reference.test(name);
}

/**
 * The rows of one split, of all its files in order. Without a name that is the only split, or `train`. Throws
 * `no-such-dataset`, `no-such-split`, `incomplete-model`, and what `openSource` throws.
 */
export async function openDownload(name: string): Promise<RecordSource> {
  const [, repository, part] = reference.exec(name) ?? [];
  const item = requireOne(repository, "dataset");
  if (item?.ref == null) {
    const id = repository.replace(/^(?:\w+:)?datasets\//, "");
    throw new HoneError("no-such-dataset", `the dataset ${repository} has not been downloaded`, {
      fix: `\`hone get ${id} --dataset\` downloads it`,
    });
  }
  const files = item.files.map(({ path, size }) => ({ path, size, sha256: null, etag: null }));
  const splits = datasetSplits({ ref: item.ref, files });
  const label = ({ config, split }: { config: string; split: string }) =>
    config === "default" ? split : `${config}/${split}`;
  const named = splits.filter((one) => label(one) === part || one.split === part);
  const usual = splits.length === 1 ? splits : splits.filter(({ split }) => split === "train");
  const [chosen, ...others] = part === undefined ? usual : named;
  if (chosen === undefined || others.length > 0) {
    const message =
      part === undefined
        ? `${repository} has several parts`
        : `${repository} has no single part ${JSON.stringify(part)}`;
    const names = splits.map((one) => `${repository}:${label(one)}`).slice(0, 20);
    throw new HoneError("no-such-split", message, {
      fix: names.length === 0 ? "download more of it" : `name one of ${names.join(", ")}`,
    });
  }
  const sources = await Promise.all(chosen.files.map((path) => openSource(join(item.folder, ...path.split("/")))));
  return new JoinedSource(name, sources);
}

/** Several files of one form, one after the other. */
class JoinedSource implements RecordSource {
  readonly name: string;
  readonly format: RecordSource["format"];
  readonly size: number;
  readonly warnings: readonly string[];
  readonly #sources: readonly RecordSource[];

  constructor(name: string, sources: readonly RecordSource[]) {
    this.name = name;
    this.format = sources[0].format;
    this.size = sources.reduce((sum, { size }) => sum + size, 0);
    this.warnings = [...new Set(sources.flatMap(({ warnings }) => warnings))];
    this.#sources = sources;
  }

  async *records(): AsyncGenerator<RawEntry> {
    let before = 0;
    for (const source of this.#sources) {
      for await (const entry of source.records()) yield shifted(entry, before);
      before += source.size;
    }
  }

  async record(row: number): Promise<RawEntry> {
    requireRow(this, row);
    let before = 0;
    for (const source of this.#sources) {
      if (row <= before + source.size) return shifted(await source.record(row - before), before);
      before += source.size;
    }
    throw new Error(`row ${row} is beyond ${this.size}`);
  }

  /** Of one file its own; of several that of their hashes, in order. */
  async sha256(): Promise<string> {
    const hashes = await Promise.all(this.#sources.map((source) => source.sha256()));
    return hashes.length === 1 ? hashes[0] : createHash("sha256").update(hashes.join("\n")).digest("hex");
  }
}

/** Rows are counted through all files; lines stay those of the file. */
function shifted(entry: RawEntry, before: number): RawEntry {
  return { ...entry, place: { ...entry.place, row: entry.place.row + before } };
}
