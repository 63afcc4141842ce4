/** Supervised fine-tuning: the next token of given answers, as likely as can be. Reads top to bottom. */

import { sum } from "../../contract/numbers.ts";
import { packMicroBatches, sliceOf, spread, tokensOf, type TokenRow } from "../../engine/micro-batches.ts";
import type { Method } from "../loop.ts";
import { sftLoss } from "../losses/sft.ts";
import { mergeStats, statMean } from "../losses/stats.ts";
import { stepNormalisers } from "../losses/types.ts";
import { batchMethod, type BatchRun } from "./batch-method.ts";

export function sftMethod(run: BatchRun<TokenRow>): Method {
  const { config, model } = run;
  return batchMethod(run, async (rows, next) => {
    // Of the whole optimizer step, so that the loss does not depend on how it is cut into passes.
    const normalisers = stepNormalisers(rows);
    const parts: ReturnType<typeof sftLoss>[] = [];
    for (const micro of packMicroBatches(
      rows.map((row) => [row]),
      config.micro_batch_tokens,
    )) {
      next();
      const { logprobs, entropy, correct } = await model.forward(micro.batch, { grad: true });
      const loss = sftLoss(
        micro.rows.map(({ row, offset }) => ({
          lp: sliceOf(logprobs, row, offset),
          entropy: sliceOf(entropy, row, offset),
          correct: correct.subarray(offset, offset + row.ids.length),
          mask: row.mask,
        })),
        normalisers,
      );
      await model.backward(spread(micro, loss.dLogprobs));
      parts.push(loss);
    }
    const { entropy, correct } = mergeStats(parts.map(({ stats }) => stats));
    return {
      metrics: {
        loss: sum(parts.map(({ loss }) => loss)),
        mean_token_accuracy: correct === undefined ? NaN : statMean(correct),
        entropy: entropy === undefined ? NaN : statMean(entropy),
      },
      tokens: tokensOf(rows),
    };
  });
}
