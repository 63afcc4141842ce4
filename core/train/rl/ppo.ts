/**
 * PPO: a critic says of every token what the rest of the answer is worth, and the policy moves towards what turned out
 * better than that. One step, top to bottom:
 *
 *     play episodes  →  score them again: old log-probs, reference, values  →  advantages by GAE over the trained tokens of
 *     each trajectory, whitened over the batch  →  optimizer steps in which both losses share one pass
 *
 * The critic is a head on the policy's last hidden state. In the first `critic_warmup_steps` steps it alone learns.
 */

import { mean, variance } from "../../contract/numbers.ts";
import type { ForwardResult } from "../../engine/types.ts";
import { sliceOf, type MicroBatch } from "../../engine/micro-batches.ts";
import { isCut } from "../../text/parse-assistant.ts";
import type { Method, ReadyConfig } from "../loop.ts";
import { gae, whiten } from "../losses/gae.ts";
import { ppoLoss } from "../losses/ppo.ts";
import { valueLoss } from "../losses/value.ts";
import { worked, type RlRun } from "./rl.ts";
import { toRolloutLines } from "./rollout-lines.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";
import { RolloutSampler, type CriticValues, type RolloutGroup, type RolloutRow } from "./rollouts.ts";
import { policyRows, scoreAgain, updatePolicy, type Objective } from "./update.ts";

/**
 * The critic's gradients reach its head only. With `shared`, where they reach the weights below it too, the starter learnt
 * tic-tac-toe no better (0.875 against 0.881 after 400 steps), at a higher cost, and the policy's weights serve two masters.
 */
export const criticGradients = "detached";

export function ppoMethod({ config, policy, reference, task, rows }: RlRun): Method {
  const { model, chat } = policy;
  const sampler = new RolloutSampler({ config, policy, task, rows });

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
      const { groups } = batch;
      clock.lap("rollout");

      listen({ type: "phase", phase: "updating", step });
      if (!model.info().valueHead) await model.attachValueHead();
      const scored = await scoreAgain(model, reference, config, groups, {
        values: criticGradients,
        onScored: keepValues,
      });
      const critic = setAdvantages(groups, config);
      const lines = () => toRolloutLines(step, groups, (ids) => chat.decode(ids));
      if (config.log_completions) recorder.rollouts(step, lines());

      touching();
      const objective = ppoObjective(config, step > config.critic_warmup_steps);
      const update = await updatePolicy(model, config, groups, objective, {
        firstStep: state.global_step,
        totalSteps: scheduleSteps,
        nonFiniteInARow: state.nonfinite_in_a_row,
        maxTurns: config.max_turns ?? task.limits.turns,
        measureMismatch: false,
      });
      clock.lap("train");

      return {
        metrics: {
          ...update.metrics,
          ...scored.metrics,
          ...rolloutMetrics(task, groups, { grouped: false }),
          ...critic,
          ...batch.metrics,
        },
        ...worked(groups),
        nonFiniteInARow: update.nonFiniteInARow,
        data_cursor: batch.cursor,
        epoch: batch.epoch,
        batch: lines,
      };
    },
  };
}

function keepValues({ rows }: MicroBatch<RolloutRow>, { values, endValues }: ForwardResult): void {
  if (values === undefined || endValues === undefined) throw new Error("the engine gave no values");
  for (const { row, offset, segment } of rows) {
    const zeros = () => new Float64Array(row.ids.length);
    row.critic = {
      values: sliceOf(values, row, offset),
      endValue: endValues[segment],
      advantages: zeros(),
      returns: zeros(),
    };
  }
}

/** A row that was scored. */
type JudgedRow = RolloutRow & { critic: CriticValues };

function judgedRows(rows: readonly RolloutRow[]): JudgedRow[] {
  return rows.filter((row): row is JudgedRow => row.critic !== undefined);
}

/**
 * Advantages and returns of every token. The reward comes with a trajectory's last trained token; after one that was cut
 * by its length stands what the critic says of the place where it was cut. Returns what the critic was worth.
 */
function setAdvantages(
  groups: readonly RolloutGroup[],
  { gamma, lam }: Pick<ReadyConfig, "gamma" | "lam">,
): Record<string, number> {
  const rollouts = groups.flatMap((group) => group.rollouts);
  for (const { rows, score, trajectory } of rollouts) {
    const judged = judgedRows(rows);
    const last = judged[judged.length - 1] as JudgedRow | undefined;
    if (last === undefined) continue;
    const turns = judged.map((row) => ({
      rewards: new Float64Array(row.ids.length),
      values: row.critic.values,
      mask: row.mask,
    }));
    turns[turns.length - 1].rewards[last.mask.lastIndexOf(1)] = score.reward;
    const bootstrap = isCut(trajectory.stopReason) ? last.critic.endValue : 0;
    const { advantages, returns } = gae(turns, bootstrap, { gamma, lambda: lam });
    judged.forEach(({ critic }, i) => {
      critic.advantages = advantages[i];
      critic.returns = returns[i];
    });
  }
  const all = judgedRows(rollouts.flatMap(({ rows }) => rows));
  whiten(
    all.map(({ critic }) => critic.advantages),
    all.map(({ mask }) => mask),
  );
  for (const rollout of rollouts) {
    const trained = judgedRows(rollout.rows).flatMap((row) => trainedOf(row, row.critic.advantages));
    rollout.advantage = trained.length === 0 ? 0 : mean(trained);
  }
  return criticMetrics(all);
}

/** `critic_explained_variance`: 1 − Var(R − V) / Var(R); at 0 the critic knows no more than a constant. */
function criticMetrics(rows: readonly JudgedRow[]): Record<string, number> {
  const values = rows.flatMap((row) => trainedOf(row, row.critic.values));
  const returns = rows.flatMap((row) => trainedOf(row, row.critic.returns));
  const spread = variance(returns);
  return {
    critic_value_mean: mean(values),
    critic_return_mean: mean(returns),
    ...(spread > 0 && {
      critic_explained_variance: 1 - variance(returns.map((value, i) => value - values[i])) / spread,
    }),
  };
}

/** Entries of the trained tokens. */
function trainedOf({ mask }: RolloutRow, entries: Float32Array | Float64Array): number[] {
  return Array.from(entries).filter((_, t) => mask[t] !== 0);
}

function ppoObjective(config: ReadyConfig, trainsPolicy: boolean): Objective {
  const critic = { value_clip: config.cliprange_value, value_coef: config.vf_coef };
  return {
    values: criticGradients,
    trainsPolicy,
    criticRate: config.critic_learning_rate / config.learning_rate,
    loss(micro, result, normalisers) {
      const rows = policyRows(micro, result).map((row, i) => ({ ...row, ...judgedOf(micro.rows[i], result) }));
      const policyPart = ppoLoss(rows, config, normalisers);
      const criticPart = valueLoss(rows, critic, normalisers);
      return { ...policyPart, loss: policyPart.loss + criticPart.loss, critic: criticPart };
    },
  };
}

function judgedOf({ row, offset }: MicroBatch<RolloutRow>["rows"][number], { values }: ForwardResult) {
  if (row.critic === undefined || values === undefined) throw new Error("a row was not scored before its update");
  const { values: oldValues, advantages, returns } = row.critic;
  return { values: sliceOf(values, row, offset), oldValues, advantages, returns };
}
