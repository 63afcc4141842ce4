/** An episode of several turns whose environment is a user's script with pure functions. */

import { z } from "zod";
import type { ChatMessage } from "../contract/chat.ts";
import { HoneError } from "../contract/errors.ts";
import type { Seed } from "../contract/random.ts";
import type { Grade, TaskData } from "./data-task.ts";
import type { PlayedTurn } from "./reward-sample.ts";
import { EnvironmentError, type Action, type Episode, type Score, type Step, type StopReason } from "./task.ts";
import type { TaskScript } from "./task-script.ts";

export type EnvironmentFunction = "start" | "step" | "end" | "solve";
export type EnvironmentScript = TaskScript<EnvironmentFunction>;

/** The part of a score that is one number. */
export const numberPart = "score";

/** The environment could not do its work, through no fault of the model: the episode counts for nothing. */
const unavailableSchema = z.strictObject({ unavailable: z.string() });

const scoreSchema = z.union([
  z.number(),
  z.strictObject({ parts: z.record(z.string(), z.number()), failure: z.string().optional() }),
]);

const stepSchema = z.strictObject({
  state: z.unknown(),
  messages: z.array(z.looseObject({ role: z.enum(["tool", "user", "system"]), content: z.string() })).default([]),
  done: z.boolean(),
  score: scoreSchema.optional(),
});

/** What a script sees of an answer. */
function actionOf({ text, parsed, stopReason }: Action, turn: number) {
  return {
    text,
    content: parsed.content,
    reasoning: parsed.reasoning,
    tool_calls: parsed.tool_calls,
    /** Calls that do not count, and why. An answer without a call is no problem. */
    problems: parsed.problems.filter(({ code }) => code !== "no_call"),
    stop_reason: stopReason,
    turn,
  };
}

export class ScriptEpisode implements Episode {
  readonly #script: EnvironmentScript;
  readonly #data: TaskData;
  readonly #seed: Seed;
  readonly #grade: Grade;
  /** Names of the parts that the environment's score may give. */
  readonly #parts: readonly string[];
  readonly #turns: PlayedTurn[] = [];
  #state: unknown;
  #started = false;

  constructor(script: EnvironmentScript, parts: readonly string[], data: TaskData, seed: Seed, grade: Grade) {
    this.#script = script;
    this.#parts = parts;
    this.#data = data;
    this.#seed = seed;
    this.#grade = grade;
  }

  async step(action: Action): Promise<Step> {
    await this.#start();
    // An answer that the token limit cut is no answer, whatever it holds.
    if (action.stopReason === "length" || action.stopReason === "context_full") {
      this.#turns.push({ action, replies: [] });
      return { messages: [], done: true, score: await this.end(action.stopReason) };
    }
    const turn = this.#turns.length + 1;
    const answer = await this.#call("step", [this.#state, actionOf(action, turn)]);
    const { state, messages, done, score } = this.#checked(stepSchema, answer, "step");
    this.#state = state;
    this.#turns.push({ action, replies: messages });
    if (!done) return { messages, done };
    return { messages, done, score: await this.#score(score, action.stopReason) };
  }

  async end(reason: StopReason): Promise<Score> {
    await this.#start();
    if (!this.#script.has("end")) return this.#score(undefined, reason);
    const answer = await this.#call("end", [this.#state, reason]);
    return this.#score(this.#checked(scoreSchema.optional(), answer ?? undefined, "end"), reason);
  }

  async #start(): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    this.#state = await this.#call("start", [this.#data.columns, this.#seed]);
  }

  async #call(name: EnvironmentFunction, args: readonly unknown[]): Promise<unknown> {
    const answer = await this.#script.call(name, args, `${this.#seed}/${this.#turns.length}`);
    const away = unavailableSchema.safeParse(answer);
    if (away.success) throw new EnvironmentError(away.data.unavailable);
    return answer;
  }

  async #score(score: z.infer<typeof scoreSchema> | undefined, reason: StopReason): Promise<Score> {
    const { parts, failure } =
      typeof score === "number" ? { parts: { [numberPart]: score } } : (score ?? { parts: {} });
    const stray = Object.keys(parts).find((name) => !this.#parts.includes(name));
    if (stray !== undefined) {
      throw this.#bad(`the score has a part ${JSON.stringify(stray)}`, `parts in task.json: ${this.#parts.join(", ")}`);
    }
    return this.#grade(this.#turns, reason, { values: parts, ...(failure !== undefined && { info: { failure } }) });
  }

  #checked<T>(schema: z.ZodType<T>, answer: unknown, name: string): T {
    const result = schema.safeParse(answer);
    if (result.success) return result.data;
    const [{ path, message }] = result.error.issues;
    const field = path.length === 0 ? "" : `${path.map(String).join(".")}: `;
    throw this.#bad(`${name} returned something else than it should: ${field}${message}`, returns[name]);
  }

  #bad(why: string, fix: string | undefined): HoneError {
    return new HoneError("bad-task", `${this.#script.path}: ${why}`, fix === undefined ? {} : { fix });
  }
}

const returns: Record<string, string> = {
  step: 'step returns {state, messages: [{"role": "tool", "content": …}], done, score?}, or {unavailable: "why"}',
  end: "end returns a number, or {parts: {name: number}, failure?}",
};

const movesSchema = z
  .array(
    z.union([
      z.string(),
      z.strictObject({
        content: z.string().default(""),
        tool_calls: z.array(z.strictObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })),
      }),
    ]),
  )
  .min(1);

/** Plays the moves that the script's `solve` names, so that the right answer has real tool results in it. */
export async function solveRow(
  script: EnvironmentScript,
  parts: readonly string[],
  columns: TaskData["columns"],
  seed: Seed,
  place: string,
): Promise<ChatMessage[]> {
  const moves = movesSchema.safeParse(await script.call("solve", [columns], seed));
  if (!moves.success) {
    throw new HoneError("bad-task", `${script.path}: solve, for ${place}, returned something else than it should`, {
      fix: "solve returns a list of answers: texts, or {tool_calls: [{name, arguments}], content?}",
    });
  }
  const messages: ChatMessage[] = [];
  const data: TaskData = { id: place, columns, prompt: [] };
  const nothing: Score = { reward: 0, parts: {}, info: { outcomes: {} } };
  const episode = new ScriptEpisode(script, parts, data, seed, async () => nothing);
  for (const move of moves.data) {
    const { content, tool_calls } = typeof move === "string" ? { content: move, tool_calls: [] } : move;
    const calls = tool_calls.map((call) => ({ type: "function" as const, function: call }));
    messages.push({ role: "assistant", content, ...(calls.length > 0 && { tool_calls: calls }) });
    const parsed = { content, reasoning: "", tool_calls, problems: [] };
    const step = await episode.step({ text: content, parsed, stopReason: "eos" });
    messages.push(...step.messages);
    if (step.done) return messages;
  }
  return messages;
}
