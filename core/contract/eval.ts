/** What an evaluation reports (`hone eval --json`) and keeps (`eval/<step>-<name>.json` in a run folder). */

import { z } from "zod";

/** Parts of a task's rows. Rows of different parts never pose the same problem. */
export const splits = ["train", "validation", "held-out"] as const;
export type Split = (typeof splits)[number];

/** Of the division into parts, where nothing else is said: what is trained on and what is measured on never meet. */
export const defaultSplitSeed = 2026;

/** The four basic kinds of error, most basic first. Every failure kind of a task is one of them. */
export const failureGroups = {
  call: "wrong call: the answer has not the form that the task asks for",
  rules: "misread rules: well formed, but not allowed",
  state: "misread state: allowed, but not in this situation",
  choice: "poor choice: valid, but not the best",
} as const;
export type FailureGroup = keyof typeof failureGroups;
export const failureGroupNames = Object.keys(failureGroups) as [FailureGroup, ...FailureGroup[]];

/** A mean with its 95 % interval, from resampling problems (tic-tac-toe: symmetry classes). */
export const intervalSchema = z.object({ mean: z.number(), lo: z.number(), hi: z.number() });
export type Interval = z.infer<typeof intervalSchema>;

const rate = intervalSchema.nullable().describe("null where no row asks the question");
const count = z.number().int().min(0);
const share = z.number().min(0).max(1);

/** Everything that is computed from one pass of answers over the rows. Rows count equally unless said otherwise. */
export const measuresSchema = z.object({
  /** Null where the task has no reward. */
  reward: intervalSchema.nullable(),
  /** Every problem counts once, however many rows it has. */
  reward_by_problem: intervalSchema.nullable(),
  /** Of the answers whose form is right and which are allowed: those without an error, or with a poor choice only. */
  reward_given_allowed: intervalSchema.nullable(),
  /** Every named yes/no result of the task. */
  rates: z.record(z.string(), rate),
  /** Answers per failure kind; every kind of the task is listed. */
  failures: z.record(z.string(), count),
  /** Share of answers per basic kind of error. What is left to 1 had none. */
  faults: z.object({ call: share, rules: share, state: share, choice: share }),
  /** Tokens that the model wrote in an episode, over all its turns. */
  response_length: z.object({ mean: z.number(), max: count }),
  /** Mean tokens of thinking among them; null when nothing is known of it. */
  thinking_tokens: z.number().nullable(),
  /** Mean turns of the model in an episode. */
  turns: z.number(),
  /** Share of answers that the token limit cut. */
  truncated_rate: z.number(),
  /** Episodes that the environment failed: they count for nothing. */
  invalid: count,
  /** The most frequent choice and its share of all answers. */
  most_chosen: z.object({ choice: z.string(), share: z.number() }).nullable(),
});
export type Measures = z.infer<typeof measuresSchema>;

/** How likely right answers are to the model: mean negative log-prob per token. */
export const solutionLossSchema = z.object({
  loss: intervalSchema,
  /** That count for the loss. */
  tokens: count,
  rows: count,
  /** Rows with nothing to score, or longer than the model can read. */
  skipped: count,
});

/** How often the better of two answers is the more likely one. */
export const preferenceAccuracySchema = z.object({
  /** Share of pairs in which the chosen answer has the higher summed log-prob. Favours short answers. */
  accuracy: intervalSchema,
  /** Share of pairs with a margin above 0 (TRL: `rewards/accuracies`); null without a reference, as are the next two. */
  reward_accuracy: intervalSchema.nullable(),
  /** β · difference of the two log-ratios to the reference (TRL: `rewards/margins`). */
  margin: intervalSchema.nullable(),
  /** DPO's loss: ln 2 where policy and reference are the same. */
  loss: intervalSchema.nullable(),
  /** Mean summed log-probs. */
  logps: z.object({ chosen: z.number(), rejected: z.number() }),
  pairs: count,
  /** Pairs whose answers are equal or empty, or that are longer than the model can read. */
  skipped: count,
});

