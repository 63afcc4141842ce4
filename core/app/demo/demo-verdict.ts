/** What a before/after comparison says, in plain sentences. */

import type { DemoOutput } from "../../contract/cli-json.ts";
import type { EvalReport, Evaluation, Interval } from "../../contract/eval.ts";
import { controlSentence } from "../../evaluate/control.ts";
import { failureSentence, intervalText, shareText } from "../evaluation/evaluation-text.ts";

/** The verdict on the task first, then what else is to be known. */
export function demoVerdict(
  { report: before }: Pick<Evaluation, "report">,
  { report: after }: Pick<Evaluation, "report">,
  change: DemoOutput["change"],
): string[] {
  const sentences: string[] = [];
  const { reward, solution_loss, preference_accuracy, control } = change;
  if (reward !== null) sentences.push(rewardSentence(after, reward));
  if (solution_loss !== null) sentences.push(lossSentence(solution_loss));
  if (preference_accuracy !== null) sentences.push(preferenceSentence(before, after, preference_accuracy));
  const shortened = shorteningSentence(before, after);
  if ((reward === null || reward.lo <= 0) && shortened !== undefined) sentences.push(shortened);
  if (reward !== null) sentences.push(`Before: ${failureSentence(before)} After: ${failureSentence(after)}`);
  if (control !== null && before.control !== null) {
    sentences.push(controlSentence(before.control, control, isGain(change)));
  }
  return sentences;
}

/** Beyond doubt: by the reward where there is one, otherwise by right answers or pairs. */
function isGain({ reward, solution_loss, preference_accuracy }: DemoOutput["change"]): boolean {
  if (reward !== null) return reward.lo > 0;
  return (
    (solution_loss !== null && solution_loss.hi < 0) || (preference_accuracy !== null && preference_accuracy.lo > 0)
  );
}

function rewardSentence({ row_name }: EvalReport, { lo, hi }: Interval): string {
  if (lo > 0) {
    return `The trained model is better on ${row_name}s it has never seen: the whole interval of the change is above 0.`;
  }
  if (hi < 0)
    return `The trained model is worse on held-out ${row_name}s: the whole interval of the change is below 0.`;
  return `The change on held-out ${row_name}s cannot be told from 0.`;
}

function lossSentence(change: Interval): string {
  const by = `(loss per token ${intervalText(change)})`;
  if (change.hi < 0) return `Right answers that it has never seen are more likely to it than before ${by}.`;
  if (change.lo > 0) return `Right answers that it has never seen are less likely to it than before ${by}.`;
  return `How likely right answers are to it has not changed beyond doubt ${by}.`;
}

function preferenceSentence(before: EvalReport, after: EvalReport, { lo, hi }: Interval): string {
  const [a, b] = [before.preference?.accuracy.mean ?? 0, after.preference?.accuracy.mean ?? 0];
  const shares = `in ${shareText(b)} of held-out pairs, before in ${shareText(a)}`;
  const doubt = lo > 0 || hi < 0 ? "" : "; the change cannot be told from 0";
  return `The better of two answers is the more likely one ${shares}${doubt}.`;
}

/** Preferences can be satisfied by saying next to nothing; a reward that rose has been earned, however briefly. */
function shorteningSentence(before: EvalReport, after: EvalReport): string | undefined {
  const [a, b] = [before.response_length.mean, after.response_length.mean];
  if (b >= a / 2) return undefined;
  return `Answers are less than half as long as before (${a.toFixed(0)} → ${b.toFixed(0)} tokens): look at them before you trust the figures.`;
}
