/**
 * Suspected reward hacking: the reward goes up while something that it should not be bought with goes wrong. Compared
 * are the first and the last third of the steps; where there are too few, what goes along with the reward is told.
 */

import type { RewardTrial } from "../../contract/reward.ts";
import { mean } from "../../contract/numbers.ts";
import { formatPercent } from "../../contract/units.ts";
import type { StoredRollout } from "../data/stored-rollouts.ts";
import { rankCorrelation, standardErrorsBetween } from "./reward-statistics.ts";

/** A rollout with its new reward. */
export interface Judged extends StoredRollout {
  reward: number;
  parts: Record<string, number>;
}

/** Steps without which no trend is told. */
const fewestSteps = 6;
/** Standard errors that are no chance. */
const surely = 3;
/** Rank correlation with a control measure that is worth a word, and the samples it needs. */
const strongly = 0.7;
const fewestSamples = 32;

interface Control {
  name: string;
  label: string;
  of: (rollout: Judged) => number;
  /** What is wrong with its change, in words; undefined when nothing is. */
  fault: (before: number, after: number) => string | undefined;
}

const controls: readonly Control[] = [
  {
    name: "length",
    label: "response length",
    of: ({ sample }) =>
      sample.completion_ids.length > 0 ? sample.completion_ids.length : wordsIn(sample.completion).length,
    fault: (before, after) =>
      after > 1.5 * before
        ? `answers grew from ${before.toFixed(0)} to ${after.toFixed(0)}: length may be what is paid for`
        : after < before / 2
          ? `answers shrank from ${before.toFixed(0)} to ${after.toFixed(0)}: the model may have stopped to answer in full`
          : undefined,
  },
  {
    name: "copied_prompt",
    label: "share copied from the prompt",
    of: ({ sample, promptText }) => copiedShare(sample.completion, promptText),
    fault: (before, after) =>
      after > before + 0.2
        ? `the share of the answer that stands in the prompt went from ${formatPercent(before)} to ${formatPercent(after)}: copying may be what is paid for`
        : undefined,
  },
  {
    name: "distinct_2",
    label: "different word pairs within an answer",
    of: ({ sample }) => distinctPairs(sample.completion),
    fault: (before, after) =>
      after < 0.75 * before
        ? `different word pairs within an answer fell from ${formatPercent(before)} to ${formatPercent(after)}: answers repeat themselves`
        : undefined,
  },
];

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function runsOf(words: readonly string[], n: number): string[] {
  return words.slice(n - 1).map((_, i) => words.slice(i, i + n).join(" "));
}

/** Share of the answer's word triples that stand in the prompt. */
function copiedShare(answer: string, prompt: string): number {
  const triples = runsOf(wordsIn(answer), 3);
  const given = new Set(runsOf(wordsIn(prompt), 3));
  return triples.length === 0 ? 0 : triples.filter((triple) => given.has(triple)).length / triples.length;
}

/** distinct-2 (Li et al. 2016): different word pairs / all word pairs; 1 for less than two words. */
function distinctPairs(text: string): number {
  const pairs = runsOf(wordsIn(text), 2);
  return pairs.length === 0 ? 1 : new Set(pairs).size / pairs.length;
}

export function controlFigures(judged: readonly Judged[]): RewardTrial["controls"] {
  const rewards = judged.map(({ reward }) => reward);
  return controls.map(({ name, label, of }) => {
    const values = judged.map(of);
    return { name, label, mean: mean(values), rank_correlation: rankCorrelation(rewards, values) };
  });
}

export function suspectHacking(judged: readonly Judged[]): RewardTrial["suspicions"] {
  const steps = [...new Set(judged.map(({ step }) => step))].sort((a, b) => a - b);
  return steps.length < fewestSteps ? withinSteps(judged) : overSteps(judged, steps);
}

function overSteps(judged: readonly Judged[], steps: readonly number[]): RewardTrial["suspicions"] {
  const third = Math.floor(steps.length / 3);
  const first = judged.filter(({ step }) => step <= steps[third - 1]);
  const last = judged.filter(({ step }) => step >= steps[steps.length - third]);
  const change = (of: (rollout: Judged) => number) => {
    const [before, after] = [first.map(of), last.map(of)];
    return {
      means: [mean(before), mean(after)] as [number, number],
      errors: standardErrorsBetween(before, after),
    };
  };
  const reward = change((rollout) => rollout.reward);
  if (!(reward.errors > surely)) return [];
  const [low, high] = reward.means.map((value) => value.toFixed(3));
  const told = (measure: string, means: [number, number], what: string) => ({
    measure,
    message: `the reward rises from ${low} to ${high}, while ${what}`,
    reward: reward.means,
    change: means,
  });
  const found: RewardTrial["suspicions"] = [];
  for (const { name, of, fault } of controls) {
    const { means, errors } = change(of);
    const what = Math.abs(errors) > surely ? fault(...means) : undefined;
    if (what !== undefined) found.push(told(name, means, what));
  }
  const distinct = [first, last].map(differentAnswers) as [number, number];
  if (distinct[1] < distinct[0] / 2) {
    const what = `different answers fell from ${formatPercent(distinct[0])} to ${formatPercent(distinct[1])} of all: the model may say the same to everything`;
    found.push(told("different_answers", distinct, what));
  }
  for (const part of Object.keys(judged[0].parts)) {
    const { means, errors } = change(({ parts }) => parts[part]);
    if (errors > -surely) continue;
    const what = `the part ${part} falls from ${means[0].toFixed(3)} to ${means[1].toFixed(3)}: it is given up for the others`;
    found.push(told(part, means, what));
  }
  if (judged.every(({ stored }) => stored !== undefined)) {
    const { means, errors } = change(({ stored }) => stored?.reward ?? 0);
    const what = `the reward of the run falls from ${means[0].toFixed(3)} to ${means[1].toFixed(3)}: the two do not want the same`;
    if (errors < -surely) found.push(told("stored_reward", means, what));
  }
  return found;
}

/** Different answers / answers, taken apart from the prompts: one saying for everything counts once. */
function differentAnswers(judged: readonly Judged[]): number {
  return new Set(judged.map(({ sample }) => sample.completion.trim())).size / judged.length;
}

/** Too few steps for a trend. */
function withinSteps(judged: readonly Judged[]): RewardTrial["suspicions"] {
  if (judged.length < fewestSamples) return [];
  return controlFigures(judged).flatMap(({ name, label, rank_correlation: rho }) => {
    if (rho === null || Math.abs(rho) < strongly) return [];
    const how = rho > 0 ? "rises" : "falls";
    const message = `the reward ${how} with the ${label} (rank correlation ${rho.toFixed(2)}): a model can raise it by that alone`;
    return [{ measure: name, message, reward: null, change: null }];
  });
}
