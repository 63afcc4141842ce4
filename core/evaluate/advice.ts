/** Should this be trained? The five conditions, judged from a check of the task and, where there is one, a baseline. */

import { adviceQuestions, type Advice, type AdviceCondition, type AdviceVerdict } from "../contract/advice.ts";
import type { TaskCheck } from "../contract/task.ts";
import { formatDecimal, formatPercent } from "../contract/units.ts";
import type { Baseline } from "./baseline.ts";
import type { UnseenFacts } from "./unseen-facts.ts";

export interface AdviceEvidence {
  check: TaskCheck;
  /** Parts of the reward that a model judges. */
  judgedByModel: number;
  /** Problems of the training part. */
  trainProblems: number;
  facts?: UnseenFacts;
  /** Absent: no model was given, or the task has no reward. */
  baseline?: Baseline;
}

/** Below this share of answers with an error there is little to gain. */
const fewErrors = 0.05;
/** The same error in at least this share of the answers to a row comes back. */
const comesBack = 0.5;
/** Below `fewRows` to train on, examples in the prompt do as well; `enoughRows` of `fewProblems` are enough to generalise from. */
const fewRows = 20;
const enoughRows = 100;
const fewProblems = 10;
/** Shares of facts that the model is not shown. */
const behaviour = 0.2;
const knowledge = 0.5;
/** RL needs groups that differ; below this share of them a step teaches next to nothing. */
const fewMixed = 0.1;

export function conditionsOf(evidence: AdviceEvidence): AdviceCondition[] {
  return [
    rulesClear(evidence),
    errorReproducible(evidence),
    resultJudged(evidence),
    taskRecurs(evidence),
    changesBehaviour(evidence),
  ];
}

type Judged = Omit<AdviceCondition, "name" | "question">;

function condition(name: AdviceCondition["name"], judged: Judged): AdviceCondition {
  return { name, question: adviceQuestions[name], ...judged };
}

/** Problems of the task itself that make its rules say something else than they seem to. */
const ruleFindings = [
  "constant-reward",
  "solution-not-best",
  "not-repeatable",
  "reward-fails",
  "reward-not-finite",
  "no-feedback",
];

function rulesClear({ check }: AdviceEvidence): AdviceCondition {
  const { rewards, methods } = check;
  const bad = check.findings.filter(({ code }) => ruleFindings.includes(code));
  const evidence = {
    reward_of_right_answers: rewards.solution,
    reward_of_wrong_answers: rewards.mutated ?? rewards.rejected,
    reward_of_empty_answers: rewards.empty,
    problems_found: bad.length,
  };
  if (bad.length > 0) {
    const [{ message, fix }] = bad;
    return condition("rules", {
      verdict: "no",
      why: `The task contradicts itself: ${message}.`,
      evidence,
      instead: `${fix}; \`hone task check\` shows everything`,
    });
  }
  if (methods.includes("rl") && rewards.solution !== null) {
    return condition("rules", {
      verdict: "yes",
      why: `Right answers earn ${told(rewards.solution)}, empty ones ${told(rewards.empty)}: the reward tells them apart (judged by playing both).`,
      evidence,
      instead: null,
    });
  }
  if (methods.includes("rl")) {
    return condition("rules", {
      verdict: "yes",
      why: "A reward stands for the rules. There are no right answers to try it on, so that it is right has to be seen from the answers it pays.",
      evidence,
      instead: "look at the best and the worst answers with `hone reward try` before you train",
    });
  }
  return condition("rules", {
    verdict: "unclear",
    why: "There is no reward, so the rules are only in the examples: whether they agree with each other has not been judged.",
    evidence,
    instead: "write down what makes an answer right as a reward, even a rough one: it also proves the gain afterwards",
  });
}

