/** A built-in task under a reward of the user's own: the same rows, turns and outcomes, another idea of what is good. */

import type { Reward } from "../../rewards/reward.ts";
import type { Episode, SamplePlace, Score, Task, TaskRow } from "../task.ts";
import { rewardSample, type PlayedTurn } from "./reward-sample.ts";

/**
 * The reward sees the row's columns, and under `judged` what the task itself says of the answer: `reward`, `parts` by
 * name, and `failure` (null where nothing went wrong). Known players' mean rewards are the task's own and say nothing
 * here, so there are none.
 */
export function rewardedTask<Row extends TaskRow>(task: Task<Row>, reward: Reward): Task<Row> {
  return {
    ...task,
    get rewardParts() {
      return reward.parts;
    },
    reference: () => ({}),
    start: (row, seed, place = { prompt: 0, sample: 0 }) =>
      rewardedEpisode(task.start(row, seed, place), (turns, stopReason, own) =>
        judge(task, reward, row, place, turns, stopReason, own),
      ),
    usage: () => reward.usage(),
    close: async () => {
      await reward.close();
      await task.close?.();
    },
  };
}

type Judge = (turns: readonly PlayedTurn[], stopReason: Parameters<Episode["end"]>[0], own: Score) => Promise<Score>;

function rewardedEpisode(episode: Episode, judged: Judge): Episode {
  const turns: PlayedTurn[] = [];
  return {
    async step(action) {
      const step = await episode.step(action);
      turns.push({ action, replies: step.messages });
      return step.score === undefined ? step : { ...step, score: await judged(turns, action.stopReason, step.score) };
    },
    async end(reason) {
      return judged(turns, reason, await episode.end(reason));
    },
  };
}

async function judge<Row extends TaskRow>(
  task: Task<Row>,
  reward: Reward,
  row: Row,
  place: SamplePlace,
  turns: readonly PlayedTurn[],
  stopReason: Parameters<Episode["end"]>[0],
  own: Score,
): Promise<Score> {
  const columns = {
    ...(row as Record<string, unknown>),
    judged: { reward: own.reward, parts: own.parts, failure: own.info.failure ?? null },
  };
  const source = { row_id: row.id, row: columns, prompt: task.prompt(row), place };
  const result = await reward.score(rewardSample(source, turns, stopReason));
  return { reward: result.reward, parts: result.parts, info: own.info };
}
