/** SFT and DPO on the native engine, with a model of a few thousand weights. */

import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { RunConfigInput } from "../../../core/contract/config.ts";
import { ticTacToe } from "../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";
import { dpoExamples, sftExamples } from "../../../core/train/examples/examples.ts";
import { RealRuns } from "./real-run.ts";
import { comparableMetrics } from "./toy-run.ts";

let runs: RealRuns;

beforeAll(async () => {
  runs = await RealRuns.open({ batch_size: 8 });
});

/** Log-probs of the greedy answers to a few boards. */
async function greedy(reference: string) {
  return (await runs.greedy(reference)).map(({ logprobs }) => logprobs);
}

/** Few rows of several lengths, with answers for SFT and pairs for DPO. */
const numbers = Object.fromEntries(
  (["sft", "dpo"] as const).map((method) => [
    method,
    dataFile(60, (i) => {
      const prompt = `Square ${i % 9}? Choose for ${i}.`;
      const completion = `free: ${"the square ".repeat(i % 4)}${(i * 7) % 9}`;
      return method === "sft" ? { prompt, completion } : { prompt, chosen: completion, rejected: `taken ${i % 9}` };
    }),
  ]),
);
const rowsFor = ({ method = "sft" }: RunConfigInput) => ({ task: numbers[method] });

const kinds: RunConfigInput[] = [
  { method: "sft", finetuning_type: "full" },
  { method: "sft", finetuning_type: "lora", learning_rate: 1e-2 },
  { method: "dpo", finetuning_type: "full" },
  { method: "dpo", finetuning_type: "lora", learning_rate: 1e-2 },
];

describe("three steps change weights and greedy log-probs (A2, B4)", () => {
  test.each(kinds)("%j", async (extra) => {
    const output = await runs.train({ ...extra, max_steps: 3 });
    const [before, ...rows] = comparableMetrics(output);
    for (const row of rows) {
      expect(row.share_weights_changed).toBeGreaterThan(0.1);
      expect(row).toMatchObject({
        nonfinite_steps: 0,
        grad_norm: expect.any(Number),
        learning_rate: expect.any(Number),
      });
    }
    expect(rows[0].learning_rate).toBeGreaterThan(0);
    if (extra.method === "dpo") expect(rows[0].loss).toBeCloseTo(Math.LN2, 5);
    else expect(rows[0].mean_token_accuracy).toBeGreaterThan(0.5);
    expect(before.eval_loss).toBeGreaterThan(0);
    expect(await greedy(`${output}:last`)).not.toEqual(await greedy(runs.model));
  });

  test("also with the documented learning rates, which are small", async () => {
    for (const method of ["sft", "dpo"] as const) {
      for (const finetuning_type of ["full", "lora"] as const) {
        const output = await runs.train({
          method,
          finetuning_type,
          ...rowsFor({ method }),
          learning_rate: undefined,
          max_steps: 3,
        });
        expect(await greedy(`${output}:last`), `${method} ${finetuning_type}`).not.toEqual(await greedy(runs.model));
      }
    }
  });
});

describe("resume equals an unbroken run, bit for bit (D2)", () => {
  test.each<RunConfigInput>([
    { method: "sft", finetuning_type: "full" },
    { method: "sft", finetuning_type: "lora", learning_rate: 1e-2, lora_dropout: 0.1 },
    { method: "dpo", finetuning_type: "full" },
    { method: "dpo", finetuning_type: "lora", learning_rate: 1e-2 },
  ])("%j", async (extra) => {
    await runs.expectSameWhenResumed({ ...extra, ...rowsFor(extra) }, "updating");
  });
});

test.each(kinds)("one pass or many small ones, the same step: %j (B1, B2, B3)", async (extra) => {
  const rows = async (micro_batch_tokens: number) =>
    comparableMetrics(
      await runs.train({
        ...extra,
        ...rowsFor(extra),
        max_steps: 2,
        eval_steps: 0,
        eval_on_start: false,
        micro_batch_tokens,
      }),
    );
  const [whole, parts] = [await rows(8192), await rows(160)];
  for (const step of [0, 1]) {
    expect(parts[step].loss).toBeCloseTo(whole[step].loss, 5);
    expect(parts[step].grad_norm / whole[step].grad_norm).toBeCloseTo(1, 4);
  }
});

