/** Rows to imitate and pairs to choose between as tokens: made and checked once, before training begins. */

import { HoneError } from "../../contract/errors.ts";
import type { RunConfig } from "../../contract/config.ts";
import { hasSameIds, type TokenRow } from "../../engine/micro-batches.ts";
import { preferenceTokens, type TokenPair } from "../../evaluate/preference-accuracy.ts";
import type { Chat } from "../../evaluate/policy.ts";
import { trainedRow, type RowChat } from "../../evaluate/trained-row.ts";
import type { Task, TaskRow } from "../../tasks/task.ts";

/** What training draws from, and why other rows are not in it: a count by reason. */
export interface Examples<Item> {
  items: Item[];
  skipped: Record<string, number>;
}

export interface ExampleOptions {
  config: Pick<RunConfig, "loss_mask" | "overlong_rows">;
  /** Tokens of a row at most. */
  maxLength: number;
  signal: AbortSignal;
}

/** What making rows needs of a chat. */
export type ExampleChat = RowChat & Pick<Chat, "stopIds">;

/** Rows rendered before the event loop gets its turn. */
const chunk = 64;

/**
 * The rows that SFT learns from, in the order of the task's. Skipped are those that are too long, unless they are to be
 * cut, and those without a trained token. Throws `no-rows` when none is left, `no-end-of-turn` when a row's last trained
 * token does not end the turn, and whatever the chat template says of a row.
 */
export async function sftExamples(
  task: Task,
  rows: readonly TaskRow[],
  chat: ExampleChat,
  options: ExampleOptions,
): Promise<Examples<TokenRow>> {
  const { config, maxLength } = options;
  const found: Examples<TokenRow> = { items: [], skipped: { too_long: 0, no_trained_token: 0 } };
  let shortest = Infinity;
  await each(rows, options.signal, (row) => {
    const tokens = trainedRow(chat, task, row, config.loss_mask);
    if (isTrained(tokens)) requireEnd(task, row, tokens, chat, config.loss_mask);
    const item = fit(tokens, maxLength, config.overlong_rows);
    if (item === undefined) found.skipped["too_long"] += 1;
    else if (!isTrained(item)) found.skipped["no_trained_token"] += 1;
    else found.items.push(item);
    shortest = Math.min(shortest, lengthOf(tokens));
  });
  return requireSome(task, found, { maxLength, shortest });
}

/** The pairs that DPO learns from. Skipped are those that are too long, and those without two different answers. */
export async function dpoExamples(
  task: Task,
  rows: readonly TaskRow[],
  chat: ExampleChat,
  options: ExampleOptions,
): Promise<Examples<TokenPair>> {
  const { config, maxLength } = options;
  const found: Examples<TokenPair> = { items: [], skipped: { too_long: 0, equal_answers: 0 } };
  let shortest = Infinity;
  await each(rows, options.signal, (row) => {
    const pair = preferenceTokens(chat, task, row);
    const chosen = fit(pair.chosen, maxLength, config.overlong_rows);
    const rejected = fit(pair.rejected, maxLength, config.overlong_rows);
    if (chosen === undefined || rejected === undefined) found.skipped["too_long"] += 1;
    else if (!isTrained(chosen) || !isTrained(rejected) || hasSameIds(chosen.ids, rejected.ids))
      found.skipped["equal_answers"] += 1;
    else found.items.push({ chosen, rejected });
    shortest = Math.min(shortest, Math.max(lengthOf(pair.chosen), lengthOf(pair.rejected)));
  });
  return requireSome(task, found, { maxLength, shortest });
}

async function each(rows: readonly TaskRow[], signal: AbortSignal, work: (row: TaskRow) => void): Promise<void> {
  for (const [i, row] of rows.entries()) {
    if (i % chunk === 0) {
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
    }
    work(row);
  }
}

function isTrained({ mask }: TokenRow): boolean {
  return mask.includes(1);
}

/** The row within the limit; undefined when it is to be skipped. */
function fit(row: TokenRow, maxLength: number, overlong: RunConfig["overlong_rows"]): TokenRow | undefined {
  const room = maxLength - row.promptIds.length;
  if (row.ids.length <= room) return row;
  if (overlong === "skip" || room < 1) return undefined;
  return { promptIds: row.promptIds, ids: row.ids.slice(0, room), mask: row.mask.slice(0, room) };
}

/** A model that never learns to end its turn would talk on for ever. */
function requireEnd(
  task: Task,
  row: TaskRow,
  { ids, mask }: TokenRow,
  chat: ExampleChat,
  loss: RunConfig["loss_mask"],
): void {
  const example = task.example?.(row);
  const isChat = example === undefined || "messages" in example;
  if (!isChat || loss === "all_tokens" || chat.stopIds.includes(ids[mask.lastIndexOf(1)])) return;
  throw new HoneError("no-end-of-turn", `row ${row.id}: its last trained token does not end the model's turn`, {
    fix: "a model trained with it would never stop; end the row with an answer, or choose another chat template",
  });
}

function lengthOf({ promptIds, ids }: TokenRow): number {
  return promptIds.length + ids.length;
}

function requireSome<Item>(
  task: Task,
  found: Examples<Item>,
  { maxLength, shortest }: { maxLength: number; shortest: number },
): Examples<Item> {
  if (found.items.length > 0) return found;
  const why = Object.entries(found.skipped).filter(([, count]) => count > 0);
  const reasons = why.map(([reason, count]) => `${count} ${skipReasons[reason]}`).join(", ");
  throw new HoneError("no-rows", `no training row of ${task.name} is left: ${reasons || "it has none"}`, {
    fix:
      (found.skipped["too_long"] ?? 0) > 0
        ? `the shortest row has ${shortest} tokens: raise max_length (now ${maxLength}), or use a model with a longer context`
        : "look at the data",
  });
}

/** In words, after a number. */
export const skipReasons: Record<string, string> = {
  too_long: "longer than max_length",
  no_trained_token: "without a token to train",
  equal_answers: "with equal or empty answers",
};
