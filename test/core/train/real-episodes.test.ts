/** Episodes of several turns on the native engine: the ids that were sent and drawn are the ids that are trained. */

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { Session } from "../../../core/app/session.ts";
import { resumeRun, trainModel } from "../../../core/app/train-model.ts";
import type { RunConfigInput } from "../../../core/contract/config.ts";
import { createEngine } from "../../../core/engine/engine.ts";
import type { Model } from "../../../core/engine/types.ts";
import { runEpisodes, type Trajectory } from "../../../core/evaluate/episodes.ts";
import { EnginePolicy } from "../../../core/evaluate/policy.ts";
import { openTextChat } from "../../../core/evaluate/text-chat.ts";
import { sha256File } from "../../../core/files/manifest.ts";
import type { Episode, Task } from "../../../core/tasks/task.ts";
import { ticTacToe } from "../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";
import { checkpointFolder } from "../../../core/train/run-folder/checkpoints.ts";
import type { TrainEvent } from "../../../core/train/events.ts";
import { packMicroBatches, sliceOf } from "../../../core/engine/micro-batches.ts";
import { trajectoryRows } from "../../../core/train/rl/trajectory-rows.ts";
import { guessRows, guessTask, type GuessRow } from "../evaluate/guess-task.ts";
import { registerTask, rolloutLines } from "./guess-run.ts";
import { tinyModel } from "./tiny-model.ts";
import { comparableMetrics } from "./toy-run.ts";

let folder: string;
/** The tiny model's template writes calls as they were made; this one leaves them out of the history. */
let forgetful: string;

beforeAll(async () => {
  folder = await tinyModel();
  forgetful = join(mkdtempSync(join(tmpdir(), "hone-template-")), "template.jinja");
  const own = readFileSync(join(folder, "chat_template.jinja"), "utf8");
  writeFileSync(forgetful, own.replace("message.tool_calls or []", "[]"));
});

/**
 * Three turns, worth the valid calls in them. The model has only learnt to answer boards, so a board is the question; what
 * it shows does not matter.
 */
function boardTask(): Task<GuessRow> {
  const boards = ticTacToe.rows("train");
  const start = (): Episode => {
    let turn = 0;
    let calls = 0;
    const score = () => ({ reward: calls, parts: { found: calls }, info: { outcomes: {} } });
    return {
      step({ parsed }) {
        turn += 1;
        calls += parsed.tool_calls.length;
        if (turn === 3) return { messages: [], done: true, score: score() };
        return { messages: [{ role: "tool", content: `turn ${turn}` }], done: false };
      },
      end: score,
    };
  };
  return { ...guessTask(), prompt: ({ secret }) => ticTacToe.prompt(boards[secret]), start };
}

interface Sent {
  prompt: number[];
  tokens: number[];
}

async function play(model: Model, templateFile: string | undefined) {
  const chat = await openTextChat(folder, templateFile === undefined ? {} : { template: templateFile });
  const sent: Sent[] = [];
  const sample = model.sample.bind(model);
  model.sample = (requests, options = {}) =>
    sample(requests, {
      ...options,
      onSample(one) {
        sent.push({ prompt: [...requests[one.request].prompt], tokens: [...one.tokens] });
        options.onSample?.(one);
      },
    });
  const jobs = guessRows.map((row, i) => ({ row, seed: 100 + i, n: 4 }));
  const groups = await runEpisodes(new EnginePolicy(model, chat), boardTask(), jobs, { temperature: 1, maxTokens: 32 });
  return { sent, trajectories: groups.flat() };
}