function errorReproducible({ baseline }: AdviceEvidence): AdviceCondition {
  if (baseline === undefined) {
    return condition("reproducible", {
      verdict: "unclear",
      why: "No model was measured, or there is no reward to measure it by.",
      evidence: { error_rate: null, same_error_rate: null },
      instead: "run this again with --model, for a task that has a reward",
    });
  }
  const { error_rate, greedy_error_rate, same_error_rate, top_error, rows, samples } = baseline;
  const evidence = { rows, samples, error_rate, greedy_error_rate, same_error_rate };
  const judged = `judged on ${rows} rows, ${samples} answers each and one at temperature 0`;
  if (error_rate < fewErrors && greedy_error_rate < fewErrors) {
    return condition("reproducible", {
      verdict: "no",
      why: `Only ${formatPercent(error_rate)} of answers have an error (${judged}): there is little to gain.`,
      evidence,
      instead: "use the model as it is, or measure it on harder rows",
    });
  }
  if (greedy_error_rate < fewErrors) {
    return condition("reproducible", {
      verdict: "no",
      why: `At temperature 0 it is right nearly always, sampled it errs in ${formatPercent(error_rate)} of answers (${judged}).`,
      evidence,
      instead: "lower the temperature: that costs nothing",
    });
  }
  const most =
    top_error === null
      ? ""
      : ` The most frequent error is ${top_error.name}, in ${formatPercent(top_error.share)} of answers.`;
  if (same_error_rate !== null && same_error_rate >= comesBack) {
    return condition("reproducible", {
      verdict: "yes",
      why: `Where the answer at temperature 0 is wrong, ${formatPercent(same_error_rate)} of the sampled answers are wrong in the same way (${judged}).${most}`,
      evidence,
      instead: null,
    });
  }
  return condition("reproducible", {
    verdict: "unclear",
    why: `Errors scatter: where the answer at temperature 0 is wrong, only ${formatPercent(same_error_rate ?? 0)} of the sampled answers are wrong in the same way (${judged}).${most}`,
    evidence,
    instead:
      "try a lower temperature or the best of several answers first; training can still help, since some answers are right",
  });
}

function resultJudged({ check, judgedByModel }: AdviceEvidence): AdviceCondition {
  const parts = check.reward_parts.length;
  const evidence = { reward_parts: parts, judged_by_a_model: judgedByModel };
  if (parts > judgedByModel) {
    const also =
      judgedByModel === 0 ? "" : `; ${judgedByModel} of the ${parts} parts ask another model, which has its own errors`;
    return condition("judged", {
      verdict: "yes",
      why: `A program scores every answer${also}.`,
      evidence,
      instead: null,
    });
  }
  if (parts > 0) {
    return condition("judged", {
      verdict: "unclear",
      why: "Only another model judges the answers, and what pleases it need not be right.",
      evidence,
      instead: "add a part that a program checks, and read some answers that it paid well",
    });
  }
  if (check.methods.length > 0) {
    return condition("judged", {
      verdict: "yes",
      why: "Persons have judged: there are right answers, or pairs of a better and a worse one. A gain is then shown by held-out loss or by the share of pairs.",
      evidence,
      instead: null,
    });
  }
  return condition("judged", {
    verdict: "no",
    why: "Nothing says what a good answer is.",
    evidence,
    instead: "begin with a reward (`hone reward new`), or rate some answers",
  });
}

function taskRecurs({ check, trainProblems }: AdviceEvidence): AdviceCondition {
  const evidence = {
    training_rows: check.rows.train,
    training_problems: trainProblems,
    held_out_rows: check.rows["held-out"],
  };
  const counted = `${check.rows.train} rows to train on, of ${trainProblems} different problems, and ${check.rows["held-out"]} rows held out`;
  if (check.rows.train < fewRows) {
    return condition("recurs", {
      verdict: "no",
      why: `There are only ${counted}: so few are learned by heart.`,
      evidence,
      instead: "put them as examples into the prompt, or collect more cases first",
    });
  }
  if (check.rows.train < enoughRows || trainProblems < fewProblems || check.rows["held-out"] === 0) {
    return condition("recurs", {
      verdict: "unclear",
      why: `There are ${counted}: few to generalise from, and a gain will be hard to prove.`,
      evidence,
      instead: "collect more cases; until then examples in the prompt may do as well",
    });
  }
  return condition("recurs", { verdict: "yes", why: `There are ${counted}.`, evidence, instead: null });
}

