import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lockFolder } from "../../../core/files/lock.ts";

const lock = (owner: object) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-lock-"));
  writeFileSync(join(folder, "run.lock"), JSON.stringify(owner));
  return folder;
};

test("a folder is taken and given back", () => {
  const folder = mkdtempSync(join(tmpdir(), "hone-lock-"));
  const release = lockFolder(folder);
  expect(JSON.parse(readFileSync(join(folder, "run.lock"), "utf8"))).toMatchObject({ pid: process.pid });
  lockFolder(folder);
  release();
  expect(existsSync(join(folder, "run.lock"))).toBe(false);
});

test("a living process, or one on another machine, keeps it", () => {
  for (const owner of [
    { pid: process.ppid, host: hostname(), began: null },
    { pid: 1, host: "elsewhere", began: null },
  ]) {
    expect(() => lockFolder(lock(owner))).toThrow(expect.objectContaining({ code: "run-busy" }));
  }
});

test("a lock of a process that is gone is taken over, also when its number or its text is not what it was", () => {
  lockFolder(lock({ pid: 2 ** 22 + 1, host: hostname(), began: null }));
  const torn = mkdtempSync(join(tmpdir(), "hone-lock-"));
  writeFileSync(join(torn, "run.lock"), '{"pid": 1');
  lockFolder(torn);
});

test.skipIf(!existsSync("/proc/self/stat"))("another process with the same number is not the owner", () => {
  lockFolder(lock({ pid: process.ppid, host: hostname(), began: "1" }));
});
