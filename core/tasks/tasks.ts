/** The built-in tasks. A new one is added here. */

import { HoneError } from "../contract/errors.ts";
import { businessProcess } from "./business-process/business-process.ts";
import { extraction } from "./extraction/extraction.ts";
import { instructionFollowing } from "./instructions/instructions.ts";
import type { Task } from "./task.ts";
import { ticTacToe } from "./tic-tac-toe/tic-tac-toe.ts";
import { toolCallRepair } from "./tool-call-repair/tool-call-repair.ts";
import { writingFormat } from "./writing-format/writing-format.ts";

export const tasks: readonly Task[] = [
  businessProcess,
  extraction,
  instructionFollowing,
  ticTacToe,
  toolCallRepair,
  writingFormat,
];

/** Throws `HoneError` `unknown-task` with the known names. */
export function findTask(name: string): Task {
  const task = tasks.find((candidate) => candidate.name === name);
  if (task !== undefined) return task;
  throw new HoneError("unknown-task", `there is no task "${name}"`, {
    fix: `known tasks: ${tasks.map((known) => known.name).join(", ")}`,
  });
}
