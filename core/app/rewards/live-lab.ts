/** The reward lab while a reward is being written: its text on samples at once, beside the reward that it is compared with. */

import { createHash } from "node:crypto";
import type { CheckedInput } from "../../contract/api/api.ts";
import type { LabResult, LabSample } from "../../contract/api/reward-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import type { RewardPart, RewardResult, RewardTrial, RewardUsage } from "../../contract/reward.ts";
import type { StoredRollout } from "../data/stored-rollouts.ts";
import { requireNoJudges } from "./lab-cost.ts";
import { labRollouts, type LabRollouts } from "./lab-source.ts";
import { faultOf, withDraft, type RewardDraft } from "./reward-draft.ts";
import { judgedOf, scoreRollouts, tokenNotes, trialFailures, trialFigures, type RolloutScore } from "./reward-lab.ts";

/** Seconds after which what has been scored is shown. */
const patience = 8;
/** Seconds, or samples, after which the rest is not tried while every single one has failed. */
const hopelessSeconds = 1.5;
const hopelessSamples = 16;
/** Texts whose scores are kept: going back and forth between two costs nothing. */
const keptScores = 6;

interface Scored {
  scores: RolloutScore[];
  parts: RewardPart[];
  usage: RewardUsage | null;
  seconds: number;
}

const known = new Map<string, Scored>();

/** Throws only what has nothing to do with the text: samples that cannot be read, a cancelled call. */
export async function tryDraft(request: CheckedInput<"rewards.try">, signal: AbortSignal): Promise<LabResult> {
  const { path, text, source, compare, limit, judges } = request;
  const draft = { path, text };
  const empty: LabResult = {
    fault: null,
    trial: null,
    before: null,
    change: null,
    parts: [],
    samples: [],
    available: 0,
    sample_faults: [],
  };
  const rollouts = await labRollouts(source, limit);
  let now: Scored;
  try {
    if (!judges) requireNoJudges(draft);
    now = await score(draft, rollouts, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof HoneError)) throw error;
    return { ...empty, fault: faultOf(error, draft), available: rollouts.available };
  }
  const before = await scoreBefore(request, rollouts, signal);
  const failed = now.scores.flatMap((one) => ("failed" in one ? [one.failed] : []));
  const hasScores = failed.length < now.scores.length;
  const [first] = failed;
  return {
    fault: hasScores || first === undefined ? null : faultOf(first, draft),
    trial: hasScores ? trialOf(path, rollouts, now) : null,
    before:
      before === undefined || before.scores.every((one) => "failed" in one)
        ? null
        : trialOf(compare?.kind === "stored" ? "stored" : path, rollouts, before),
    change: before === undefined ? null : changeOf(rollouts.rollouts, now.scores, before.scores),
    parts: now.parts,
    samples: now.scores.map((one, i) => sampleOf(i, rollouts.rollouts[i], one, before?.scores[i])),
    available: rollouts.available,
    sample_faults: distinct(failed).map((one) => faultOf(one, draft)),
  };
}

/** As it is told per place: the same error on a hundred samples is one. */
function distinct(failed: readonly HoneError[]): HoneError[] {
  const why = (error: HoneError) => error.message.replace(/^the reward part \S+ cannot score .* to row \S+: /s, "");
  return [...new Map(failed.map((error) => [why(error), error])).values()].slice(0, 20);
}

async function score(draft: RewardDraft, rollouts: LabRollouts, signal: AbortSignal): Promise<Scored> {
  const key = createHash("sha256")
    .update(JSON.stringify([draft.path, draft.text, rollouts.key]))
    .digest("hex");
  const found = known.get(key);
  if (found !== undefined) return found;
  const begun = performance.now();
  const elapsed = () => (performance.now() - begun) / 1000;
  const scored = await withDraft(draft, signal, async (reward): Promise<Scored> => {
    const scores = await scoreRollouts(reward, rollouts.rollouts, {
      signal,
      giveUp: (some) =>
        elapsed() > patience ||
        ((some.length >= hopelessSamples || elapsed() > hopelessSeconds) && some.every((one) => "failed" in one)),
    });
    return { scores, parts: [...reward.parts], usage: reward.usage() ?? null, seconds: elapsed() };
  });
  // What was cut short may come further the next time; a program may answer differently.
  if (scored.scores.length === rollouts.rollouts.length && !draft.path.endsWith(".py")) {
    known.set(key, scored);
    for (const old of [...known.keys()].slice(0, -keptScores)) known.delete(old);
  }
  return scored;
}

