/** Figures of the lab that are made of its samples. */

import type { LabSample } from "../../../core/contract/api/reward-calls.ts";

export interface SharedBin {
  from: number;
  to: number;
  now: number;
  before: number;
}

const bins = 12;

/** Rewards of now and before in the same spans; few different values have a bar each. */
export function sharedHistogram(samples: readonly LabSample[]): SharedBin[] {
  const now = samples.flatMap(({ reward }) => reward ?? []);
  const before = samples.flatMap(({ before: value }) => value ?? []);
  const all = [...now, ...before];
  if (all.length === 0) return [];
  const values = [...new Set(all)].sort((a, b) => a - b);
  if (values.length <= bins) {
    const count = (list: readonly number[], value: number) => list.filter((one) => one === value).length;
    return values.map((value) => ({ from: value, to: value, now: count(now, value), before: count(before, value) }));
  }
  const [least, most] = [values[0], values[values.length - 1]];
  const width = (most - least) / bins;
  const made = Array.from({ length: bins }, (_, i) => ({
    from: least + i * width,
    to: i === bins - 1 ? most : least + (i + 1) * width,
    now: 0,
    before: 0,
  }));
  const place = (value: number) => Math.min(bins - 1, Math.floor((value - least) / width));
  for (const value of now) made[place(value)].now += 1;
  for (const value of before) made[place(value)].before += 1;
  return made;
}

export const sampleOrders = ["best", "worst", "changed", "failed", "all"] as const;
export type SampleOrder = (typeof sampleOrders)[number];

export function orderSamples(samples: readonly LabSample[], order: SampleOrder): LabSample[] {
  const scored = samples.filter(({ reward }) => reward !== null);
  const by = (of: (sample: LabSample) => number) => scored.toSorted((a, b) => of(b) - of(a) || a.index - b.index);
  switch (order) {
    case "best":
      return by(({ reward }) => reward ?? 0);
    case "worst":
      return by(({ reward }) => -(reward ?? 0));
    case "changed":
      return by(changeOf).filter((sample) => changeOf(sample) > 0);
    case "failed":
      return samples.filter(({ error }) => error !== null);
    case "all":
      return [...samples];
  }
}

function changeOf({ reward, before }: LabSample): number {
  return reward === null || before === null ? 0 : Math.abs(reward - before);
}
