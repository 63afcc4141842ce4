/** The rewards in Hone's folder, each a file with its history, and the examples that come with Hone. */

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import type { ListedReward, RewardKind, RewardVersion } from "../../contract/api/reward-calls.ts";
import type { TextFile } from "../../contract/api/task-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { asUserError } from "../../files/system-error.ts";
import { honeHome } from "../../store/library.ts";
import { readTextFile, writeTextFile } from "../text-files.ts";
import { newReward } from "./check-reward.ts";

const endings: Readonly<Record<string, RewardKind>> = {
  ".json": "parts",
  ".ts": "script",
  ".mts": "script",
  ".js": "script",
  ".mjs": "script",
  ".py": "program",
};
const endingOf: Readonly<Record<RewardKind, string>> = { parts: ".json", script: ".ts", program: ".py" };

const examplesFolder = join(import.meta.dirname, "..", "..", "..", "examples", "rewards");
const exampleFiles = ["reward.json", "reward.ts", "reward.py"];
/** Versions that are kept of a reward. */
const keptVersions = 100;

export function rewardsFolder(): string {
  return join(honeHome(), "rewards");
}

/** Throws `bad-reward-file` for an ending that no reward has. */
export function rewardKind(path: string): RewardKind {
  const kind = endings[extname(path).toLowerCase()];
  if (kind !== undefined) return kind;
  throw new HoneError("bad-reward-file", `${path}: a reward is a .json, .ts, .js or .py file`, {
    fix: "choose another file",
  });
}

/** Those of the library by name, then the examples. */
export function listRewards(): ListedReward[] {
  const folder = rewardsFolder();
  const own = existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isFile() && !entry.name.startsWith(".") && extname(entry.name) in endings)
        .map(({ name }) => listed(join(folder, name), false))
    : [];
  return [
    ...own.sort((a, b) => a.name.localeCompare(b.name)),
    ...exampleFiles.map((name) => listed(join(examplesFolder, name), true)),
  ];
}

function listed(path: string, example: boolean): ListedReward {
  const kind = rewardKind(path);
  const about = { name: basename(path), path, kind, modified: statSync(path).mtimeMs, example };
  try {
    return { ...about, parts: kind === "parts" ? partsOf(readFileSync(path, "utf8")) : [], problem: null };
  } catch (error) {
    return { ...about, parts: [], problem: error instanceof Error ? error.message : String(error) };
  }
}

function partsOf(text: string): ListedReward["parts"] {
  const content = JSON.parse(text.replace(/^\uFEFF/, "")) as {
    parts?: { type?: string; name?: string; weight?: number }[];
  };
  if (!Array.isArray(content.parts)) throw new HoneError("bad-reward-file", 'it has no list "parts"');
  return content.parts.map(({ type = "", name = type, weight = 1 }) => ({ name, weight }));
}

export function isExample(path: string): boolean {
  return dirname(resolve(path)) === resolve(examplesFolder);
}

/** Throws `bad-name`, `file-exists`. */
export function createReward(name: string, kind: RewardKind, text: string | null): TextFile {
  const path = pathFor(name, endingOf[kind]);
  mkdirSync(rewardsFolder(), { recursive: true });
  if (text !== null) return writeTextFile(path, text, null);
  newReward(path);
  return readTextFile(path);
}

function pathFor(name: string, ending: string): string {
  const stem = name.trim().toLowerCase().endsWith(ending) ? name.trim().slice(0, -ending.length) : name.trim();
  if (!/^[\p{L}\p{N}][\p{L}\p{N} _-]{0,79}$/u.test(stem)) {
    throw new HoneError("bad-name", `${JSON.stringify(name)} cannot be a reward's name`, {
      fix: "use letters, digits, spaces, - and _, up to 80 of them",
    });
  }
  const path = join(rewardsFolder(), `${stem}${ending}`);
  if (!existsSync(path)) return path;
  throw new HoneError("file-exists", `there is a reward ${basename(path)} already`, { fix: "choose another name" });
}

/** What stood there before goes into the history. Throws `read-only` for an example, and as `writeTextFile`. */
export function saveReward(path: string, text: string, version: string): TextFile & { history: RewardVersion[] } {
  if (isExample(path)) {
    throw new HoneError("read-only", `${basename(path)} comes with Hone and is not changed`, {
      fix: "save it under a name of your own",
    });
  }
  const before = existsSync(path) ? readTextFile(path) : undefined;
  const saved = writeTextFile(path, text, version);
  if (before !== undefined && before.version !== saved.version) keep(path, before.text);
  return { ...saved, history: rewardHistory(path) };
}

function historyFolder(path: string): string {
  return join(dirname(path), ".history", basename(path));
}

function keep(path: string, text: string): void {
  const folder = historyFolder(path);
  mkdirSync(folder, { recursive: true });
  let at = Date.now();
  while (existsSync(join(folder, String(at)))) at += 1;
  writeFileSync(join(folder, String(at)), text);
  const old = rewardHistory(path).slice(keptVersions);
  for (const { id } of old) rmSync(join(folder, id), { force: true });
}

/** Newest first. */
export function rewardHistory(path: string): RewardVersion[] {
  const folder = historyFolder(path);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((id) => /^\d+$/.test(id))
    .map((id) => ({ id, saved: Number(id), size: statSync(join(folder, id)).size }))
    .sort((a, b) => b.saved - a.saved);
}

export function rewardVersion(path: string, id: string): string {
  const known = rewardHistory(path).some((version) => version.id === id);
  if (known) return readTextFile(join(historyFolder(path), id)).text;
  throw new HoneError("no-such-version", `${basename(path)} has no such earlier version`, {
    fix: "choose another one",
  });
}

export function renameReward(path: string, name: string): TextFile {
  requireOwn(path);
  const target = pathFor(name, extname(path));
  try {
    renameSync(path, target);
    if (existsSync(historyFolder(path))) renameSync(historyFolder(path), historyFolder(target));
  } catch (error) {
    throw asUserError(error);
  }
  return readTextFile(target);
}

/** The last text stays in the history, where a reward that is made anew under the name finds it. */
export function deleteReward(path: string): void {
  requireOwn(path);
  const folder = historyFolder(path);
  mkdirSync(folder, { recursive: true });
  copyFileSync(path, join(folder, String(Date.now())));
  rmSync(path);
}

/** Only what is in the library is renamed or deleted. */
function requireOwn(path: string): void {
  if (!existsSync(path))
    throw new HoneError("no-such-file", `there is no reward file ${path}`, { fix: "it may have moved" });
  if (dirname(resolve(path)) === resolve(rewardsFolder())) return;
  throw new HoneError("read-only", `${path} is not in Hone's folder of rewards`, {
    fix: "change it where it is, with another program",
  });
}
