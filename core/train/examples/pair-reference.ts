/**
 * What the frozen starting model thinks of the answers that DPO compares. A fresh LoRA adapter's base is that model:
 * switch the adapter off. Otherwise its log-probs of all answers are taken once, before training, and kept in the run
 * folder, because weights that move are no reference.
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { z } from "zod";
import { HoneError } from "../../contract/errors.ts";
import type { Model } from "../../engine/types.ts";
import type { TokenRow } from "../../engine/micro-batches.ts";
import { preferenceTokens } from "../../evaluate/preference-accuracy.ts";
import { scoreRows, type RowScore, type ScoreOptions } from "../../evaluate/score-rows.ts";
import { canBeScored } from "../../evaluate/solution-loss.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { readRows } from "../../files/json.ts";
import { toJsonLines } from "../../files/jsonl.ts";
import { openModel } from "../model-ref.ts";
import type { PreparedRun, TrainContext } from "../prepare-run.ts";
import type { RunFolder } from "../run-folder/run-folder.ts";

/** Log-probs of rows under the reference, in their order. */
export type PairReference = (rows: readonly TokenRow[]) => Promise<RowScore[]>;

/** A line of `reference.jsonl`: an answer by the hash of its tokens, and its log-prob as a float64. */
const lineSchema = z.object({ tokens: z.string(), logprob: z.number(), trained: z.number().int() });

/**
 * The reference of a run: `atStart` says that the run's model still is as it began. Otherwise a missing file is made
 * with a second copy of the starting model.
 */
export async function openPairReference(
  { engine, listen, signal }: TrainContext,
  prepared: PreparedRun,
  folder: RunFolder,
  { atStart }: { atStart: boolean },
): Promise<PairReference> {
  const { config, files, model } = prepared;
  const options = { batchTokens: config.micro_batch_tokens, signal };
  if (config.finetuning_type === "lora" && files.adapter === undefined) return adapterOff(model, options);
  const path = folder.file("reference");
  if (!existsSync(path)) {
    listen({ type: "phase", phase: "preparing", step: 0 });
    const rows = answersOf(prepared);
    if (atStart) await writeReference(path, model, rows, options);
    else {
      const first = await openModel(engine, files, config.threads === null ? {} : { threads: config.threads });
      try {
        await writeReference(path, first, rows, options);
      } finally {
        await first.close();
      }
    }
  }
  return readReference(path);
}

/** All answers that will be compared, in training and in its evaluations. */
function answersOf({ task, rows, chat, examples, maxLength }: PreparedRun): TokenRow[] {
  const validation = rows.validation.map((row) => preferenceTokens(chat, task, row));
  return [...(examples.dpo?.items ?? []), ...validation]
    .flatMap(({ chosen, rejected }) => [chosen, rejected])
    .filter((row) => canBeScored(row, maxLength));
}

/** The base of a fresh adapter. */
function adapterOff(model: Model, options: ScoreOptions): PairReference {
  return (rows) => scoreRows((batch) => model.withoutLora(() => model.forward(batch)), rows, options);
}

/** Scores each different row once with a model at its start, and writes the file whole or not at all. */
async function writeReference(
  path: string,
  model: Model,
  rows: readonly TokenRow[],
  options: ScoreOptions,
): Promise<void> {
  const different = new Map(rows.map((row) => [keyOf(row), row]));
  const scores = await scoreRows((batch) => model.forward(batch), [...different.values()], options);
  const lines = [...different.keys()].map((tokens, i) => ({
    tokens,
    logprob: scores[i].logprob,
    trained: scores[i].tokens,
  }));
  writeFileAtomic(path, toJsonLines(lines));
}

/** What `writeReference` left. A row that is not in it is refused: the data have changed (`other-data`). */
function readReference(path: string): PairReference {
  const known = new Map(readRows(path, lineSchema).map((line) => [line.tokens, line]));
  return async (rows) =>
    rows.map((row) => {
      const found = known.get(keyOf(row));
      if (found === undefined) {
        throw new HoneError(
          "other-data",
          `${path} lacks an answer of the data: they have changed since the run began`,
          {
            fix: "put the first data back, or begin a new run",
          },
        );
      }
      return { logprob: found.logprob, tokens: found.trained };
    });
}

function keyOf({ promptIds, ids, mask }: TokenRow): string {
  const hash = createHash("sha256");
  for (const part of [promptIds, ids, mask]) {
    hash.update(Buffer.from(part.buffer, part.byteOffset, part.byteLength)).update("|");
  }
  return hash.digest("hex").slice(0, 32);
}
