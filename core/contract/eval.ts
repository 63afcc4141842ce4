/** What an evaluation reports (`hone eval --json`) and keeps (`eval/<step>-<name>.json` in a run folder). */

import { z } from "zod";

/** Parts of a task's rows. Rows of different parts never pose the same problem. */
export const splits = ["train", "validation", "held-out"] as const;
export type Split = (typeof splits)[number];

/** The four basic kinds of error, most basic first. Every failure kind of a task is one of them. */
export const failureGroups = {
  call: "wrong call: the answer has not the form that the task asks for",
  rules: "misread rules: well formed, but not allowed",
  state: "misread state: allowed, but not in this situation",
  choice: "poor choice: valid, but not the best",
} as const;
export type FailureGroup = keyof typeof failureGroups;

/** A mean with its 95 % interval, from resampling problems (tic-tac-toe: symmetry classes). */
export const intervalSchema = z.object({ mean: z.number(), lo: z.number(), hi: z.number() });
export type Interval = z.infer<typeof intervalSchema>;

const rate = intervalSchema.nullable().describe("null where no row asks the question");
const count = z.number().int().min(0);

/** Everything that is computed from one pass of answers over the rows. Rows count equally unless said otherwise. */
export const measuresSchema = z.object({
  reward: intervalSchema,
  /** Every problem counts once, however many rows it has. */
  reward_by_problem: intervalSchema,
  reward_given_legal: rate,
  legal_rate: rate,
  /** Of the rows on which one move wins at once. */
  immediate_win_rate: rate,
  optimal_rate: rate,
  /** Of the rows with exactly one threat to answer and no immediate win. */
  threat_block_rate: rate,
  /** Answers per failure kind; every kind of the task is listed. */
  failures: z.record(z.string(), count),
  /** Tokens. */
  response_length: z.object({ mean: z.number(), max: count }),
  /** Share of answers that the token limit cut. */
  truncated_rate: z.number(),
  /** The most frequent choice and its share of all answers. */
  most_chosen: z.object({ choice: z.string(), share: z.number() }).nullable(),
});
export type Measures = z.infer<typeof measuresSchema>;

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
  /** Rows. */
  boards: count,
  /** Different problems among them. */
  problems: count,
  /** Answers per row. */
  samples: count,
  temperature: z.number(),
  max_completion_length: count,
  ...measuresSchema.shape,
  /** One answer per row at temperature 0; null when it was not asked for. */
  greedy: measuresSchema.nullable(),
  /** Mean over problems of the largest share of its rows (mirror images) that got the same answer. Greedy where known. */
  symmetry_agreement: intervalSchema.nullable(),
  /** Mean rewards of known players on these very rows. */
  reference: z.record(z.string(), z.number()),
  /** Opponent → side → counts; empty when no games were asked for. */
  games: z.record(z.string(), z.object({ x: gameCellSchema, o: gameCellSchema })),
  games_temperature: z.number().nullable(),
  /** How each side is shown to the model. */
  sides: z.object({ x: z.string(), o: z.string() }).nullable(),
});
export type EvalReport = z.infer<typeof evalReportSchema>;

const answerFields = {
  text: z.string(),
  tokens: z.array(z.number().int()),
  /** Natural logs at temperature 1, one per token. */
  logprobs: z.array(z.number()),
  stop_reason: z.string(),
};

/** One answer to one row. */
export const evalItemSchema = z.object({
  pass: z.enum(["sampled", "greedy"]),
  row_id: z.string(),
  problem: z.string(),
  sample: count,
  seed: count,
  prompt_length: count,
  ...answerFields,
  reward: z.number(),
  reward_parts: z.record(z.string(), z.number()),
  outcomes: z.record(z.string(), z.boolean()),
  failure: z.string().nullable(),
  choice: z.string().nullable(),
  problem_choice: z.string().nullable(),
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

/** A whole evaluation as it is stored. */
export const evaluationSchema = z.object({
  report: evalReportSchema,
  items: z.array(evalItemSchema),
  games: z.array(gameRecordSchema),
});
export type Evaluation = z.infer<typeof evaluationSchema>;

/** After minus before, on the same rows with the same number of answers. */
export const evalChangeSchema = z.object({
  reward: intervalSchema,
  reward_by_problem: intervalSchema,
  legal_rate: rate,
  immediate_win_rate: rate,
  optimal_rate: rate,
  threat_block_rate: rate,
  response_length: intervalSchema,
});
export type EvalChange = z.infer<typeof evalChangeSchema>;