test("DPO goes on from an adapter that SFT made: the reference is that adapter, as it was then", async () => {
  const lora = { finetuning_type: "lora", learning_rate: 1e-2, max_steps: 3 } as const;
  const first = await runs.train({ ...lora, ...rowsFor({ method: "sft" }), method: "sft" });
  const second = await runs.train({ ...lora, ...rowsFor({ method: "dpo" }), method: "dpo", model: `${first}:last` });
  const [, one, , last] = comparableMetrics(second);
  expect(one.loss).toBeCloseTo(Math.LN2, 5);
  expect(last.loss).toBeLessThan(one.loss);
  expect(existsSync(join(second, "reference.jsonl"))).toBe(true);
});

test("what is trained ends with the end of the turn, and is what the model would have to write (A9, C9)", async () => {
  const chat = await runs.session.openChat({ name: "tiny", weights: runs.model, text: runs.model });
  const rows = ticTacToe.rows("train").slice(0, 20);
  const options = {
    config: { loss_mask: null, overlong_rows: "skip" },
    maxLength: 256,
    signal: new AbortController().signal,
  } as const;
  const { items } = await sftExamples(ticTacToe, rows, chat, options);
  const pairs = await dpoExamples(ticTacToe, rows, chat, options);
  items.forEach((item, i) => {
    expect([...item.promptIds]).toEqual([...chat.renderPrompt(ticTacToe.prompt(rows[i]), ticTacToe.tools)]);
    expect([...item.mask]).toEqual(new Array(item.ids.length).fill(1));
    expect(chat.stopIds).toContain(item.ids.at(-1));
    const answer = chat.readAnswer(item.promptIds, item.ids, ticTacToe.tools, { stopReason: "eos" });
    expect(answer.parsed).toMatchObject({ problems: [], tool_calls: [{ name: "choose_square" }] });
    const { chosen, rejected } = pairs.items[i];
    expect([...chosen.ids]).toEqual([...item.ids]);
    expect(rejected.promptIds).toBe(chosen.promptIds);
    expect([...rejected.ids]).not.toEqual([...chosen.ids]);
  });
});

describe("rows of a file", () => {
  const talk = (i: number) => [
    { role: "user", content: `Choose the square ${i % 9}` },
    { role: "assistant", content: `The square ${i % 9}.` },
    { role: "user", content: "Your next?" },
    { role: "assistant", content: `The next square is ${(i + 1) % 9}.` },
  ];
  const shapes: Record<string, (i: number) => object> = {
    text: (i) => ({ text: `The squares are numbered ${i % 9} to ${(i + 3) % 9}` }),
    messages: (i) => ({ messages: talk(i) }),
    completion: (i) => ({ prompt: `Square ${i % 9}?`, completion: `free: ${(i * 7) % 9}` }),
    tokens: (i) => ({ tokens: [5 + (i % 3), 6, 7, 8], loss_mask: [0, 1, 0, 1] }),
  };
  test.each(Object.keys(shapes))("%s: learnt, and measured on rows that are not", async (shape) => {
    const task = dataFile(60, shapes[shape]);
    const rows = comparableMetrics(
      await runs.train({ method: "sft", task, learning_rate: 1e-2, max_steps: 12, eval_steps: 12 }),
    );
    expect(rows[12].loss).toBeLessThan(0.7 * rows[1].loss);
    expect(rows[12].eval_loss).toBeLessThan(0.8 * rows[0].eval_loss);
    expect(rows[12].eval_reward).toBeUndefined();
  });
});

function dataFile(rows: number, make: (i: number) => object): string {
  const path = join(mkdtempSync(join(tmpdir(), "hone-data-")), "rows.jsonl");
  writeFileSync(path, Array.from({ length: rows }, (_, i) => JSON.stringify({ ...make(i), id: i }) + "\n").join(""));
  return path;
}
