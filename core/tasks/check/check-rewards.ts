/** What a task's reward does with answers that were never a model's: can every level be reached, and by whom? */

import { HoneError } from "../../contract/errors.ts";
import { Random } from "../../contract/random.ts";
import type { Severity } from "../../contract/task.ts";
import { plural, formatDecimal } from "../../contract/units.ts";
import { mean } from "../../contract/numbers.ts";
import type { Task, TaskRow } from "../task.ts";
import { playAnswer, probeAnswers, type AnswerKind, type PlayedAnswer } from "./probe-answers.ts";

export type Find = (severity: Severity, code: string, message: string, fix: string) => void;

export function range(values: readonly number[]): { least: number | null; greatest: number | null } {
  if (values.length === 0) return { least: null, greatest: null };
  return { least: Math.min(...values), greatest: Math.max(...values) };
}

interface Play {
  row: TaskRow;
  kind: AnswerKind;
  name: string;
  played: PlayedAnswer;
}

class Tried {
  readonly plays: Play[] = [];

  mean(kind: AnswerKind): number | undefined {
    const rewards = this.of(kind);
    return rewards.length === 0 ? undefined : mean(rewards);
  }

  of(kind: AnswerKind): number[] {
    return this.plays.filter((play) => play.kind === kind).map(({ played }) => played.score.reward);
  }
}

/** Plays every probe on every row, the first row's twice: the same seed must give the same end. */
export async function tryAnswers(
  task: Task,
  rows: readonly TaskRow[],
  signal: AbortSignal | undefined,
  find: Find,
): Promise<Tried> {
  const tried = new Tried();
  const random = new Random("check task");
  for (const [i, row] of rows.entries()) {
    signal?.throwIfAborted();
    const other =
      rows.find((one) => task.problem(one) !== task.problem(row) && one !== row && rows.indexOf(one) > i) ?? rows[0];
    try {
      for (const { kind, name, actions } of probeAnswers(task, row, other === row ? undefined : other, random)) {
        const played = await playAnswer(task, row, actions, i);
        tried.plays.push({ row, kind, name, played });
        if (!Number.isFinite(played.score.reward)) {
          find(
            "error",
            "reward-not-finite",
            `${name} to row ${row.id} earns ${played.score.reward}`,
            "a reward must be a finite number",
          );
        }
        if (i < 3) {
          const again = await playAnswer(task, row, actions, i);
          if (JSON.stringify(again) !== JSON.stringify(played)) {
            find(
              "error",
              "not-repeatable",
              `${name} to row ${row.id}, played twice with the same seed, ended differently`,
              "let every random choice follow from the seed, and keep clocks and services out",
            );
            return tried;
          }
        }
      }
    } catch (error) {
      if (!(error instanceof HoneError)) throw error;
      find(
        "error",
        "reward-fails",
        `row ${row.id}: ${error.message}`,
        error.fix ?? "mend the reward or the environment",
      );
      return tried;
    }
  }
  return tried;
}

export function checkRewards(task: Task, tried: Tried, find: Find): void {
  const { plays } = tried;
  const { least, greatest } = range(plays.map(({ played }) => played.score.reward));
  if (least === null || greatest === null) return;
  if (least === greatest) {
    find(
      "error",
      "constant-reward",
      `every answer that was tried earns ${formatDecimal(least)}: nothing can be learned from it`,
      "let the reward tell answers apart",
    );
    return;
  }
  for (const { name, weight } of task.rewardParts) {
    const values = range(plays.map(({ played }) => played.score.parts[name] ?? 0));
    if (values.least !== values.greatest || weight === 0) continue;
    find(
      "warning",
      "constant-part",
      `the part ${name} was ${formatDecimal(values.least ?? 0)} for every answer that was tried`,
      "check what it looks at, or leave it out",
    );
  }
  checkOrder(tried, { least, greatest }, find);
  checkKinds(task, plays, find);
  checkEnds(task, plays, find);
}

