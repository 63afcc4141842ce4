/** What a run inherits that goes on from another one. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunConfigInput } from "../../../core/contract/config.ts";
import { resolveConfig } from "../../../core/contract/resolve-config.ts";
import { originOf } from "../../../core/train/model-ref.ts";
import { RunFolder } from "../../../core/train/run-folder/run-folder.ts";

const record = {
  hone_version: "0.0.0",
  engine_version: "0",
  created: new Date(0).toISOString(),
  command: [],
  model: { path: "", architecture: "llama", parameters: 1, trainable_parameters: 1, sha256: "" },
  data: { task: "tic-tac-toe", split_seed: 1, train: 1, validation: 1, held_out: 1, train_sha256: "" },
  total_steps: 2,
};

async function run(input: RunConfigInput): Promise<string> {
  const path = join(mkdtempSync(join(tmpdir(), "hone-origin-")), "run");
  await RunFolder.create(path, resolveConfig({ task: "tic-tac-toe", max_steps: 2, ...input }), record);
  return path;
}

test("the model that the first of all runs was of, so that its presets hold", async () => {
  const first = await run({ model: "starter" });
  const second = await run({ model: `${first}:2`, finetuning_type: "full" });
  expect(originOf(first)).toEqual({ model: "starter" });
  expect(originOf(`${second}:last`)).toEqual({ model: "starter" });
  expect(originOf("starter")).toEqual({});
  expect(resolveConfig({ model: second, task: "tic-tac-toe" }, originOf(second))).toMatchObject({
    finetuning_type: "full",
    prompts_per_step: 32,
  });
});

test("the shape of an adapter, but not of the model below it", async () => {
  const path = await run({ model: "/models/small", finetuning_type: "lora", lora_r: 4, lora_alpha: 9 });
  const defaults = { finetuning_type: "lora", lora_r: 4, lora_alpha: 9, lora_dropout: 0 };
  expect(originOf(`${path}:best`)).toEqual({ model: "/models/small", defaults });
  expect(originOf(`${path}:0`)).toEqual({ model: "/models/small" });
  const adapter = mkdtempSync(join(tmpdir(), "hone-adapter-"));
  writeFileSync(join(adapter, "adapter_config.json"), JSON.stringify({ r: 4, lora_alpha: 9, lora_dropout: 0 }));
  expect(originOf(adapter)).toEqual({ defaults });
  expect(resolveConfig({ model: adapter, task: "tic-tac-toe" }, originOf(adapter))).toMatchObject(defaults);
});
