/**
 * Direct preference optimisation: the better answer of each pair more likely than the worse one, measured from where a
 * frozen reference stands. Dropout is off. Reads top to bottom.
 */

import { sum } from "../../contract/numbers.ts";
import { packMicroBatches, sliceOf, spread, tokensOf, type TokenRow } from "../../engine/micro-batches.ts";
import type { TokenPair } from "../../evaluate/preference-accuracy.ts";
import type { Method } from "../loop.ts";
import { dpoLoss, type DpoResult } from "../losses/dpo.ts";
import { mergeStats, statMean } from "../losses/stats.ts";
import { batchMethod, type BatchRun } from "./batch-method.ts";
import type { PairReference } from "./pair-reference.ts";

export interface DpoRun extends BatchRun<TokenPair> {
  reference: PairReference;
}

export function dpoMethod({ reference, ...run }: DpoRun): Method {
  const { config, model } = run;
  return batchMethod(run, async (pairs, next) => {
    const parts: DpoResult[] = [];
    const bundles = pairs.map(({ chosen, rejected }) => [chosen, rejected]);
    for (const micro of packMicroBatches<TokenRow>(bundles, config.micro_batch_tokens)) {
      next();
      const frozen = await reference(micro.rows.map(({ row }) => row));
      const { logprobs } = await model.forward(micro.batch, { grad: true });
      const answers = micro.rows.map(({ row, offset }, i) => ({
        lp: sliceOf(logprobs, row, offset),
        ref: frozen[i].logprob,
        mask: row.mask,
      }));
      // A bundle is never cut, so the answers of a pair are neighbours.
      const ofBatch = answers.flatMap((chosen, i) => (i % 2 === 0 ? [{ chosen, rejected: answers[i + 1] }] : []));
      const loss = dpoLoss(ofBatch, config, { pairs: pairs.length });
      const gradients = loss.dChosen.flatMap((gradient, i) => [gradient, loss.dRejected[i]]);
      await model.backward(spread(micro, gradients));
      parts.push(loss);
    }
    const stats = mergeStats(parts.map((part) => part.stats));
    return {
      metrics: {
        loss: sum(parts.map(({ loss }) => loss)),
        ...Object.fromEntries(Object.entries(stats).map(([name, stat]) => [name, statMean(stat)])),
      },
      tokens: tokensOf(bundles.flat()),
    };
  });
}