/** An unrelated small set, measured beside the task. */
export const controlSchema = z.object({
  /** Mean negative log-prob per token of short plain texts. */
  text_loss: intervalSchema,
  /** That of a blind guess over the vocabulary. */
  blind_loss: z.number(),
  /** Share of simple instructions that are followed, greedy. */
  instructions: intervalSchema,
  texts: z.array(z.object({ id: z.string(), logprob: z.number(), tokens: count })),
  answers: z.array(z.object({ id: z.string(), text: z.string(), followed: z.boolean() })),
});
export type Control = z.infer<typeof controlSchema>;

/** Games of one side against one opponent. `win`, `draw`, `loss` and `illegal` add up to all games played. */
export const gameCellSchema = z.object({
  win: count,
  draw: count,
  /** Lost on the board. */
  loss: count,
  /** Lost by an illegal move or a missing call. */
  illegal: count,
  /** Of the wins, those by an illegal move of the opponent. Only where the opponent is a model. */
  opponent_illegal: count.optional(),
  /** Mean number of moves of both sides. */
  num_moves: z.number(),
});
export type GameCell = z.infer<typeof gameCellSchema>;

export const evalReportSchema = z.object({
  model: z.string(),
  task: z.string(),
  split: z.enum(splits),
  split_seed: z.union([z.number(), z.string()]),
  seed: z.union([z.number(), z.string()]),
  rows: count,
  /** Rows that were left out, since their prompt leaves the model no room for an answer. */
  skipped: count,
  /** What a row is, for people: `board`. */
  row_name: z.string(),
  /** Different problems among the rows. */
  problems: count,
  /** Answers per row. */
  samples: count,
  temperature: z.number(),
  /** Tokens of one turn. */
  max_completion_length: count,
  ...measuresSchema.shape,
  /** One answer per row at temperature 0; null when it was not asked for. */
  greedy: measuresSchema.nullable(),
  /** Mean over problems of the largest share of its rows (mirror images) that got the same answer. Greedy where known. */
  symmetry_agreement: intervalSchema.nullable(),
  /** Mean rewards of known players on these very rows. */
  reference: z.record(z.string(), z.number()),
  /** What the names mean, in the task's own words. */
  labels: z.object({
    outcomes: z.record(z.string(), z.string()),
    failures: z.record(z.string(), z.object({ meaning: z.string(), group: z.string() })),
  }),
  /** Null where the task has no right answers. */
  solution: solutionLossSchema.nullable(),
  /** Null where the task has no pairs. */
  preference: preferenceAccuracySchema.nullable(),
  /** Null when it was not asked for. */
  control: controlSchema.nullable(),
  /** Opponent → side → counts; empty when no games were asked for. */
  games: z.record(z.string(), z.object({ x: gameCellSchema, o: gameCellSchema })),
  games_temperature: z.number().nullable(),
  /** How each side is shown to the model. */
  sides: z.object({ x: z.string(), o: z.string() }).nullable(),
});
export type EvalReport = z.infer<typeof evalReportSchema>;

/**
 * Measures as `hone eval --json` prints them: every named rate also stands at the top as `<name>_rate`. Those of
 * tic-tac-toe are written out.
 */
const measuresOutputShape = {
  legal_rate: rate.optional(),
  immediate_win_rate: rate.optional(),
  optimal_rate: rate.optional(),
  threat_block_rate: rate.optional(),
  reward_given_legal: rate.optional(),
};

/** `hone eval --json`. The number of rows also stands under their name: `boards`. */
export const evalOutputSchema = evalReportSchema
  .extend({
    ...measuresOutputShape,
    greedy: measuresSchema.extend(measuresOutputShape).catchall(z.unknown()).nullable(),
    boards: count.optional(),
  })
  .catchall(z.unknown());
