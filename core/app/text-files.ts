/** Text files that a person edits in a window, while any other program may edit them too. */

import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import type { TextFile } from "../contract/api/task-calls.ts";
import { HoneError } from "../contract/errors.ts";
import { writeFileAtomic } from "../files/atomic.ts";
import { asUserError } from "../files/system-error.ts";

/** Bytes beyond which an editor is of no use. */
export const mostEditable = 2 * 2 ** 20;

/** Throws `no-such-file`, `not-text`, `too-large`, `file-error`. */
export function readTextFile(path: string): TextFile {
  if (!existsSync(path)) throw new HoneError("no-such-file", `there is no file ${path}`, { fix: "it may have moved" });
  const { size } = statSync(path);
  if (size > mostEditable) {
    throw new HoneError("too-large", `${path} has ${(size / 2 ** 20).toFixed(1)} MB, too much to edit here`, {
      fix: "edit it with another program, or import it as a dataset",
    });
  }
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw asUserError(error);
  }
  return { path, text: textOf(bytes, path), version: versionOf(bytes) };
}

function textOf(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new HoneError("not-text", `${path} is no text in UTF-8`, { cause: error, fix: "choose another file" });
  }
}

function versionOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}

/** `version`: of the text that was edited, null where there was no file. Throws `file-changed`, `file-error`. */
export function writeTextFile(path: string, text: string, version: string | null): TextFile {
  const found = existsSync(path) ? versionOf(readFileSync(path)) : null;
  if (found !== version) {
    throw new HoneError("file-changed", `${path} was changed or removed by another program since it was opened`, {
      fix: "read the file again, or save over it",
    });
  }
  try {
    writeFileAtomic(path, text);
  } catch (error) {
    throw asUserError(error);
  }
  return { path, text, version: versionOf(text) };
}
