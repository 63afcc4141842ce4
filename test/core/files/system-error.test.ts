import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HoneError } from "../../../core/contract/errors.ts";
import { asUserError, fileReason, requireWritable } from "../../../core/files/system-error.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-system-"));

function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

test("what the file system refuses is the user's to mend, with the path and the reason", () => {
  const path = join(folder, "nothing");
  const error = asUserError(thrown(() => readFileSync(path)));
  expect(error).toBeInstanceOf(HoneError);
  expect(error).toMatchObject({ code: "file-error", message: `${path}: there is no such file or folder` });
  expect(asUserError(thrown(() => readFileSync(folder)))).toMatchObject({ message: /it is a folder/ });
});

test("any other error stays as it is", () => {
  const bug = new TypeError("x is not a function");
  expect(asUserError(bug)).toBe(bug);
  expect(fileReason(Object.assign(new Error("made up"), { code: "ENOENT" }))).toBeUndefined();
});

test("a place is asked whether it can be written before long work begins", () => {
  requireWritable(join(folder, "a", "b"), "choose another place");
  const file = join(folder, "file");
  writeFileSync(file, "");
  requireWritable(file, "choose another place");
  expect(() => requireWritable(join(file, "run"), "choose another place")).toThrow(
    `cannot write to ${file}: it is a file, not a folder`,
  );
  expect(thrown(() => requireWritable(join(file, "run"), "choose another place"))).toMatchObject({
    code: "not-writable",
    fix: "choose another place",
  });
});
