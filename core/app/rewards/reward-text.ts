/** What the reward lab found, for people. */

import type { Distribution, RewardCheck, RewardTrial, RewardUsage, ScoredRollout } from "../../contract/reward.ts";
import { textTable } from "../../contract/text-table.ts";
import { formatCount, formatSeconds, plural, formatPercent } from "../../contract/units.ts";

const bars = " ▁▂▃▄▅▆▇█";
/** Characters of an answer that are shown. */
const shownCharacters = 300;
/** A rank correlation below which two parts pull apart. */
const apart = -0.2;

export function trialText(trial: RewardTrial): string {
  const { samples, failed, steps, groups } = trial;
  const span =
    steps.length === 1 ? `step ${steps[0]}` : `${steps.length} steps, ${steps[0]} to ${steps[steps.length - 1]}`;
  const rows = [
    ["part", "weight", "mean", "std", "min", "median", "max", "spread"],
    ...Object.entries(trial.parts).map(([name, part]) => [name, String(part.weight), ...distributionCells(part)]),
    ["reward", "", ...distributionCells(trial.total)],
  ];
  const share = (count: number) => formatPercent(count / groups.count);
  const before =
    groups.stored_zero_variance === null ? "" : ` (with the stored reward ${share(groups.stored_zero_variance)})`;
  return [
    `${trial.reward} on ${trial.source}: ${plural(samples, "rollout")}, ${span}, in ${formatSeconds(trial.seconds)}`,
    "",
    textTable(rows),
    "",
    `${groups.zero_variance} of ${plural(groups.count, "group")} teach nothing: all their answers have the same reward, ${share(groups.zero_variance)}${before}`,
    ...agreementLines(trial),
    ...controlLines(trial),
    ...(failed === 0 ? [] : ["", `${plural(failed, "rollout")} could not be scored:`]),
    ...trial.failures.map(({ step, message }) => `  step ${step}: ${message}`),
    ...(trial.suspicions.length === 0
      ? ["", "nothing looks like reward hacking"]
      : ["", "suspected reward hacking:", ...trial.suspicions.map(({ message }) => `  ${message}`)]),
    ...(trial.usage === null ? [] : ["", usageText(trial.usage)]),
    ...trial.notes.map((note) => `note: ${note}`),
    "",
    "best:",
    ...trial.best.flatMap(rolloutLines),
    "worst:",
    ...trial.worst.flatMap(rolloutLines),
  ].join("\n");
}

function distributionCells({ mean, std, min, max, quantiles, histogram }: Distribution): string[] {
  return [...[mean, std, min, quantiles.p50, max].map((value) => value.toFixed(3)), histogramText(histogram)];
}

/** One character for each span; an empty one stays empty. */
function histogramText(counts: readonly number[]): string {
  const most = Math.max(...counts);
  return `|${counts.map((count) => bars[Math.ceil((8 * count) / most)]).join("")}|`;
}

function agreementLines({ agreement }: RewardTrial): string[] {
  const lines = agreement.flatMap(({ a, b, rank_correlation: rho }) => {
    if (a === "reward" && rho !== null) return [`rank correlation with the stored reward: ${rho.toFixed(2)}`];
    if (rho === null || rho > apart) return [];
    return [`${a} and ${b} disagree (rank correlation ${rho.toFixed(2)}): what is good for one is bad for the other`];
  });
  return lines.length === 0 ? [] : ["", ...lines];
}

function controlLines({ controls }: RewardTrial): string[] {
  const rows = controls.map(({ label, mean, rank_correlation: rho }) => [
    label,
    mean.toFixed(2),
    rho?.toFixed(2) ?? "–",
  ]);
  return ["", textTable([["not to be paid for", "mean", "rank correlation with the reward"], ...rows])];
}

export function usageText({ calls, cached, prompt_tokens, completion_tokens }: RewardUsage): string {
  return (
    `judge: ${plural(calls, "call")}, ${formatCount(cached)} from the cache, ` +
    `${formatCount(prompt_tokens)} tokens asked and ${formatCount(completion_tokens)} answered`
  );
}

function rolloutLines({
  step,
  row_id,
  prompt_index,
  sample_index,
  completion,
  reward,
  parts,
  stored_reward,
}: ScoredRollout): string[] {
  const values = Object.entries(parts).map(([name, value]) => `${name} ${value.toFixed(2)}`);
  const stored = stored_reward === null ? "" : `, stored ${stored_reward.toFixed(3)}`;
  return [
    `  ${reward.toFixed(3)} (${values.join(", ")}${stored}), step ${step}, prompt ${prompt_index}, sample ${sample_index}, row ${row_id}`,
    `    ${excerpt(completion)}`,
  ];
}

function excerpt(text: string): string {
  const line = text.trim().replaceAll(/\s*\n\s*/g, " ⏎ ");
  return line.length > shownCharacters ? `${line.slice(0, shownCharacters)}…` : line === "" ? "(empty)" : line;
}

export function checkText({ reward, parts, samples, usage }: RewardCheck): string {
  return [
    `${reward} works.`,
    "",
    ...parts.map(({ name, weight, description }) => `${name} (weight ${weight}): ${description}`),
    "",
    ...samples.flatMap(({ completion, reward: value, parts: values, info }) => [
      `${value.toFixed(3)}  ${excerpt(completion)}`,
      `       ${Object.entries(values)
        .map(([name, one]) => `${name} ${one.toFixed(2)}`)
        .join(", ")}`,
      ...(info === undefined ? [] : [`       ${JSON.stringify(info)}`]),
    ]),
    ...(usage === null ? [] : ["", usageText(usage)]),
  ].join("\n");
}