function changesBehaviour({ facts }: AdviceEvidence): AdviceCondition {
  const how =
    "judged by words: numbers, names and long words of right answers that stand neither in the prompt nor in the answers to other problems";
  if (facts === undefined) {
    return condition("behaviour", {
      verdict: "unclear",
      why: "There are no right answers to look at, so it could not be judged whether they need facts that the prompt does not hold.",
      evidence: { unseen_facts: null },
      instead:
        "ask yourself: could a careful person answer from the prompt alone? If not, the model needs retrieval or a tool, not training",
    });
  }
  const evidence = { rows: facts.rows, facts: facts.facts, unseen_facts: facts.share };
  const examples = facts.examples.length === 0 ? "" : `, such as ${facts.examples.slice(0, 3).join(", ")}`;
  const why = `${formatPercent(facts.share)} of the facts in right answers are not shown to the model${examples} (${how}).`;
  if (facts.share <= behaviour) return condition("behaviour", { verdict: "yes", why, evidence, instead: null });
  return condition("behaviour", {
    verdict: facts.share >= knowledge ? "no" : "unclear",
    why,
    evidence,
    instead:
      "give the model those facts: put them into the prompt by retrieval, or let it ask a tool. Train how it uses them, not what they are",
  });
}

/** Where to begin. Null when the task has nothing to train on. */
export function methodOf({ check, baseline }: AdviceEvidence): Advice["method"] {
  const has = (method: TaskCheck["methods"][number]) => check.methods.includes(method);
  if (!has("rl")) {
    if (has("sft")) {
      const then = has("dpo") ? ", then DPO on the pairs" : "";
      return { name: "sft", why: `There are right answers and no reward: imitate them first${then}.` };
    }
    return has("dpo") ? { name: "dpo", why: "There are only pairs of a better and a worse answer." } : null;
  }
  if (baseline === undefined) {
    return has("sft")
      ? {
          name: "sft",
          why: "There are right answers, and whether the model ever succeeds by itself is not known: imitate first, then go on with GSPO.",
        }
      : {
          name: "gspo",
          why: "There is a reward and nothing to imitate. It needs a model that succeeds sometimes: measure one with --model.",
        };
  }
  const { mixed_groups, some_success, rows, samples } = baseline;
  const mixed = `in ${formatPercent(mixed_groups)} of ${rows} rows the ${samples} answers differ in worth`;
  if (mixed_groups >= fewMixed) {
    return { name: "gspo", why: `RL learns from groups of answers that differ, and ${mixed}.` };
  }
  if (has("sft")) {
    return {
      name: "sft",
      why: `RL would learn nothing yet: only ${mixed}. Imitate right answers first, then go on with GSPO.`,
    };
  }
  const never = some_success === 0 ? "the model never earns more than the least" : `only ${mixed}`;
  return {
    name: "gspo",
    why: `There is nothing to imitate, but ${never}: make the task easier, or add parts to the reward that pay for half the way, before you train.`,
  };
}

/** The whole in one word and one sentence. */
export function verdictOf(conditions: readonly AdviceCondition[]): Pick<Advice, "verdict" | "sentence"> {
  const named = (verdict: AdviceVerdict) => conditions.filter((one) => one.verdict === verdict);
  const [no, unclear] = [named("no"), named("unclear")];
  const list = (some: readonly AdviceCondition[]) => some.map(({ question }) => question).join(" ");
  if (no.length > 0) {
    return { verdict: "do_not_train", sentence: `Do not train yet. It does not hold: ${list(no)}` };
  }
  if (unclear.length > 0) {
    return {
      verdict: "not_yet",
      sentence: `Nothing speaks against training, but this is not settled: ${list(unclear)}`,
    };
  }
  return { verdict: "train", sentence: "All five conditions hold: training is the right tool." };
}

function told(value: number | null): string {
  return value === null ? "nothing" : formatDecimal(value);
}
