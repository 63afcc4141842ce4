/**
 * GSPO and GRPO: sample groups of answers, score them, compare each with its group, and move the policy towards the
 * better ones. One step is one batch of rollouts and all optimizer steps on it. Reads top to bottom.
 */

import { isCut } from "../evaluate/measures.ts";
import type { EnginePolicy } from "../evaluate/policy.ts";
import type { Task, TaskRow } from "../tasks/task.ts";
import { groupAdvantages } from "./advantages.ts";
import type { Method, ReadyConfig } from "./loop.ts";
import { tokensOf } from "./micro-batches.ts";
import { PromptOrder } from "./prompt-order.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";
import { choosePrompts, PromptCache, sampleGroups, toRolloutLines, type RolloutGroup } from "./rollouts.ts";
import { scoreAgain, updatePolicy, type ReferenceForward } from "./update.ts";

export interface RlRun {
  config: ReadyConfig;
  policy: EnginePolicy;
  /** Scores a batch under the frozen starting model; needed when `beta` is above 0. */
  reference?: ReferenceForward;
  task: Task;
  /** Training rows. */
  rows: readonly TaskRow[];
}

export function rlMethod({ config, policy, reference, task, rows }: RlRun): Method {
  const cache = new PromptCache(policy, task);
  const maxLength = Math.min(config.max_length, policy.model.info().contextLength);
  const linesOf = (step: number, groups: readonly RolloutGroup[]) =>
    toRolloutLines(step, groups, (ids) => policy.chat.decode(ids));

  return {
    optimizerSteps: config.num_mini_batches * config.num_iterations,
    firstCursor: new PromptOrder(rows.length, config.seed).cursor(),

    async step({ step, state, clock, scheduleSteps, listen, recorder, signal, touching }) {
      listen({ type: "phase", phase: "sampling", step });
      const order = new PromptOrder(rows.length, config.seed, state.data_cursor);
      const { prompts, tooLong } = choosePrompts(order, rows, cache, config.prompts_per_step, maxLength);
      const groups = await sampleGroups(policy, task, config, step, prompts, signal);
      setAdvantages(groups, config);
      clock.lap("rollout");
      if (config.log_completions) recorder.rollouts(step, linesOf(step, groups));

      listen({ type: "phase", phase: "updating", step });
      const scored = await scoreAgain(policy.model, reference, config, groups);
      touching();
      const update = await updatePolicy(policy.model, config, groups, {
        firstStep: state.global_step,
        totalSteps: scheduleSteps,
        nonFiniteInARow: state.nonfinite_in_a_row,
        measureMismatch: !scored.rescored,
      });
      clock.lap("train");

      return {
        metrics: {
          ...update.metrics,
          ...scored.metrics,
          ...rolloutMetrics(groups, Object.keys(task.failures)),
          "skipped_rows/prompt_too_long": tooLong,
        },
        tokens: tokensOf(groups.flatMap(({ answers }) => answers)),
        rollouts: groups.length * config.num_generations,
        nonFiniteInARow: update.nonFiniteInARow,
        data_cursor: order.cursor(),
        epoch: order.epochs(),
        batch: () => linesOf(step, groups),
      };
    },
  };
}

function setAdvantages(groups: readonly RolloutGroup[], config: ReadyConfig): void {
  const rollouts = groups.flatMap(({ answers }, group) => answers.map((rollout) => ({ rollout, group })));
  const { advantages } = groupAdvantages(
    rollouts.map(({ rollout }) => rollout.score.reward),
    rollouts.map(({ group }) => group),
    { estimator: config.advantage_estimator },
  );
  rollouts.forEach(({ rollout }, i) => {
    rollout.advantage = advantages[i];
    rollout.trained = !(config.truncated_completions === "mask" && isCut(rollout.answer.stopReason));
  });
}
