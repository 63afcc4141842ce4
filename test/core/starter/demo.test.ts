/** The closed loop on the committed starter, shortened: both published curves, on boards it has never seen. */

import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { demoOutputSchema } from "../../../core/contract/cli-json.ts";
import { hone, newHome } from "../cli/hone.ts";

test("the starter plays badly, and 60 steps of GSPO teach it", { timeout: 300_000 }, async () => {
  const out = join(mkdtempSync(join(tmpdir(), "hone-demo-")), "run");
  const run = await hone(["demo", "--steps", "60", "--games", "20", "--seed", "1", "--out", out, "--json"], {
    home: newHome(),
  });
  expect(run.code, run.stderr).toBe(0);
  const { before, after, report } = demoOutputSchema.parse(JSON.parse(run.stdout));
  expect(before.reward!.mean).toBeGreaterThan(-0.65);
  expect(before.reward!.mean).toBeLessThan(-0.35);
  expect(after.reward!.mean).toBeGreaterThan(0.6);
  expect(after.legal_rate?.mean).toBeGreaterThan(0.93);
  expect(after.response_length.mean).toBeLessThan(before.response_length.mean / 2);
  expect(existsSync(report)).toBe(true);
});
