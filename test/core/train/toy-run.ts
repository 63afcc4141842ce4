/**
 * Tic-tac-toe for a tabular model: a prompt is one token, the first free square, and an answer is a square and the end
 * token. A policy that answers with the square it is shown is always legal.
 */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageText, type ToolCallMessage } from "../../../core/contract/chat.ts";
import type { RunConfigInput } from "../../../core/contract/config.ts";
import type { MetricsRow } from "../../../core/contract/run.ts";
import type { TrainEvent } from "../../../core/train/events.ts";
import { RunFolder } from "../../../core/train/run-folder/run-folder.ts";
import type { TrainChat, TrainContext } from "../../../core/train/prepare-run.ts";
import { TabularEngine } from "./tabular-model.ts";

export const endId = 0;
/** End, nine squares, and two words that mean nothing. */
export const vocabSize = 12;

export const toyChat: TrainChat = {
  stopIds: [endId],
  renderPrompt(messages) {
    const board = messages.map(messageText).join("\n");
    const first = /^.*?\b([1-9])\b/s.exec(board.slice(board.indexOf("\n\n")));
    return Int32Array.from([first === null ? 11 : Number(first[1])]);
  },
  readAnswer(_prompt, tokens, _tools, { stopReason }) {
    const text = [...tokens].join(" ");
    const square = tokens[0];
    if (tokens.length === 2 && stopReason === "eos" && square >= 1 && square <= 9) {
      const tool_calls = [{ name: "choose_square", arguments: { square } }];
      return { text, parsed: { content: "", reasoning: "", tool_calls, problems: [] } };
    }
    const code = stopReason === "eos" ? ("no_call" as const) : ("truncated" as const);
    return { text, parsed: { content: text, reasoning: "", tool_calls: [], problems: [{ code, message: code }] } };
  },
  /** The answer is the square that the last message's call names, and the end. */
  renderTrained(messages, tools, _loss, completionFrom = messages.length - 1) {
    const [call] = messages[messages.length - 1].tool_calls ?? [];
    const called = (call as ToolCallMessage | undefined)?.function.arguments as { square: number } | undefined;
    const ids = called === undefined ? [endId] : [called.square, endId];
    return {
      promptIds: this.renderPrompt(messages.slice(0, completionFrom), tools),
      ids: Int32Array.from(ids),
      mask: new Uint8Array(ids.length).fill(1),
    };
  },
  vocabSize: 1000,
  textIds: (text) => Int32Array.from([...text.split(" ").map(Number), endId]),
  decode: (tokens) => [...tokens].join(" "),
  files: () => ({ "tokenizer.json": "{}\n" }),
};

/** A folder with the weights of a tabular model that knows nothing but this: after a square an answer may well end. */
export function toyModelFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-toy-"));
  const rows: [string, number[]][] = [];
  for (let prompt = 1; prompt < vocabSize; prompt++) {
    for (let square = 1; square <= 9; square++) {
      const logits = new Array<number>(vocabSize).fill(0);
      logits[endId] = 1.5;
      rows.push([`${prompt} ${square}`, logits]);
    }
  }
  writeFileSync(join(folder, "model.safetensors"), JSON.stringify(rows));
  writeFileSync(join(folder, "config.json"), "{}");
  return folder;
}

export interface ToyRun {
  context: TrainContext;
  engine: TabularEngine;
  events: TrainEvent[];
  abort: AbortController;
  /** A run folder that does not exist yet. */
  output: string;
}

export function toyRun(onEvent?: (event: TrainEvent, run: ToyRun) => void): ToyRun {
  const engine = new TabularEngine({ vocabSize, memory: 3 });
  const events: TrainEvent[] = [];
  const abort = new AbortController();
  const parent = mkdtempSync(join(tmpdir(), "hone-run-"));
  mkdirSync(parent, { recursive: true });
  const run: ToyRun = {
    engine,
    events,
    abort,
    output: join(parent, "run"),
    context: {
      engine,
      openChat: async () => toyChat,
      honeVersion: "0.0.0",
      command: ["test"],
      listen: (event) => {
        events.push(event);
        onEvent?.(event, run);
      },
      signal: abort.signal,
    },
  };
  return run;
}

export const toyConfig: RunConfigInput = {
  task: "tic-tac-toe",
  finetuning_type: "full",
  learning_rate: 0.05,
  prompts_per_step: 4,
  num_generations: 4,
  max_completion_length: 4,
  max_steps: 10,
  eval_steps: 4,
  eval_size: 16,
  save_steps: 3,
};

/** Metrics that depend on the machine's speed, not on the run. */
const timeLike = /^(time|time\/.*|step_time|tokens_per_second|peak_memory)$/;

/** Rows of a run without what depends on the clock. */
export function comparableMetrics(path: string): MetricsRow[] {
  return new RunFolder(path)
    .readMetrics()
    .map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !timeLike.test(name))) as MetricsRow);
}
