/**
 * Rewards: what one sample looks like to a reward, what a reward answers, the JSON lines that programs exchange with it,
 * and the reward file. Field names are those of the wire, so a reward reads the same in TypeScript, Python and JSON.
 */

import { z } from "zod";
import { chatMessageSchema } from "./chat.ts";

/** One named part of a reward. The reward is the sum of weight × value over all parts. */
export interface RewardPart {
  name: string;
  weight: number;
  /** What is paid for, with the range of the value. */
  description: string;
}

/** One answer of a model, with everything that it can be judged by. */
export const rewardSampleSchema = z.object({
  /** What the model saw first. */
  prompt: z.array(chatMessageSchema),
  /** What the model wrote, as it wrote it, reasoning and tool calls included. Of several turns, the last. */
  completion: z.string(),
  /** `completion` without reasoning and without the calls that count. */
  answer: z.string(),
  /** What the model thought; empty when it did not. */
  reasoning: z.string(),
  /** The whole conversation: prompt, every answer, every tool result. */
  messages: z.array(chatMessageSchema),
  /** Calls that count, of all turns in order; `result` is what the tool answered. */
  tool_calls: z.array(
    z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()), result: z.string().optional() }),
  ),
  /** What was wrong with the form of the answer: `no_call`, `malformed`, `bad_argument`, … */
  problems: z.array(z.object({ code: z.string(), message: z.string() })),
  /** `eos`, `length`, `tool_call`, `max_turns`, … */
  stop_reason: z.string(),
  /** Ids behind the prompt, as they were drawn. */
  completion_ids: z.array(z.number().int()),
  /** Natural logs at temperature 1, one per id. */
  logprobs: z.array(z.number()),
  /** One per id: 1 where the model wrote it, 0 for tool results. */
  loss_mask: z.array(z.number().int().min(0).max(1)),
  row_id: z.string(),
  /** The columns of the source row. */
  row: z.record(z.string(), z.unknown()),
  /** Prompt of the step, and answer within its group. */
  prompt_index: z.number().int(),
  sample_index: z.number().int(),
});
export type RewardSample = z.infer<typeof rewardSampleSchema>;

/** What a reward makes of a sample. */
export interface RewardResult {
  reward: number;
  /** Value of every part, before its weight. */
  parts: Record<string, number>;
  /** What a reward adds for people: console lines, a judge's words. */
  info?: Record<string, unknown>;
}

/** What judges cost so far. `cached`: answers that were known already, which cost nothing. */
export const rewardUsageSchema = z.object({
  calls: z.number().int(),
  cached: z.number().int(),
  prompt_tokens: z.number().int(),
  completion_tokens: z.number().int(),
});
export type RewardUsage = z.infer<typeof rewardUsageSchema>;

/** What a program or script may answer for a sample: a number, or named parts. */
export const rewardAnswerSchema = z.union([
  z.number(),
  z.strictObject({
    /** The reward of the sample. Absent: the weighted sum of the parts. */
    total: z.number().optional(),
    /** A part that was named before and is left out counts 0. */
    parts: z.record(z.string().min(1), z.number()).default({}),
    info: z.record(z.string(), z.unknown()).optional(),
  }),
]);
export type RewardAnswer = z.infer<typeof rewardAnswerSchema>;

/** One line to a reward program, on its stdin or as the body of a POST. */
export const rewardRequestSchema = z.object({ id: z.number().int(), sample: rewardSampleSchema });
export type RewardRequest = z.infer<typeof rewardRequestSchema>;

/** One line back: `reward` or `parts` (or both: then `reward` is the total), or `error` when this sample cannot be scored. */
export const rewardReplySchema = z
  .strictObject({
    id: z.number().int(),
    reward: z.number().optional(),
    parts: z.record(z.string().min(1), z.number()).optional(),
    info: z.record(z.string(), z.unknown()).optional(),
    error: z.string().optional(),
  })
  .refine(({ reward, parts, error }) => reward !== undefined || parts !== undefined || error !== undefined, {
    error: "a reply needs reward, parts or error",
  });