/** Right answers must earn most, and saying nothing must not pay. */
function checkOrder(tried: Tried, { least, greatest }: { least: number; greatest: number }, find: Find): void {
  const fix = "compare reward and solution of that row: `hone task show` draws it";
  const byRow = Map.groupBy(tried.plays, ({ row }) => row.id);
  const reward = ({ played }: Play) => played.score.reward;
  const solved = [...byRow.values()].filter((plays) => plays.some(({ kind }) => kind === "solution"));
  const beaten = solved.flatMap((plays) => {
    const right = plays.filter(({ kind }) => kind === "solution").map(reward)[0];
    const best = plays.filter(({ kind }) => kind !== "solution").toSorted((a, b) => reward(b) - reward(a))[0];
    return reward(best) > right + 1e-9 ? [{ best, right }] : [];
  });
  if (beaten.length > 0) {
    const [{ best, right }] = beaten;
    find(
      "error",
      "solution-not-best",
      `on ${beaten.length} of ${plural(solved.length, "row")} something earns more than the solution; on row ${best.row.id} ${best.name} earns ${formatDecimal(reward(best))}, the solution ${formatDecimal(right)}`,
      fix,
    );
  }
  const low = solved
    .map((plays) => plays.filter(({ kind }) => kind === "solution")[0])
    .filter((play) => reward(play) < greatest - 1e-9);
  if (beaten.length === 0 && low.length === solved.length && solved.length > 0) {
    find(
      "warning",
      "solution-low",
      `no solution earns the most that was met (${formatDecimal(greatest)}); that of row ${low[0].row.id} earns ${formatDecimal(reward(low[0]))}`,
      fix,
    );
  }
  const wrong = [...byRow.values()].flatMap((plays) => {
    const right = plays.find(({ kind }) => kind === "solution");
    const worse = plays.find(({ kind }) => kind === "rejected");
    return right !== undefined && worse !== undefined && reward(worse) >= reward(right) ? [worse] : [];
  });
  if (wrong.length > 0) {
    find(
      "warning",
      "rejected-not-worse",
      `on ${plural(wrong.length, "row")} the rejected answer earns as much as the right one, such as ${wrong[0].row.id}`,
      fix,
    );
  }
  for (const kind of ["empty", "mutated"] as const) {
    const mean = tried.mean(kind);
    const share = mean === undefined ? 0 : (mean - least) / (greatest - least);
    if (mean === undefined || share <= (kind === "empty" ? 0.5 : 0.75)) continue;
    const what = kind === "empty" ? "empty answers earn" : "wrong answers earn";
    find(
      "warning",
      `${kind}-pays`,
      `${what} ${formatDecimal(mean)} on average, of ${formatDecimal(least)} to ${formatDecimal(greatest)}`,
      "let the reward ask for more, or weigh the parts that they miss higher",
    );
  }
  const rows = [...byRow.values()];
  const flat = rows.filter((plays) => new Set(plays.map(reward)).size === 1);
  if (flat.length > rows.length / 4) {
    find(
      "warning",
      "flat-rows",
      `on ${flat.length} of ${plural(rows.length, "row")} every answer that was tried earns the same`,
      "such rows teach nothing; check what the reward compares with",
    );
  }
}

function checkKinds(task: Task, plays: readonly Play[], find: Find): void {
  const met = new Set(plays.map(({ played }) => played.score.info.failure));
  const unknown = [...met].find((kind) => kind !== undefined && !Object.hasOwn(task.failures, kind));
  if (unknown !== undefined) {
    find(
      "error",
      "unknown-failure",
      `the failure ${JSON.stringify(unknown)} is none that the task declares`,
      `declare it: kinds are ${Object.keys(task.failures).join(", ")}`,
    );
  }
  const unused = Object.keys(task.failures).filter((kind) => !met.has(kind));
  if (unused.length > 0) {
    find(
      "note",
      "unused-failures",
      `${plural(unused.length, "failure kind")} never came up: ${unused.join(", ")}`,
      "models fail in more ways than the answers that were tried; if none ever can, leave the kind out",
    );
  }
}

function checkEnds(task: Task, plays: readonly Play[], find: Find): void {
  if (task.limits.turns === 1) return;
  const solutions = plays.filter(({ kind }) => kind === "solution");
  const open = solutions.filter(({ played }) => !played.ended);
  if (open.length > 0) {
    find(
      "error",
      "solution-does-not-end",
      `the solution of row ${open[0].row.id} does not end its episode within ${plural(task.limits.turns, "turn")}`,
      "let the environment say done when the task is done, or raise limits.turns",
    );
  }
  if (!plays.some(({ played }) => played.ended)) {
    find(
      "error",
      "never-ends",
      "no episode ended by itself: the environment never says done",
      "return done: true when the task is done, and when it cannot be done any more",
    );
  } else {
    const idle = plays.filter(({ kind }) => kind === "empty");
    if (idle.length > 0 && idle.every(({ played }) => !played.ended)) {
      find(
        "note",
        "idle-goes-on",
        `an answer without a call does not end the episode: a model that only talks uses all ${plural(task.limits.turns, "turn")}`,
        "end the episode on an answer without a call, if that can be no step of the task",
      );
    }
  }
}
