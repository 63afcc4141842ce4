import { mkdirSync, mkdtempSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { findRun, honeHome, listRuns, newRunName, requireRun, runsFolder } from "../../../core/store/library.ts";

beforeEach(() => {
  vi.stubEnv("HONE_HOME", mkdtempSync(join(tmpdir(), "hone-library-")));
});
afterEach(() => {
  vi.unstubAllEnvs();
});

function makeRun(folder: string): string {
  mkdirSync(join(folder, "checkpoints"), { recursive: true });
  writeFileSync(join(folder, "config.json"), "{}");
  utimesSync(join(folder, "config.json"), 1, 1);
  return folder;
}

test("the library is where HONE_HOME says, and may not exist yet", () => {
  expect(runsFolder()).toBe(join(honeHome(), "runs"));
  expect(listRuns()).toEqual([]);
});

test("a run is found by name and by path; other folders are no runs", () => {
  const run = makeRun(join(runsFolder(), "first"));
  mkdirSync(join(runsFolder(), "not-a-run"));
  expect(listRuns()).toEqual(["first"]);
  expect(findRun("first")).toBe(run);
  expect(findRun(run)).toBe(run);
  expect(findRun("not-a-run")).toBeUndefined();
  expect(findRun("")).toBeUndefined();
  expect(findRun("../runs/first")).toBeUndefined();
});

test("an unknown run is refused with the nearest name", () => {
  makeRun(join(runsFolder(), "tic-tac-toe-gspo-starter-001"));
  expect(() => requireRun("tic-tac-toe-gspo-starter-002")).toThrow(
    expect.objectContaining({ code: "no-such-run", fix: expect.stringContaining("tic-tac-toe-gspo-starter-001") }),
  );
  expect(() => requireRun("xyz")).toThrow(expect.objectContaining({ fix: "`hone ls` lists the runs" }));
});

test("new names are free, and safe as folder names", () => {
  const name = newRunName(["tic-tac-toe", "gspo", "my model/v2"]);
  expect(name).toBe("tic-tac-toe-gspo-my-model-v2-001");
  makeRun(join(runsFolder(), name));
  expect(newRunName(["tic-tac-toe", "gspo", "my model/v2"])).toBe("tic-tac-toe-gspo-my-model-v2-002");
});
