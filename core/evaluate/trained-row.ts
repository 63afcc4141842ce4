/** A task's row as the tokens that supervised fine-tuning learns from, for training and for measuring alike. */

import type { ChatMessage } from "../contract/chat.ts";
import { HoneError } from "../contract/errors.ts";
import type { TokenRow } from "../engine/micro-batches.ts";
import { toolsOf, type Example, type Task, type TaskRow } from "../tasks/task.ts";
import type { LossMode } from "../text/chat.ts";
import type { TextChat } from "./text-chat.ts";

/** What making rows needs of a chat. */
export type RowChat = Pick<TextChat, "renderTrained" | "textIds" | "vocabSize">;

/** What making rows needs of a task. */
export type RowTask = Pick<Task, "name" | "tools" | "toolsFor" | "prompt" | "solution" | "example" | "preference">;

/** Which tokens are trained; null: as the row's shape suggests. */
export type RowLoss = Exclude<LossMode, "none"> | null;

/** Whether there is anything to imitate. */
export function hasSolutions({ solution, example }: Pick<Task, "solution" | "example">): boolean {
  return solution !== undefined || example !== undefined;
}

/**
 * Prompt and solution of one row, or its example. The loss of a conversation is by default that of every assistant turn,
 * that of plain text every token's, otherwise that of the answer.
 * Throws `no-solutions` for a task without them, `bad-loss-mask` when the row cannot have such a loss, `bad-row` for ids
 * that are none or beyond the vocabulary, and what `Chat.render` throws; all name the row.
 */
export function trainedRow(chat: RowChat, task: RowTask, row: TaskRow, loss: RowLoss = null): TokenRow {
  const example = task.example?.(row);
  if (example === undefined) {
    const solution = task.solution?.(row);
    if (solution === undefined) throw noSolutions(task);
    return answerTokens(chat, task, row, solution, loss);
  }
  if ("messages" in example) {
    const { messages } = example;
    return namingRow(row, () => chat.renderTrained(messages, toolsOf(task, row), loss ?? "assistant_all"));
  }
  if (loss !== null && (loss !== "all_tokens" || "tokens" in example)) throw wrongLoss(row, example, loss);
  if ("tokens" in example) return tokensRow(row, example, chat.vocabSize);
  const ids = namingRow(row, () => chat.textIds(example.text));
  return { promptIds: ids.slice(0, 1), ids: ids.slice(1), mask: new Uint8Array(Math.max(0, ids.length - 1)).fill(1) };
}

/** The row's prompt with this answer to it. By default what the model writes in the answer is in the loss, and no tool result. */
export function answerTokens(
  chat: Pick<RowChat, "renderTrained">,
  task: RowTask,
  row: TaskRow,
  answer: readonly ChatMessage[],
  loss: RowLoss = null,
): TokenRow {
  const prompt = task.prompt(row);
  const render = (mode: LossMode) =>
    namingRow(row, () => chat.renderTrained([...prompt, ...answer], toolsOf(task, row), mode, prompt.length));
  const tokens = render(loss ?? "completion");
  if (loss !== null || answer.every(({ role }) => role === "assistant")) return tokens;
  const assistant = render("assistant_all");
  const shift = tokens.promptIds.length - assistant.promptIds.length;
  return { ...tokens, mask: tokens.mask.map((m, i) => m & assistant.mask[i + shift]) };
}

function tokensRow(
  row: TaskRow,
  { tokens, loss_mask }: { tokens: number[]; loss_mask: number[] },
  vocabSize: number,
): TokenRow {
  if (tokens.length !== loss_mask.length) {
    throw new HoneError(
      "bad-row",
      `row ${row.id} has ${tokens.length} tokens and ${loss_mask.length} entries in its loss_mask`,
    );
  }
  const bad = tokens.find((id) => !Number.isInteger(id) || id < 0);
  if (bad !== undefined) throw new HoneError("bad-row", `row ${row.id}: ${bad} is no token id`);
  const beyond = tokens.find((id) => id >= vocabSize);
  if (beyond !== undefined) {
    throw new HoneError(
      "bad-row",
      `row ${row.id}: the token id ${beyond} is beyond the model's vocabulary of ${vocabSize} tokens`,
      { fix: `its ids are 0 to ${vocabSize - 1}; make the tokens with this model's own tokenizer` },
    );
  }
  const end = loss_mask.lastIndexOf(1) + 1;
  const first = loss_mask.indexOf(1);
  const begin = Math.max(1, first < 0 ? tokens.length : first);
  return {
    promptIds: Int32Array.from(tokens.slice(0, begin)),
    ids: Int32Array.from(tokens.slice(begin, end)),
    mask: Uint8Array.from(loss_mask.slice(begin, end), (m) => Number(m === 1)),
  };
}

/** Runs `make`; its error is told with the row's name in front. */
function namingRow<T>(row: TaskRow, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof HoneError)) throw error;
    const { code, message, fix } = error;
    throw new HoneError(code, `row ${row.id}: ${message}`, { cause: error, ...(fix !== undefined && { fix }) });
  }
}

function wrongLoss(row: TaskRow, example: Example, loss: string): HoneError {
  const [what, fix] =
    "tokens" in example
      ? ["consists of token ids, which bring their own loss mask", "leave loss_mask out"]
      : ["is plain text without turns", "leave loss_mask out, or set it to all_tokens"];
  return new HoneError("bad-loss-mask", `row ${row.id} ${what}, so its loss cannot be ${loss}`, { fix });
}

function noSolutions(task: RowTask): HoneError {
  return new HoneError("no-solutions", `task ${task.name} has no right answers to learn from or to compare with`, {
    fix: "use its reward instead",
  });
}
