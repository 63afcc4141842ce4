/**
 * Train, validation and held-out parts, by symmetry class: a board's mirror image in training would make its test a test
 * of memory.
 */

import { defaultSplitSeed, type Split } from "../../contract/eval.ts";
import { Random, type Seed } from "../../contract/random.ts";
import { plies, winningSquares, type Board } from "./board.ts";
import { allBoards } from "./boards.ts";
import { canonicalBoard } from "./symmetry.ts";

/** Share of each stratum, rounded, that is held out, and that is kept for choosing checkpoints. */
const heldOutShare = 0.2;
const validationShare = 0.1;

/** The 304 classes by their canonical boards, sorted by byte value. */
export function allClasses(): Board[] {
  return [...new Set(allBoards().map(canonicalBoard))].sort();
}

/** Classes of equal plies and equal answer to "can X win at once?" are dealt to the parts together. */
export function stratum(board: Board): string {
  return `${plies(board)}-${winningSquares(board, "X").length > 0 ? "win" : "no-win"}`;
}

/** Class ids of every part. The empty board is always in training. */
export function splitClasses(seed: Seed = defaultSplitSeed): Record<Split, Board[]> {
  const parts: Record<Split, Board[]> = { train: [], validation: [], "held-out": [] };
  for (const [name, classes] of Map.groupBy(allClasses(), stratum)) {
    const shuffled = new Random(seed).split("tic-tac-toe split", name).shuffle(classes);
    const heldOut = classes.length === 1 ? 0 : Math.round(heldOutShare * classes.length);
    const validation = classes.length === 1 ? 0 : Math.round(validationShare * classes.length);
    parts["held-out"].push(...shuffled.slice(0, heldOut));
    parts.validation.push(...shuffled.slice(heldOut, heldOut + validation));
    parts.train.push(...shuffled.slice(heldOut + validation));
  }
  for (const classes of Object.values(parts)) classes.sort();
  return parts;
}

/** All boards of a part's classes, sorted by byte value. */
export function splitBoards(split: Split, seed: Seed = defaultSplitSeed): Board[] {
  const classes = new Set(splitClasses(seed)[split]);
  return allBoards().filter((board) => classes.has(canonicalBoard(board)));
}