/** Undefined where there is nothing to compare with, or it cannot be scored: then the edit stands alone. */
async function scoreBefore(
  { path, text, compare, judges }: CheckedInput<"rewards.try">,
  rollouts: LabRollouts,
  signal: AbortSignal,
): Promise<Scored | undefined> {
  if (compare === null || (compare.kind === "text" && compare.text === text)) return undefined;
  if (compare.kind === "stored") {
    const scores = rollouts.rollouts.map(({ stored }): RolloutScore =>
      stored === undefined ? { failed: new HoneError("bad-reward", "it was not paid") } : stored,
    );
    return { scores, parts: [], usage: null, seconds: 0 };
  }
  const draft = { path, text: compare.text };
  try {
    if (!judges) requireNoJudges(draft);
    return await score(draft, rollouts, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof HoneError) return undefined;
    throw error;
  }
}

function trialOf(reward: string, { source, rollouts, notes }: LabRollouts, scored: Scored): RewardTrial {
  const { scores, parts, usage, seconds } = scored;
  const left = rollouts.length - scores.length;
  const some = rollouts.slice(0, scores.length);
  return {
    reward,
    source,
    ...trialFigures(judgedOf(some, scores), parts),
    ...trialFailures(some, scores),
    notes: [
      ...notes,
      ...tokenNotes(some),
      ...(left > 0 ? [`it is too slow: ${scores.length} of ${rollouts.length} samples were scored`] : []),
    ],
    usage,
    seconds,
  };
}

function changeOf(
  rollouts: readonly StoredRollout[],
  now: readonly RolloutScore[],
  before: readonly RolloutScore[],
): LabResult["change"] {
  const both = now.flatMap((one, i) => {
    const other = before[i] as RolloutScore | undefined;
    if (other === undefined || "failed" in one || "failed" in other) return [];
    return [{ rollout: rollouts[i], now: one.reward, before: other.reward }];
  });
  const groups = Map.groupBy(both, ({ rollout: { step, sample } }) => `${step} ${sample.prompt_index}`);
  let [pairs, reversed] = [0, 0];
  for (const group of groups.values()) {
    for (const [i, a] of group.entries()) {
      for (const b of group.slice(i + 1)) {
        const [later, earlier] = [Math.sign(a.now - b.now), Math.sign(a.before - b.before)];
        if (later !== 0 || earlier !== 0) pairs += 1;
        if (later * earlier < 0) reversed += 1;
      }
    }
  }
  return {
    changed: both.filter((one) => one.now !== one.before).length,
    higher: both.filter((one) => one.now > one.before).length,
    lower: both.filter((one) => one.now < one.before).length,
    reversed_pairs: reversed,
    pairs,
  };
}

function sampleOf(
  index: number,
  { step, promptText, sample }: StoredRollout,
  score: RolloutScore,
  before: RolloutScore | undefined,
): LabSample {
  const result: RewardResult | undefined = "failed" in score ? undefined : score;
  const earlier: RewardResult | undefined = before === undefined || "failed" in before ? undefined : before;
  return {
    index,
    step,
    prompt_index: sample.prompt_index,
    row_id: sample.row_id,
    prompt: promptText,
    completion: sample.completion,
    answer: sample.answer,
    reasoning: sample.reasoning,
    tool_calls: sample.tool_calls,
    row: sample.row,
    reward: result?.reward ?? null,
    parts: result?.parts ?? {},
    info: result?.info ?? null,
    error: "failed" in score ? score.failed.message : null,
    before: earlier?.reward ?? null,
    before_parts: earlier?.parts ?? null,
  };
}
