/** `hone reward` as it is typed: mistakes have exit codes and a way out, results are one JSON document. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rewardCheckSchema, rewardTrialSchema } from "../../../core/contract/reward.ts";
import { hone, newHome } from "./hone.ts";

const home = newHome();
const scratch = mkdtempSync(join(tmpdir(), "hone-reward-"));
const reward = join(scratch, "reward.ts");
const rollouts = join(scratch, "rollouts.jsonl");
writeFileSync(reward, "export default ({ answer }: { answer: string }): number => answer.length;\n");
writeFileSync(rollouts, '{"prompt": "a", "completion": "bb"}\n{"prompt": "a", "completion": "c"}\n');

test("check and try print one JSON document and nothing else, no warning either", async () => {
  const checked = await hone(["reward", "check", reward, "--json"], { home });
  expect(checked).toMatchObject({ code: 0, stderr: "" });
  expect(rewardCheckSchema.parse(JSON.parse(checked.stdout)).samples[0]).toMatchObject({ completion: "4", reward: 1 });
  const tried = await hone(["reward", "try", reward, "--rollouts", rollouts, "--json"], { home });
  expect(tried).toMatchObject({ code: 0, stderr: "" });
  expect(rewardTrialSchema.parse(JSON.parse(tried.stdout))).toMatchObject({ samples: 2, total: { mean: 1.5 } });
});

test.each<[string[], number, string]>([
  [["reward", "try", reward], 2, "there is nothing to try the reward on"],
  [["reward", "try", reward, "--run", "x", "--rollouts", "y"], 2, "--run and --rollouts contradict each other"],
  [["reward", "try", reward, "--run", "x"], 1, 'there is no run "x"'],
  [["reward", "check", "nowhere.ts"], 1, "hone reward new --out FILE"],
  [["reward", "new", "--out", reward], 1, "exists already"],
])("hone %s", async (args, code, words) => {
  const run = await hone(args, { home });
  expect(run.stdout).toBe("");
  expect(run.stderr).toContain(words);
  expect(run.code).toBe(code);
});
