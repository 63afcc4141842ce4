/** Folders with the files that a test needs. */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Action } from "../../../../core/tasks/task.ts";
import type { ParsedAssistant } from "../../../../core/text/parse-assistant.ts";

/** Writes files below a new folder; what is no text is written as JSON, lists as JSON Lines. */
export function folderWith(files: Record<string, unknown>): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-task-"));
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    const text = Array.isArray(content)
      ? content.map((row) => JSON.stringify(row) + "\n").join("")
      : typeof content === "string"
        ? content
        : JSON.stringify(content);
    writeFileSync(path, text);
  }
  return folder;
}

/** An answer as a policy would give it. */
export function answer(
  text: string,
  parsed: Partial<ParsedAssistant> = {},
  stopReason: Action["stopReason"] = "eos",
): Action {
  return { text, stopReason, parsed: { content: text, reasoning: "", tool_calls: [], problems: [], ...parsed } };
}
