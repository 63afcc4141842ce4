/** From groups of answers to packed batches: a prompt stands once, and its answers continue it. */

import type { Batch } from "../engine/types.ts";

/** What packing needs to know of one answer. */
export interface PackedAnswer {
  completionIds: Int32Array;
}

export interface AnswerGroup<Answer extends PackedAnswer> {
  promptIds: Int32Array;
  answers: readonly Answer[];
}

export interface MicroBatch<Answer extends PackedAnswer> {
  batch: Batch;
  /** The answers in it, with the place of each one's first token in `batch.tokens`. */
  answers: { answer: Answer; offset: number }[];
}

/**
 * Packs groups into batches of at most `tokenBudget` tokens, in order. A group that does not fit into what is left
 * begins a new batch; one that does not fit at all is cut, and its prompt is repeated. A single answer that is longer
 * than the budget still gets a batch of its own.
 */
export function packMicroBatches<Answer extends PackedAnswer>(
  groups: readonly AnswerGroup<Answer>[],
  tokenBudget: number,
): MicroBatch<Answer>[] {
  const packs: AnswerGroup<Answer>[][] = [];
  let pack: AnswerGroup<Answer>[] = [];
  let used = 0;
  const close = () => {
    if (pack.length > 0) packs.push(pack);
    pack = [];
    used = 0;
  };
  for (const { promptIds, answers } of groups) {
    const whole = answers.reduce((sum, answer) => sum + answer.completionIds.length, promptIds.length);
    if (answers.length === 0) continue;
    if (used + whole > tokenBudget) close();
    let part: Answer[] = [];
    used += promptIds.length;
    for (const answer of answers) {
      if (used + answer.completionIds.length > tokenBudget && part.length > 0) {
        pack.push({ promptIds, answers: part });
        close();
        part = [];
        used = promptIds.length;
      }
      part.push(answer);
      used += answer.completionIds.length;
    }
    pack.push({ promptIds, answers: part });
  }
  close();
  return packs.map(packBatch);
}

function packBatch<Answer extends PackedAnswer>(groups: readonly AnswerGroup<Answer>[]): MicroBatch<Answer> {
  const segments: Batch["segments"] = [];
  const parts: Int32Array[] = [];
  const answers: MicroBatch<Answer>["answers"] = [];
  let offset = 0;
  const add = (ids: Int32Array, parent?: number) => {
    segments.push(parent === undefined ? { length: ids.length } : { length: ids.length, parent });
    parts.push(ids);
    offset += ids.length;
  };
  for (const { promptIds, answers: group } of groups) {
    const parent = segments.length;
    add(promptIds);
    for (const answer of group) {
      answers.push({ answer, offset });
      add(answer.completionIds, parent);
    }
  }
  const tokens = new Int32Array(offset);
  const mask = new Uint8Array(offset);
  let at = 0;
  for (const ids of parts) {
    tokens.set(ids, at);
    at += ids.length;
  }
  for (const { answer, offset: start } of answers) mask.fill(1, start, start + answer.completionIds.length);
  return { batch: { tokens, segments, mask }, answers };
}
