/**
 * GSPO and GRPO: sample groups of answers, score them, compare each with its group, and move the policy towards the
 * better ones. One step is one batch of rollouts and all optimizer steps on it. Reads top to bottom.
 */

import { tokensOf } from "../../engine/micro-batches.ts";
import type { Forward } from "../../evaluate/score-rows.ts";
import type { Method, ReadyConfig } from "../loop.ts";
import { grpoLoss } from "../losses/grpo.ts";
import { gspoLoss } from "../losses/gspo.ts";
import { groupAdvantages } from "./advantages.ts";
import { toRolloutLines } from "./rollout-lines.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";
import { RolloutSampler, type RolloutGroup, type RolloutSource } from "./rollouts.ts";
import { policyRows, scoreAgain, updatePolicy, type Objective } from "./update.ts";

export interface RlRun extends RolloutSource {
  config: ReadyConfig;
  /** Scores a batch under the frozen starting model; needed when `beta` is above 0. */
  reference?: Forward;
}

export function rlMethod({ config, policy, reference, task, rows }: RlRun): Method {
  const { model, chat } = policy;
  const sampler = new RolloutSampler({ config, policy, task, rows });
  const objective = groupObjective(config);

  return {
    optimizerSteps: config.num_mini_batches * config.num_iterations,
    firstCursor: sampler.firstCursor,

    async step({ step, state, clock, scheduleSteps, listen, recorder, signal, touching }) {
      listen({ type: "phase", phase: "sampling", step });
      const batch = await sampler.draw(step, {
        cursor: state.data_cursor,
        note: (message) => listen({ type: "note", message }),
        signal,
      });
      const { drawn, groups } = batch;
      setAdvantages(groups, config);
      clock.lap("rollout");
      const lines = () => toRolloutLines(step, drawn, (ids) => chat.decode(ids));
      if (config.log_completions) recorder.rollouts(step, lines());

      listen({ type: "phase", phase: "updating", step });
      const scored = await scoreAgain(model, reference, config, groups);
      touching();
      const update = await updatePolicy(model, config, groups, objective, {
        firstStep: state.global_step,
        totalSteps: scheduleSteps,
        nonFiniteInARow: state.nonfinite_in_a_row,
        maxTurns: config.max_turns ?? task.limits.turns,
        measureMismatch: !scored.rescored,
      });
      clock.lap("train");

      return {
        metrics: {
          ...update.metrics,
          ...scored.metrics,
          ...rolloutMetrics(task, drawn, { grouped: true }),
          ...batch.metrics,
        },
        ...worked(drawn),
        nonFiniteInARow: update.nonFiniteInARow,
        data_cursor: batch.cursor,
        epoch: batch.epoch,
        batch: lines,
      };
    },
  };
}

/** Tokens and rollouts of a step. */
export function worked(drawn: readonly RolloutGroup[]): { tokens: number; rollouts: number } {
  const rollouts = drawn.flatMap((group) => group.rollouts);
  return { tokens: tokensOf(rollouts.flatMap(({ rows }) => rows)), rollouts: rollouts.length };
}

function groupObjective(config: ReadyConfig): Objective {
  const loss = config.method === "grpo" ? grpoLoss : gspoLoss;
  return { loss: (micro, result, normalisers) => loss(policyRows(micro, result), config, normalisers) };
}

function setAdvantages(groups: readonly RolloutGroup[], { advantage_estimator }: ReadyConfig): void {
  const all = groups.flatMap(({ rollouts }, group) => rollouts.map((rollout) => ({ rollout, group })));
  const { advantages } = groupAdvantages(
    all.map(({ rollout }) => rollout.score.reward),
    all.map(({ group }) => group),
    { estimator: advantage_estimator },
  );
  all.forEach(({ rollout }, i) => {
    rollout.advantage = advantages[i];
  });
}
