/** `hone advise`: whether training is the right tool for a task, and what else is where it is not. */

import { z } from "zod";
import { methods } from "./config.ts";

/** The five conditions under which training helps. */
export const adviceQuestions = {
  rules: "Are the rules clear?",
  reproducible: "Does the same error come back?",
  judged: "Can a program or a person judge the result?",
  recurs: "Does the task recur?",
  behaviour: "Is it behaviour that is to change, not knowledge?",
} as const;
export type AdviceQuestion = keyof typeof adviceQuestions;

export const adviceVerdicts = ["yes", "no", "unclear"] as const;
export type AdviceVerdict = (typeof adviceVerdicts)[number];

export const conditionSchema = z.object({
  name: z.enum(Object.keys(adviceQuestions) as [AdviceQuestion, ...AdviceQuestion[]]),
  question: z.string(),
  verdict: z.enum(adviceVerdicts),
  /** In words, with how it was judged. */
  why: z.string(),
  /** The numbers behind it; null where one is not known. */
  evidence: z.record(z.string(), z.number().nullable()),
  /** What to do where the answer is no or unclear. */
  instead: z.string().nullable(),
});
export type AdviceCondition = z.infer<typeof conditionSchema>;

export const adviceOutputSchema = z.object({
  task: z.string(),
  /** Null: no baseline was measured. */
  model: z.string().nullable(),
  /** `train`: all five hold. `not_yet`: something is not known. `do_not_train`: one of them does not hold. */
  verdict: z.enum(["train", "not_yet", "do_not_train"]),
  sentence: z.string(),
  conditions: z.array(conditionSchema),
  /** Where to begin; null when nothing can be trained on. */
  method: z.object({ name: z.enum(methods), why: z.string() }).nullable(),
  /** The command to begin with. */
  command: z.string().nullable(),
});
export type Advice = z.infer<typeof adviceOutputSchema>;

/** A person's own answers to the questions; null where they do not know. */
export type AdviceAnswers = Record<AdviceQuestion, "yes" | "no" | null>;

/** A condition as a person and the measured facts see it together. */
export interface CombinedCondition {
  name: AdviceQuestion;
  verdict: AdviceVerdict;
  /** What was measured; null where nothing was. */
  measured: AdviceCondition | null;
  /** The person and the figures do not say the same. */
  contradicts: boolean;
}

/**
 * Figures go before words where they are sure: a measured yes or no stands, and a person's answer settles what is unclear
 * or was not measured. Only a person's no is never overruled, since they may know what figures do not show.
 */
export function combineAdvice(
  answers: AdviceAnswers,
  measured: Pick<Advice, "conditions"> | null,
): { verdict: Advice["verdict"]; conditions: CombinedCondition[] } {
  const conditions = (Object.keys(adviceQuestions) as AdviceQuestion[]).map((name): CombinedCondition => {
    const found = measured?.conditions.find((one) => one.name === name) ?? null;
    const said = answers[name];
    const sure = found === null || found.verdict === "unclear" ? null : found.verdict;
    return {
      name,
      verdict: said === "no" ? "no" : (sure ?? said ?? "unclear"),
      measured: found,
      contradicts: said !== null && sure !== null && said !== sure,
    };
  });
  const has = (verdict: AdviceVerdict) => conditions.some((one) => one.verdict === verdict);
  return { verdict: has("no") ? "do_not_train" : has("unclear") ? "not_yet" : "train", conditions };
}
