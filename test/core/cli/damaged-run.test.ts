/** A run folder that somebody damaged: every command names the file, and none calls it a defect of Hone. */

import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { tinyModel } from "../train/tiny-model.ts";
import { hone, newHome } from "./hone.ts";

const home = newHome();
const scratch = mkdtempSync(join(tmpdir(), "hone-damaged-"));
const whole = join(scratch, "whole");

beforeAll(async () => {
  const { code, stderr } = await hone(
    [
      ...["train", "--model", await tinyModel(), "--task", "tic-tac-toe", "--finetuning-type", "full"],
      ...["--max-steps", "2", "--prompts-per-step", "2", "--num-generations", "2", "--max-completion-length", "32"],
      ...["--eval-size", "8", "--save-steps", "1", "--output-dir", whole],
    ],
    { home },
  );
  expect(code, stderr).toBe(0);
});

let copies = 0;

/** A copy of the run with one file replaced, or one folder taken away. */
function damaged(file: string, content?: string): string {
  const copy = join(scratch, `run ${copies++}`);
  cpSync(whole, copy, { recursive: true });
  if (content === undefined) rmSync(join(copy, file), { recursive: true });
  else writeFileSync(join(copy, file), content);
  return copy;
}

test.each<[string, string, (run: string) => string[], RegExp]>([
  ["config.json", "{", (run) => ["show", run], /config\.json is not JSON/],
  ["config.json", "null", (run) => ["show", run], /config\.json: record: /],
  ["config.json", "null", (run) => ["resume", run], /config\.json: record: /],
  ["config.json", "{}", (run) => ["eval", "--model", run, "--task", "tic-tac-toe"], /config\.json: record: /],
  ["metrics.jsonl", "x\n", (run) => ["show", run], /metrics\.jsonl, line 1 is not JSON/],
  ["logs/events.jsonl", "{}\n", (run) => ["show", run], /events\.jsonl, row 1: /],
  ["checkpoints.jsonl", "[]\n", (run) => ["show", run], /checkpoints\.jsonl, row 1: /],
  ["rollouts/step_1.jsonl", "{}\n", (run) => ["show", run, "--step", "1"], /step_1\.jsonl, row 1: step/],
  ["eval/0-held-out.json", "{}", (run) => ["show", run, "--board", "x"], /0-held-out\.json: report/],
])("%s: %j", async (file, content, command, message) => {
  const { code, stdout, stderr } = await hone(command(damaged(file, content)), { home });
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/defect|\n\s+at /);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
});

test("without its evaluations a run has no boards to show", async () => {
  const { code, stderr } = await hone(["show", damaged("eval"), "--board", "x"], { home });
  expect(stderr).toMatch(/has a board x/);
  expect(code).toBe(1);
});

test("what a run needs to go on may be lost but for its checkpoints", async () => {
  const run = damaged("logs");
  for (const folder of ["eval", "rollouts"]) rmSync(join(run, folder), { recursive: true });
  writeFileSync(join(run, "checkpoints", "checkpoint-2", "trainer_state.json"), "{");
  const { code, stderr } = await hone(["resume", run, "--max-steps", "3"], { home });
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(/going on after step 1; 1 step after the last checkpoint is done again/);
  expect(readdirSync(join(run, "checkpoints")).sort()).toEqual(["checkpoint-1", "checkpoint-2", "checkpoint-3"]);
});

test("a finished run says what can be done with it", async () => {
  const finished = await hone(["resume", whole], { home });
  expect(finished.code).toBe(1);
  expect(finished.stderr).toContain("the run whole is finished: it has done all its 2 steps");
  expect(finished.stderr).toContain(`\`hone resume ${whole} --max-steps 4\``);
  const fewer = await hone(["resume", whole, "--max-steps", "1"], { home, fromNpm: true });
  expect(fewer.stderr).toContain("the run whole has done 2 steps already, so it cannot end at 1");
  expect(fewer.stderr).toContain(`\`npm run -s hone -- resume ${whole} --max-steps 4\``);
});