const common = {
  /** In metrics as `rewards/<name>/mean`. Default: the type. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9_.-]+$/, "a name has letters, digits and _ . - only")
    .optional(),
  weight: z.number().default(1),
};

/** Which text of the sample is judged. */
const text = { text: z.enum(["answer", "completion", "reasoning"]).default("answer") };

/** What is right: a column of the row, or one value for all rows. */
const expected = { column: z.string().min(1).optional(), value: z.unknown().optional() };

const ignoreCase = { ignore_case: z.boolean().default(false) };

/** Where the JSON stands: the whole text, or in the first fenced block (the whole text where there is none). */
const json = { where: z.enum(["whole", "fenced"]).default("fenced") };

const seconds = (usual: number) => z.number().positive().max(3600).default(usual);
const url = z.url({ protocol: /^https?$/ });

/** The options of every type of part. */
export const rewardPartSchemas = {
  exact_match: z.strictObject({
    type: z.literal("exact_match"),
    ...common,
    ...text,
    ...expected,
    trim: z.boolean().default(true),
    ...ignoreCase,
  }),
  numeric: z.strictObject({
    type: z.literal("numeric"),
    ...common,
    ...text,
    ...expected,
    /** Which number of the text counts; `only`: it must be the single one. */
    pick: z.enum(["first", "last", "only"]).default("last"),
    /** Right when |difference| ≤ abs or ≤ rel × |right value|. */
    abs: z.number().min(0).default(1e-9),
    rel: z.number().min(0).default(0),
  }),
  regex: z.strictObject({
    type: z.literal("regex"),
    ...common,
    ...text,
    pattern: z.string().min(1),
    flags: z.string().default(""),
    /** The whole text must match, not only a part of it. */
    full: z.boolean().default(false),
    /** Paid when it does not match. */
    negate: z.boolean().default(false),
  }),
  json_schema: z.strictObject({
    type: z.literal("json_schema"),
    ...common,
    ...text,
    ...json,
    /** The schema, or the path of a file with it, relative to the reward file. */
    schema: z.union([z.record(z.string(), z.unknown()), z.boolean(), z.string().min(1)], {
      error: "it must be a schema, or the path of a file with one",
    }),
  }),
  fields: z.strictObject({
    type: z.literal("fields"),
    ...common,
    ...text,
    ...json,
    ...expected,
    /** Only these fields (`a.b` is field b of a). Absent: every field of what is expected. */
    fields: z.array(z.string().min(1)).min(1).optional(),
    /** `count`: a field that nobody asked for lowers the share. */
    extra: z.enum(["ignore", "count"]).default("ignore"),
    ...ignoreCase,
  }),
  tool_call: z.strictObject({
    type: z.literal("tool_call"),
    ...common,
    ...expected,
    /** Value of a call with the right name and wrong arguments. */
    name_credit: z.number().min(0).max(1).default(0),
    /** Several calls must come in the order of the column. */
    ordered: z.boolean().default(true),
  }),
  length: z.strictObject({
    type: z.literal("length"),
    ...common,
    ...text,
    unit: z.enum(["tokens", "words", "characters"]).default("tokens"),
    min: z.number().min(0).default(0),
    max: z.number().min(0),
    /** Over so many units beyond an edge the value falls from 1 to 0 in a straight line. */
    soft: z.number().min(0).default(0),
  }),
  format_tags: z.strictObject({
    type: z.literal("format_tags"),
    ...common,
    tags: z
      .array(z.string().regex(/^[A-Za-z][\w-]*$/, "a tag is a name without < and >"))
      .min(1)
      .default(["think", "answer"]),
    /** The chat template has already opened the first tag, so the completion begins inside it. */
    opened: z.boolean().default(false),
    /** Text outside the tags is allowed. */
    outside: z.boolean().default(false),
    /** The share of tags that are right instead of all or nothing. */
    partial: z.boolean().default(false),
  }),
  similarity: z.strictObject({
    type: z.literal("similarity"),
    ...common,
    ...text,
    ...expected,
    unit: z.enum(["characters", "words"]).default("characters"),
    ...ignoreCase,
  }),
  words: z.strictObject({
    type: z.literal("words"),
    ...common,
    ...text,
    required: z.array(z.string().min(1)).default([]),
    forbidden: z.array(z.string().min(1)).default([]),
    /** A column with further required words: a list, or text with commas between. */
    column: z.string().min(1).optional(),
    whole: z.boolean().default(true),
    ignore_case: z.boolean().default(true),
  }),
  judge: z.strictObject({
    type: z.literal("judge"),
    ...common,
    /** Base address, as OpenAI's clients take it: `http://127.0.0.1:8000/v1`. */
    url,
    model: z.string().min(1),
    /** `{{prompt}}`, `{{answer}}`, `{{completion}}`, `{{reasoning}}`, `{{messages}}` and `{{any column}}` are filled in. */
    prompt: z.string().min(1).optional(),
    system: z.string().optional(),
    /** The judge's scale; its number becomes (number − min) / (max − min). */
    min: z.number().default(0),
    max: z.number().default(10),
    /** What finds the number in the judge's answer, its first group counts. Default: the last number. */
    parse: z.string().min(1).optional(),
    /** Environment variable with the key; the key itself never stands in a file. */
    api_key_env: z
      .string()
      .regex(/^[A-Za-z_]\w*$/, "the name of an environment variable, not the key")
      .optional(),
    temperature: z.number().min(0).default(0),
    max_tokens: z.number().int().min(1).default(256),
    timeout_seconds: seconds(60),
    retries: z.number().int().min(0).max(20).default(3),
    concurrency: z.number().int().min(1).max(256).default(4),
    cache: z.boolean().default(true),
    /** Needed for an address beyond this machine: prompts and answers are sent there. */
    allow_remote: z.boolean().default(false),
  }),
  script: z.strictObject({
    type: z.literal("script"),
    ...common,
    /** TypeScript or JavaScript, relative to the reward file. */
    file: z.string().min(1),
    timeout_seconds: seconds(1),
    memory_mb: z.number().int().min(4).max(2048).default(64),
  }),
  command: z.strictObject({
    type: z.literal("command"),
    ...common,
    /** Program and arguments; a text is cut at its spaces, quotes hold together. No shell. Runs in the reward file's folder. */
    command: z.union([z.string().min(1), z.array(z.string()).min(1)], {
      error: "it must be a command as text, or a list of its words",
    }),
    timeout_seconds: seconds(10),
    /** Programs side by side. */
    concurrency: z.number().int().min(1).max(64).default(1),
    /** Crashes, all together, after which the reward gives up. */
    restarts: z.number().int().min(0).default(10),
  }),
  http: z.strictObject({
    type: z.literal("http"),
    ...common,
    url,
    timeout_seconds: seconds(10),
    concurrency: z.number().int().min(1).max(256).default(8),
    retries: z.number().int().min(0).max(20).default(2),
    allow_remote: z.boolean().default(false),
  }),
} as const;

export type RewardPartType = keyof typeof rewardPartSchemas;
export type RewardPartOptions = {
  [Type in RewardPartType]: z.infer<(typeof rewardPartSchemas)[Type]>;
};

/** A reward file as it is written. Parts are checked one by one, so that a mistake is told with its part. */
export interface RewardFile {
  parts: ({ type: RewardPartType } & Record<string, unknown>)[];
}

/** How the values of one part, or of the whole reward, are spread. */
export const distributionSchema = z.object({
  mean: z.number(),
  /** Population standard deviation. */
  std: z.number(),
  min: z.number(),
  max: z.number(),
  quantiles: z.object({ p10: z.number(), p25: z.number(), p50: z.number(), p75: z.number(), p90: z.number() }),
  /** Counts in ten equal spans from `min` to `max`; one span when all values are equal. */
  histogram: z.array(z.number().int()),
});
export type Distribution = z.infer<typeof distributionSchema>;

/** One scored rollout, as the reward lab shows it. */
export const scoredRolloutSchema = z.object({
  step: z.number().int(),
  prompt_index: z.number().int(),
  sample_index: z.number().int(),
  row_id: z.string(),
  prompt: z.string(),
  completion: z.string(),
  reward: z.number(),
  parts: z.record(z.string(), z.number()),
  stored_reward: z.number().nullable(),
});
export type ScoredRollout = z.infer<typeof scoredRolloutSchema>;

/** `hone reward try`. */
export const rewardTrialSchema = z.object({
  reward: z.string(),
  /** Run folder or file that the rollouts came from. */
  source: z.string(),
  steps: z.array(z.number().int()),
  /** Scored rollouts. */
  samples: z.number().int(),
  /** Rollouts that could not be scored, and the first few reasons. */
  failed: z.number().int(),
  failures: z.array(z.object({ step: z.number().int(), row_id: z.string(), message: z.string() })),
  total: distributionSchema,
  parts: z.record(z.string(), distributionSchema.extend({ weight: z.number() })),
  /** Answers to one prompt of a step. `zero_variance`: all have the same reward, so they teach nothing. */
  groups: z.object({
    count: z.number().int(),
    zero_variance: z.number().int(),
    stored_zero_variance: z.number().int().nullable(),
  }),
  /** Spearman's rank correlation of every two parts, and of the reward with the stored one; null where one is constant. */
  agreement: z.array(z.object({ a: z.string(), b: z.string(), rank_correlation: z.number().nullable() })),
  /** What the reward should not pay for, and how far it goes along with it. */
  controls: z.array(
    z.object({ name: z.string(), label: z.string(), mean: z.number(), rank_correlation: z.number().nullable() }),
  ),
  best: z.array(scoredRolloutSchema),
  worst: z.array(scoredRolloutSchema),
  /** Suspected reward hacking, in plain words. `change`: from the first third of the steps to the last. */
  suspicions: z.array(
    z.object({
      measure: z.string(),
      message: z.string(),
      reward: z.tuple([z.number(), z.number()]).nullable(),
      change: z.tuple([z.number(), z.number()]).nullable(),
    }),
  ),
  notes: z.array(z.string()),
  usage: rewardUsageSchema.nullable(),
  seconds: z.number(),
});
export type RewardTrial = z.infer<typeof rewardTrialSchema>;

/** `hone reward check`. */
export const rewardCheckSchema = z.object({
  reward: z.string(),
  parts: z.array(z.object({ name: z.string(), weight: z.number(), description: z.string() })),
  samples: z.array(
    z.object({
      completion: z.string(),
      row: z.record(z.string(), z.unknown()),
      reward: z.number(),
      parts: z.record(z.string(), z.number()),
      info: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
  usage: rewardUsageSchema.nullable(),
});
export type RewardCheck = z.infer<typeof rewardCheckSchema>;
