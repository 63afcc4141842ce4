/** An episode of several turns whose environment is a user's script with pure functions. */

import { z } from "zod";
import type { ChatMessage } from "../../contract/chat.ts";
import { HoneError } from "../../contract/errors.ts";
import type { Seed } from "../../contract/random.ts";
import { isCut, assistantMessage } from "../../text/parse-assistant.ts";
import { EnvironmentError, type Action, type Episode, type Score, type Step, type StopReason } from "../task.ts";
import type { Grade, TaskData } from "./data-task.ts";
import type { PlayedTurn } from "./reward-sample.ts";
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
    if (isCut(action.stopReason)) {
      this.#turns.push({ action, replies: [] });
      return { messages: [], done: true, score: await this.end(action.stopReason) };
    }
    const turn = this.#turns.length + 1;
    const answer = await this.#call("step", [this.#state, actionOf(action, turn)]);
    const { state, messages, done, score } = checked(this.#script, stepSchema, answer, "step");
    this.#state = state;
    this.#turns.push({ action, replies: messages });
    if (!done) return { messages, done };
    return { messages, done, score: await this.#score(score, action.stopReason) };
  }

  async end(reason: StopReason): Promise<Score> {
    await this.#start();
    if (!this.#script.has("end")) return this.#score(undefined, reason);
    const answer = await this.#call("end", [this.#state, reason]);
    return this.#score(checked(this.#script, scoreSchema.optional(), answer ?? undefined, "end"), reason);
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
      throw bad(
        this.#script,
        `the score has a part ${JSON.stringify(stray)}`,
        `parts in task.json: ${this.#parts.join(", ")}`,
      );
    }
    return this.#grade(this.#turns, reason, { values: parts, ...(failure !== undefined && { info: { failure } }) });
  }
}

function checked<T>({ path }: EnvironmentScript, schema: z.ZodType<T>, answer: unknown, name: keyof typeof returns): T {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue.path.length === 0 ? "" : `${issue.path.map(String).join(".")}: `;
  throw bad({ path }, `${name} returned something else than it should: ${field}${issue.message}`, returns[name]);
}

function bad({ path }: Pick<EnvironmentScript, "path">, why: string, fix: string): HoneError {
  return new HoneError("bad-task", `${path}: ${why}`, { fix });
}

const returns = {
  step: 'step returns {state, messages: [{"role": "tool", "content": …}], done, score?}, or {unavailable: "why"}',
  end: "end returns a number, or {parts: {name: number}, failure?}",
  solve: "solve returns a list of answers: texts, or {tool_calls: [{name, arguments}], content?}",
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

/** Seed of the episodes in which right answers are played. */
const solveSeed = 0;

/** Plays what the script's `solve` names for each row, so that the right answers have real tool results in them. */
export async function solveRows(
  script: EnvironmentScript,
  rows: readonly TaskData["columns"][],
): Promise<ChatMessage[][]> {
  const each = (name: EnvironmentFunction, calls: readonly unknown[][], turn = 0) =>
    script.callEach(name, calls, `${solveSeed}/${turn}`);
  const found = await each(
    "solve",
    rows.map((row) => [row]),
  );
  const moves = found.map((answer) => checked(script, movesSchema, answer, "solve"));
  const starts = await each(
    "start",
    rows.map((row) => [row, solveSeed]),
  );
  let open = rows.map((_, i) => ({ i, state: starts[i] }));
  const conversations = rows.map((): ChatMessage[] => []);
  for (let turn = 1; open.length > 0; turn++) {
    const actions = open.map(({ i }) => moveAction(moves[i][turn - 1]));
    const answers = await each(
      "step",
      open.map(({ state }, k) => [state, actionOf(actions[k], turn)]),
      turn - 1,
    );
    const going: typeof open = [];
    for (const [k, { i }] of open.entries()) {
      const { state, messages, done } = checked(script, stepSchema, answers[k], "step");
      conversations[i].push(assistantMessage(actions[k].parsed), ...messages);
      if (!done && turn < moves[i].length) going.push({ i, state });
    }
    open = going;
  }
  return conversations;
}

function moveAction(move: z.infer<typeof movesSchema>[number]): Action {
  const { content, tool_calls } = typeof move === "string" ? { content: move, tool_calls: [] } : move;
  return { text: content, stopReason: "eos", parsed: { content, reasoning: "", tool_calls, problems: [] } };
}
