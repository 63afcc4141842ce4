/** The built-in tasks. A new one is added here. */

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

export function isBuiltIn(name: string): boolean {
  return tasks.some((task) => task.name === name);
}
