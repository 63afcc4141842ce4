/** What the reward lab scores: stored rollouts, a file, answers written by hand; read once while they stay the same. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { LabSource, LabSources } from "../../contract/api/reward-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { honeHome, listRuns, requireRun } from "../../store/library.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";
import { rolloutsOfFile, rolloutsOfLines, rolloutsOfRun, type StoredRollouts } from "../data/stored-rollouts.ts";

export interface LabRollouts extends StoredRollouts {
  /** Same key, same rollouts. */
  key: string;
  /** Before some were left out. */
  available: number;
}

/** The source that was read last, and what says that it is still the same. */
let latest: { key: string; rollouts: StoredRollouts } | undefined;

/** At most `limit` rollouts: whole groups, evenly over the steps. Throws as reading them does. */
export async function labRollouts(source: LabSource, limit: number): Promise<LabRollouts> {
  const key = keyOf(source);
  if (latest?.key !== key) latest = { key, rollouts: await readSource(source) };
  const { rollouts } = latest;
  return {
    ...rollouts,
    rollouts: wholeGroups(rollouts.rollouts, limit),
    key: `${key} ${limit}`,
    available: rollouts.rollouts.length,
  };
}

function keyOf(source: LabSource): string {
  const said = JSON.stringify(source);
  if (source.kind === "hand") return said;
  const path = source.kind === "file" ? source.path : join(requireRun(source.run), "rollouts");
  const found = statSync(path, { throwIfNoEntry: false });
  return `${said} ${found?.mtimeMs ?? ""} ${found?.size ?? ""}`;
}

async function readSource(source: LabSource): Promise<StoredRollouts> {
  switch (source.kind) {
    case "run":
      return rolloutsOfRun(source.run, source.step ?? "all");
    case "file":
      return rolloutsOfFile(source.path);
    case "hand":
      return {
        source: "your own answers",
        rollouts: rolloutsOfLines(
          source.samples.map(({ prompt, completion, row }) => ({
            prompt,
            completion,
            row,
            step: 0,
            reward_parts: {},
            tools: [],
          })),
        ),
        notes: [],
      };
  }
}

/** Groups are taken whole, since what a group teaches is the difference between its answers. */
function wholeGroups(rollouts: StoredRollouts["rollouts"], limit: number): StoredRollouts["rollouts"] {
  if (rollouts.length <= limit) return rollouts;
  const groups = [...Map.groupBy(rollouts, ({ step, sample }) => `${step} ${sample.prompt_index}`).values()];
  const wanted = Math.max(1, Math.floor((limit * groups.length) / rollouts.length));
  return Array.from({ length: wanted }, (_, i) => groups[Math.floor((i * groups.length) / wanted)]).flat();
}

/** Where answers that were drawn for the lab are kept. */
export function drawnFolder(): string {
  return join(honeHome(), "rewards", "samples");
}

export function newDrawnFile(name: string): string {
  mkdirSync(drawnFolder(), { recursive: true });
  for (let number = 1; ; number++) {
    const path = join(drawnFolder(), `${name.replaceAll(/[^\w.-]+/g, "-")}-${String(number).padStart(3, "0")}.jsonl`);
    if (!existsSync(path)) return path;
  }
}

export function deleteDrawn(path: string): void {
  if (dirname(resolve(path)) !== resolve(drawnFolder())) {
    throw new HoneError("read-only", `${path} was not drawn by the reward lab`, { fix: "delete it where it is" });
  }
  rmSync(path, { force: true });
}

export function labSources(): LabSources {
  const runs = listRuns().flatMap((run) => {
    const folder = RunFolder.open(requireRun(run));
    const steps = folder.rolloutSteps();
    return steps.length === 0 ? [] : [{ run, task: taskOf(folder), steps }];
  });
  const folder = drawnFolder();
  const drawn = (existsSync(folder) ? readdirSync(folder) : [])
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => {
      const path = join(folder, name);
      const samples = readFileSync(path, "utf8").split("\n").length - 1;
      return { name: basename(name, ".jsonl"), path, samples, created: statSync(path).mtimeMs };
    })
    .sort((a, b) => b.created - a.created);
  return { runs, drawn };
}

/** A run whose configuration cannot be read still has its answers. */
function taskOf(folder: RunFolder): string {
  try {
    return folder.readConfig().config.task;
  } catch (error) {
    if (error instanceof HoneError) return "";
    throw error;
  }
}
