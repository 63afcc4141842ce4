/** Divides the groups of a made task: every group in one part, whatever its rows. */

import { defaultSplitSeed, type Split } from "../contract/eval.ts";
import { Random, type Seed } from "../contract/random.ts";

/** Shares of the groups, rounded; what is left trains. Every part gets a group where there are three. */
const heldOutShare = 0.25;
const validationShare = 0.15;

/** Deals the groups by seed. The order within a part is that of `groups`, so a part's rows have a fixed order. */
export function splitGroups<Group>(
  groups: readonly Group[],
  split: Split,
  name: string,
  seed: Seed = defaultSplitSeed,
): Group[] {
  const shuffled = new Random(seed).split("split", name).shuffle(groups);
  const few = groups.length < 3;
  const heldOut = few ? 0 : Math.max(1, Math.round(heldOutShare * groups.length));
  const validation = few ? 0 : Math.max(1, Math.round(validationShare * groups.length));
  const parts: Record<Split, Group[]> = {
    "held-out": shuffled.slice(0, heldOut),
    validation: shuffled.slice(heldOut, heldOut + validation),
    train: shuffled.slice(heldOut + validation),
  };
  const chosen = new Set(parts[split]);
  return groups.filter((group) => chosen.has(group));
}
