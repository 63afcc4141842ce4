/** What SFT and DPO share: batches of given examples in a seeded order, one optimizer step on each. */

import { CancelledError } from "../../contract/errors.ts";
import type { Model } from "../../engine/types.ts";
import type { Method, ReadyConfig } from "../loop.ts";
import { PromptOrder } from "../prompt-order.ts";
import { learningRate, makeSchedule, optimizerOptions } from "../schedule.ts";
import type { Examples } from "./examples.ts";

export interface BatchRun<Item> {
  config: ReadyConfig;
  model: Model;
  examples: Examples<Item>;
}

export interface BatchGradients {
  metrics: Record<string, number>;
  /** Worked on, shared prefixes once. */
  tokens: number;
}

/**
 * `addGradients` adds those of the whole batch's loss, in as many passes as it needs, and calls `next` before each of
 * them: there the run may be stopped, and the step counts as not begun.
 */
export function batchMethod<Item>(
  { config, model, examples }: BatchRun<Item>,
  addGradients: (batch: readonly Item[], next: () => void) => Promise<BatchGradients>,
): Method {
  const { items, skipped } = examples;
  const skippedRows = Object.fromEntries(
    Object.entries(skipped).map(([reason, count]) => [`skipped_rows/${reason}`, count]),
  );
  return {
    optimizerSteps: 1,
    firstCursor: new PromptOrder(items.length, config.seed).cursor(),

    async step({ step, state, clock, scheduleSteps, listen, signal, touching }) {
      listen({ type: "phase", phase: "updating", step });
      const order = new PromptOrder(items.length, config.seed, state.data_cursor);
      const batch = Array.from({ length: config.batch_size }, () => items[order.next()]);
      let learnt: BatchGradients;
      try {
        learnt = await addGradients(batch, () => {
          if (signal.aborted) throw new CancelledError();
        });
      } catch (error) {
        await model.zeroGrad();
        throw error;
      }
      touching();
      const lr = learningRate(makeSchedule(config, scheduleSteps), state.global_step);
      const { gradNorm, shareWeightsChanged, nonFinite } = await model.optimStep(optimizerOptions(config, lr));
      clock.lap("train");
      return {
        metrics: {
          ...learnt.metrics,
          learning_rate: lr,
          grad_norm: gradNorm,
          share_weights_changed: shareWeightsChanged,
          nonfinite_steps: Number(nonFinite > 0),
          ...skippedRows,
        },
        tokens: learnt.tokens,
        rollouts: 0,
        nonFiniteInARow: nonFinite > 0 ? state.nonfinite_in_a_row + 1 : 0,
        data_cursor: order.cursor(),
        epoch: order.epochs(),
        batch: () => batch,
      };
    },
  };
}
