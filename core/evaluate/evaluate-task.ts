/** Measures a model on a task: answers to rows of one split, greedy answers, and whole games. Same seed, same result. */

import { CancelledError, HoneError } from "../contract/errors.ts";
import type { EvalItem, Evaluation, Split } from "../contract/eval.ts";
import { deriveSeed, Random, type Seed } from "../contract/random.ts";
import type { Score, Task, TaskRow } from "../tasks/task.ts";
import { playGames, tabulateGames } from "./games.ts";
import { measure, symmetryAgreement } from "./measures.ts";
import { answerFields, type Answer, type Policy, type PolicySettings } from "./policy-types.ts";

export interface EvaluateOptions {
  /** Name for the report. */
  model: string;
  /** Default `held-out`. */
  split?: Split;
  splitSeed: Seed;
  /** Rows to use instead of the whole split; see `pickRows`. */
  rows?: TaskRow[];
  /** Answers per row. Default 1. */
  samples?: number;
  seed: Seed;
  /** Of the answers that make the report's main figures. Default 1. */
  temperature?: number;
  /** New tokens per answer. Default: the task's limit. */
  maxTokens?: number;
  /** Also answer every row once at temperature 0. Default true. */
  greedy?: boolean;
  /** Default: 100 games per opponent and side, greedy. `false`: none. */
  games?: { count?: number; temperature?: number; opponents?: Record<string, Policy> } | false;
  signal?: AbortSignal;
  onProgress?: (progress: { stage: EvaluationStage; done: number; total: number }) => void;
}

export type EvaluationStage = "sampled" | "greedy" | "games";

/** Answers per model call: enough to keep a batch full, few enough to show progress and to stop soon. */
const chunkSize = 256;

export async function evaluateTask(task: Task, policy: Policy, options: EvaluateOptions): Promise<Evaluation> {
  const { seed, splitSeed, split = "held-out", samples = 1, temperature = 1, greedy = true } = options;
  const maxTokens = options.maxTokens ?? task.limits.tokens;
  const rows = options.rows ?? task.rows(split, { seed: splitSeed });
  if (rows.length === 0) throw new HoneError("no-rows", `task ${task.name} has no rows to evaluate`);
  const settings = (t: number): PolicySettings => ({
    temperature: t,
    maxTokens,
    ...(options.signal !== undefined && { signal: options.signal }),
  });
  const answer = (pass: EvalItem["pass"], perRow: number, t: number) =>
    answerRows(task, policy, rows, { pass, samples: perRow, seed, settings: settings(t) }, (done, total) =>
      options.onProgress?.({ stage: pass, done, total }),
    );

  const sampled = await answer("sampled", samples, temperature);
  const greedyItems = greedy ? await answer("greedy", 1, 0) : [];

  const plays = task.game !== undefined && options.games !== false;
  const gameOptions = options.games || {};
  const gamesTemperature = gameOptions.temperature ?? 0;
  const records = plays
    ? await playGames(task, policy, {
        count: gameOptions.count ?? 100,
        seed,
        ...(gameOptions.opponents !== undefined && { opponents: gameOptions.opponents }),
        settings: settings(gamesTemperature),
        onProgress: (done, total) => options.onProgress?.({ stage: "games", done, total }),
      })
    : [];

  const kinds = Object.keys(task.failures);
  const oneEach = greedy ? greedyItems : sampled.filter((item) => item.sample === 0);
  const report: Evaluation["report"] = {
    model: options.model,
    task: task.name,
    split,
    split_seed: splitSeed,
    seed,
    boards: rows.length,
    problems: new Set(rows.map((row) => task.problem(row))).size,
    samples,
    temperature,
    max_completion_length: maxTokens,
    ...measure(sampled, kinds, seed),
    greedy: greedy ? measure(greedyItems, kinds, seed) : null,
    symmetry_agreement: symmetryAgreement(oneEach, seed) ?? null,
    reference: task.reference(rows),
    games: tabulateGames(records, Object.keys(gameOptions.opponents ?? {})),
    games_temperature: plays ? gamesTemperature : null,
    sides: plays ? (task.game?.sides ?? null) : null,
  };
  return { report, items: [...sampled, ...greedyItems], games: records };
}

/**
 * About `count` rows of a split, always the same ones for a seed: whole problems in random order until there are enough,
 * so that mirror images stay together.
 */
export function pickRows<Row extends TaskRow>(task: Task<Row>, rows: readonly Row[], count: number, seed: Seed): Row[] {
  const problems = [...Map.groupBy(rows, (row) => task.problem(row)).values()];
  const picked: Row[] = [];
  for (const group of new Random(seed).split("pick rows").shuffle(problems)) {
    if (picked.length >= count) break;
    picked.push(...group);
  }
  return picked;
}

async function answerRows(
  task: Task,
  policy: Policy,
  rows: readonly TaskRow[],
  pass: { pass: EvalItem["pass"]; samples: number; seed: Seed; settings: PolicySettings },
  onProgress: (done: number, total: number) => void,
): Promise<EvalItem[]> {
  const jobs = rows.flatMap((row) =>
    Array.from({ length: pass.samples }, (_, sample) => ({
      row,
      sample,
      seed: deriveSeed(pass.seed, "eval", pass.pass, row.id, sample),
    })),
  );
  const items: EvalItem[] = [];
  for (let start = 0; start < jobs.length; start += chunkSize) {
    pass.settings.signal?.throwIfAborted();
    const chunk = jobs.slice(start, start + chunkSize);
    const episodes = chunk.map(({ row, seed }) => task.start(row, seed));
    const answers = await policy.answer(
      chunk.map(({ seed }, i) => ({
        messages: task.prompt(chunk[i].row),
        tools: task.tools,
        ...(task.toolChoice !== undefined && { toolChoice: task.toolChoice }),
        seed,
      })),
      pass.settings,
    );
    for (const [i, { row, sample, seed }] of chunk.entries()) {
      if (answers[i].stopReason === "cancelled") throw new CancelledError();
      const { score } = await episodes[i].step(answers[i]);
      if (score === undefined) {
        throw new HoneError(
          "several-turns",
          `task ${task.name} takes several turns, which the evaluation cannot play yet`,
        );
      }
      items.push(
        toItem({ pass: pass.pass, row_id: row.id, problem: task.problem(row), sample, seed }, answers[i], score),
      );
    }
    onProgress(items.length, jobs.length);
  }
  return items;
}

function toItem(
  source: Pick<EvalItem, "pass" | "row_id" | "problem" | "sample" | "seed">,
  answer: Answer,
  { reward, parts, info }: Score,
): EvalItem {
  return {
    ...source,
    prompt_length: answer.promptTokens.length,
    ...answerFields(answer),
    reward,
    reward_parts: parts,
    outcomes: info.outcomes,
    failure: info.failure ?? null,
    choice: info.choice ?? null,
    problem_choice: info.problemChoice ?? null,
  };
}
