/** What judges cost is told with every step and at the end. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toJsonLines } from "../../../core/files/jsonl.ts";
import { startTraining } from "../../../core/train/run.ts";
import { comparableMetrics, toyModelFolder, toyRun } from "./toy-run.ts";

let server: Server;
let calls = 0;
const home = process.env["HONE_HOME"];
beforeAll(async () => {
  process.env["HONE_HOME"] = mkdtempSync(join(tmpdir(), "hone-home-"));
  server = createServer((request, response) => {
    request.resume().on("end", () => {
      calls += 1;
      const reply = { choices: [{ message: { content: String(calls % 10) } }] };
      response.end(JSON.stringify({ ...reply, usage: { prompt_tokens: 7, completion_tokens: 2 } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.close();
  if (home === undefined) delete process.env["HONE_HOME"];
  else process.env["HONE_HOME"] = home;
});

function files(judge: string) {
  const folder = mkdtempSync(join(tmpdir(), "hone-judge-"));
  const [task, reward] = [join(folder, "rows.jsonl"), join(folder, "reward.json")];
  writeFileSync(task, toJsonLines(Array.from({ length: 20 }, (_, i) => ({ prompt: `${i}\n\n${1 + (i % 9)}` }))));
  const { port } = server.address() as AddressInfo;
  writeFileSync(
    reward,
    JSON.stringify({ parts: [{ type: "judge", url: `http://127.0.0.1:${port}/v1`, model: judge }] }),
  );
  return { task, reward };
}

test.each(["gspo", "ppo"] as const)("%s: calls and tokens, by step and in all", async (method) => {
  const toy = toyRun();
  const before = calls;
  const { judge } = await startTraining(toy.context, {
    ...files(method),
    ...{ model: toyModelFolder(), method, finetuning_type: "full", output_dir: toy.output },
    ...{ prompts_per_step: 2, num_generations: 4, max_completion_length: 4, max_steps: 2, eval_steps: 0 },
    ...{ eval_on_start: false },
  });
  const made = calls - before;
  expect(made).toBeGreaterThan(0);
  expect(judge).toMatchObject({ calls: made, prompt_tokens: 7 * made, completion_tokens: 2 * made });
  const rows = comparableMetrics(toy.output);
  const sum = (name: string) => rows.reduce((total, row) => total + row[name], 0);
  expect(sum("judge/calls")).toBe(made);
  expect(sum("judge/completion_tokens")).toBe(2 * made);
  expect(sum("judge/cached")).toBe(judge?.cached);
});

test("prompts that are all too long are refused with both numbers", async () => {
  const toy = toyRun();
  const long = toyRun();
  long.context.openChat = async () => ({
    ...(await toy.context.openChat(undefined as never, undefined as never)),
    renderPrompt: () => new Int32Array(9).fill(1),
  });
  const begun = startTraining(long.context, {
    ...{ model: toyModelFolder(), task: "tic-tac-toe", finetuning_type: "full", output_dir: long.output },
    ...{ max_length: 6, max_completion_length: 4, max_steps: 1, eval_steps: 0, eval_on_start: false },
  });
  await expect(begun).rejects.toMatchObject({
    code: "prompts-too-long",
    message: "the shortest training prompt has 9 tokens, and prompt and answer together may have 6",
  });
});