export type EvalOutput = z.infer<typeof evalOutputSchema>;

const answerFields = {
  text: z.string(),
  tokens: z.array(z.number().int()),
  /** Natural logs at temperature 1, one per token. */
  logprobs: z.array(z.number()),
  stop_reason: z.string(),
};

/** One turn of the model in an episode, and what the environment said to it. */
export const evalTurnSchema = z.object({
  prompt_length: count,
  ...answerFields,
  thinking_tokens: count.nullable(),
  /** Tool results and other messages before the next turn. */
  replies: z.array(z.object({ role: z.string(), text: z.string() })),
});
export type EvalTurn = z.infer<typeof evalTurnSchema>;

/** One episode on one row: a single answer, or several turns. */
export const evalItemSchema = z.object({
  pass: z.enum(["sampled", "greedy"]),
  row_id: z.string(),
  problem: z.string(),
  sample: count,
  seed: count,
  turns: z.array(evalTurnSchema),
  /** Why the episode ended. */
  stop_reason: z.string(),
  /** Null where the task has no reward, and where the environment failed. */
  reward: z.number().nullable(),
  reward_parts: z.record(z.string(), z.number()),
  outcomes: z.record(z.string(), z.boolean()),
  failure: z.string().nullable(),
  fault: z.enum(["call", "rules", "state", "choice"]).nullable(),
  choice: z.string().nullable(),
  problem_choice: z.string().nullable(),
  /** What the environment failed with: the episode counts for nothing. */
  invalid: z.string().nullable(),
});
export type EvalItem = z.infer<typeof evalItemSchema>;

/** One game of the evaluated model. */
export const gameRecordSchema = z.object({
  opponent: z.string(),
  /** The side of the evaluated model. */
  side: z.enum(["x", "o"]),
  game: count,
  result: z.enum(["win", "draw", "loss", "illegal", "opponent_illegal"]),
  failure: z.string().nullable(),
  /** Legal moves of both sides in order. */
  moves: z.array(z.number().int()),
  /** The evaluated model's answers, in order. */
  answers: z.array(z.object({ state: z.string(), seed: count, ...answerFields })),
});
export type GameRecord = z.infer<typeof gameRecordSchema>;

/** A right answer, scored: the sum of its tokens' natural log-probs. */
export const solutionItemSchema = z.object({
  row_id: z.string(),
  problem: z.string(),
  logprob: z.number(),
  tokens: count,
});
export type SolutionItem = z.infer<typeof solutionItemSchema>;

/** A pair, scored: the summed log-probs of both answers. */
export const preferenceItemSchema = z.object({
  row_id: z.string(),
  problem: z.string(),
  chosen: z.number(),
  rejected: z.number(),
});
export type PreferenceItem = z.infer<typeof preferenceItemSchema>;

/** A whole evaluation as it is stored. */
export const evaluationSchema = z.object({
  report: evalReportSchema,
  items: z.array(evalItemSchema),
  solutions: z.array(solutionItemSchema),
  preferences: z.array(preferenceItemSchema),
  games: z.array(gameRecordSchema),
});
export type Evaluation = z.infer<typeof evaluationSchema>;

/** After minus before, on the same rows with the same number of answers. */
export const evalChangeSchema = z.object({
  reward: intervalSchema.nullable(),
  reward_by_problem: intervalSchema.nullable(),
  rates: z.record(z.string(), rate),
  response_length: intervalSchema,
  /** Of the loss of right answers per token. Null where it was not measured. */
  solution_loss: intervalSchema.nullable(),
  /** Of the share of pairs whose better answer is the more likely one. Null where it was not measured. */
  preference_accuracy: intervalSchema.nullable(),
});
export type EvalChange = z.infer<typeof evalChangeSchema>;

/** After minus before on the control. */
export const controlChangeSchema = z.object({ text_loss: intervalSchema, instructions: intervalSchema });
export type ControlChange = z.infer<typeof controlChangeSchema>;