/** Compares the sampler's log-probs with those of a training pass, token by token. Returns the largest difference. */
async function rescore(model: Model, trajectories: readonly Trajectory[]) {
  const bundles = trajectories.map(({ turns }) => trajectoryRows(turns));
  let largest = 0;
  for (const micro of packMicroBatches(bundles, 1024)) {
    const { logprobs } = await model.forward(micro.batch);
    for (const { row, offset } of micro.rows) {
      const scored = sliceOf(logprobs, row, offset);
      row.mask.forEach((bit, t) => {
        expect(Number.isNaN(row.sampled[t])).toBe(bit === 0);
        if (bit === 1) largest = Math.max(largest, Math.abs(scored[t] - row.sampled[t]));
      });
    }
  }
  return { largest, rows: bundles.flat() };
}

describe("ids and log-probs of every turn", () => {
  test.each([true, false])("history as it was said: %s", async (keepsCalls) => {
    const model = await (await createEngine()).open(folder, { threads: 2 });
    const { sent, trajectories } = await play(model, keepsCalls ? undefined : forgetful);
    expect(trajectories.some(({ turns }) => turns.length === 3)).toBe(true);
    for (const { promptTokens, tokens } of trajectories.flatMap(({ turns }) => turns)) {
      expect(sent).toContainEqual({ prompt: [...promptTokens], tokens: [...tokens] });
    }
    const { largest, rows } = await rescore(model, trajectories);
    await model.close();
    // B5: a row with interior tool spans has the sampler's log-probs at the very tokens they belong to.
    expect(largest).toBeLessThan(1e-3);
    const interior = rows.filter(({ mask }) => mask.includes(0));
    const turns = trajectories.flatMap((trajectory) => trajectory.turns).length;
    expect(interior.length).toBeGreaterThan(5);
    // Only a history as it was said makes one row of a call and what came after it.
    if (keepsCalls) expect(rows.length).toBeLessThan(turns / 2);
    else expect(rows.length).toBeGreaterThan(turns / 2);
  });
});

describe("training on several turns", () => {
  const settings: RunConfigInput = {
    task: "guess",
    finetuning_type: "full",
    learning_rate: 1e-3,
    prompts_per_step: 4,
    num_generations: 4,
    max_completion_length: 32,
    max_steps: 4,
    eval_steps: 2,
    eval_size: 9,
    save_steps: 2,
    threads: 2,
  };

  async function train(extra: RunConfigInput, onEvent?: (event: TrainEvent, stop: () => void) => void) {
    registerTask(boardTask());
    const session = await Session.open();
    const output_dir = join(mkdtempSync(join(tmpdir(), "hone-episodes-")), "run");
    const abort = new AbortController();
    const listen = (event: TrainEvent) => onEvent?.(event, () => abort.abort());
    const input = { ...settings, model: folder, output_dir, ...extra };
    await trainModel(session, input, { command: ["test"], listen, signal: abort.signal });
    return { session, output: output_dir };
  }

  test.each<RunConfigInput>([
    { method: "gspo" },
    { method: "grpo", train_tool_results: true },
    { method: "ppo", critic_warmup_steps: 1, critic_learning_rate: 1e-2 },
  ])("stopped and resumed equals unbroken, bit for bit (D2): %j", async (extra) => {
    const whole = await train(extra);
    const broken = await train(extra, (event, stop) => {
      if (event.type === "phase" && event.phase === "sampling" && event.step === 3) stop();
    });
    await resumeRun(
      broken.session,
      broken.output,
      {},
      {
        command: ["test"],
        listen: () => undefined,
        signal: new AbortController().signal,
      },
    );
    const rows = comparableMetrics(whole.output);
    expect(comparableMetrics(broken.output)).toEqual(rows);
    const hash = (run: string) => sha256File(join(checkpointFolder(run, 4), "model.safetensors"));
    expect(await hash(broken.output)).toBe(await hash(whole.output));
    for (const row of rows.slice(1)) {
      expect(row["turns/mean"]).toBeGreaterThan(2);
      expect(row["sampling/sampling_logp_difference/mean"]).toBeLessThan(1e-4);
    }
    expect(rolloutLines(whole.output, 1).some(({ turns }) => turns?.some(({ continues }) => continues))).toBe(true);
  });
});
