/** The files of a task folder, as an editor reads and writes them. */

import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, extname, join, relative, resolve, sep } from "node:path";
import type { FileEntry, TextFile } from "../../contract/api/task-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { taskFileName } from "../../contract/task.ts";
import { mostEditable, readTextFile, writeTextFile } from "../text-files.ts";

const textEndings = new Set([
  ".json",
  ".jsonl",
  ".ndjson",
  ".ts",
  ".mts",
  ".js",
  ".mjs",
  ".py",
  ".md",
  ".txt",
  ".csv",
  ".tsv",
]);
/** Beyond these a folder is something else than a task. */
const mostFiles = 500;

/** `task.json` first, then by name. */
export function listTaskFiles(folder: string): FileEntry[] {
  const found: FileEntry[] = [];
  const look = (inside: string) => {
    for (const entry of readdirSync(inside, { withFileTypes: true })) {
      if (entry.name.startsWith(".") || found.length >= mostFiles) continue;
      const path = join(inside, entry.name);
      if (entry.isDirectory()) look(path);
      else if (entry.isFile()) {
        const { size } = statSync(path);
        const editable = size <= mostEditable && textEndings.has(extname(entry.name).toLowerCase());
        found.push({ name: relative(folder, path).split(sep).join("/"), size, editable });
      }
    }
  };
  look(folder);
  const rank = ({ name }: FileEntry) => (name === taskFileName ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

export function readTaskText(folder: string, file: string): TextFile {
  return readTextFile(within(folder, file));
}

export function writeTaskText(folder: string, file: string, text: string, version: string | null): TextFile {
  const path = within(folder, file);
  if (!textEndings.has(extname(file).toLowerCase())) {
    throw new HoneError("bad-name", `${file} would be no text file`, { fix: `use ${[...textEndings].join(", ")}` });
  }
  mkdirSync(dirname(path), { recursive: true });
  return writeTextFile(path, text, version);
}

export function deleteTaskFile(folder: string, file: string): void {
  if (file === taskFileName) {
    throw new HoneError("read-only", "without task.json the folder is no task", { fix: "delete the whole task" });
  }
  const path = within(folder, file);
  if (existsSync(path)) rmSync(path);
}

/** A path that stays in the folder. */
function within(folder: string, file: string): string {
  const path = resolve(folder, file);
  if (path.startsWith(resolve(folder) + sep) && !file.split(/[/\\]/).some((part) => part.startsWith("."))) return path;
  throw new HoneError("bad-name", `${file} is not a file of this task`, { fix: "give a name within its folder" });
}
