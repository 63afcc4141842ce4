/**
 * From the turns of an episode to rows of tokens: the very ids that the model got and gave, never rendered again. As long
 * as a prompt goes on exactly where the last turn ended, the turns are one row, with the environment's text between them;
 * where the template has rewritten the history, a new row begins with that turn's own prompt.
 */

import type { TokenRow } from "../../engine/micro-batches.ts";
import type { Answer } from "../../evaluate/policy-types.ts";

export interface TrajectoryRow extends TokenRow {
  /** The sampler's log-probs at temperature 1; NaN where the environment wrote. One per id. */
  sampled: Float32Array;
}

/** `trainEnvironment`: text that the environment wrote between turns of one row has a loss too. */
export function trajectoryRows(
  turns: readonly Pick<Answer, "promptTokens" | "tokens" | "logprobs">[],
  { trainEnvironment = false }: { trainEnvironment?: boolean } = {},
): TrajectoryRow[] {
  const rows: { promptIds: Int32Array; parts: Part[] }[] = [];
  let before: Pick<Answer, "promptTokens" | "tokens"> | undefined;
  for (const turn of turns) {
    const written = { ids: turn.tokens, mask: 1, sampled: turn.logprobs };
    const between = before === undefined ? undefined : continuation(before, turn.promptTokens);
    if (between === undefined) rows.push({ promptIds: turn.promptTokens, parts: [written] });
    else {
      const sampled = new Float32Array(between.length).fill(NaN);
      rows[rows.length - 1].parts.push({ ids: between, mask: Number(trainEnvironment), sampled }, written);
    }
    before = turn;
  }
  return rows.map(({ promptIds, parts }) => {
    const length = parts.reduce((sum, { ids }) => sum + ids.length, 0);
    const row = {
      promptIds,
      ids: new Int32Array(length),
      mask: new Uint8Array(length),
      sampled: new Float32Array(length),
    };
    let at = 0;
    for (const { ids, mask, sampled } of parts) {
      row.ids.set(ids, at);
      row.mask.fill(mask, at, at + ids.length);
      row.sampled.set(sampled, at);
      at += ids.length;
    }
    return row;
  });
}

interface Part {
  ids: Int32Array;
  mask: number;
  sampled: Float32Array;
}

/** What `prompt` adds to a turn that it continues; undefined when it does not. */
export function continuation(
  { promptTokens, tokens }: Pick<Answer, "promptTokens" | "tokens">,
  prompt: Int32Array,
): Int32Array | undefined {
  const length = promptTokens.length + tokens.length;
  if (prompt.length < length) return undefined;
  for (let i = 0; i < promptTokens.length; i++) if (prompt[i] !== promptTokens[i]) return undefined;
  for (let i = 0; i < tokens.length; i++) if (prompt[promptTokens.length + i] !== tokens[i]) return undefined;
  return prompt.subarray(length);
}
