/** Episodes: each by itself, the very ids kept, every limit, and whose fault a failure is. */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { HoneError } from "../../../core/contract/errors.ts";
import { deriveSeed } from "../../../core/contract/random.ts";
import { runEpisodes, type EpisodeJob, type EpisodeSettings } from "../../../core/evaluate/episodes.ts";
import { EnginePolicy } from "../../../core/evaluate/policy.ts";
import type { Answer, Policy } from "../../../core/evaluate/policy-types.ts";
import { EnvironmentError, type StopReason, type Task } from "../../../core/tasks/task.ts";
import { TabularModel } from "../train/tabular-model.ts";
import { guessChat, guessRows, guessTask, guessVocabulary, type GuessOptions } from "./guess-task.ts";

const settings: EpisodeSettings = { temperature: 1, maxTokens: 8 };

/** Answers are a square and the end, mostly. */
function policy({ contextLength = 64, rewritesHistory = false } = {}) {
  const model = new TabularModel("m", { vocabSize: guessVocabulary, memory: 1, contextLength });
  for (let token = 1; token < guessVocabulary; token++) {
    const logits = Array.from({ length: guessVocabulary }, (_, i) => (i >= 1 && i <= 9 ? 6 : 0));
    const ends = Array.from({ length: guessVocabulary }, (_, i) => (i === 0 ? 6 : 0));
    model.base.set(String(token), token <= 9 ? ends : logits);
  }
  return { model, policy: new EnginePolicy(model, guessChat({ rewritesHistory })) };
}

function jobsOf(n: number): EpisodeJob[] {
  return guessRows.map((row) => ({ row, seed: deriveSeed("test", row.id), n }));
}

const play = (options: GuessOptions = {}, more: Partial<EpisodeSettings> = {}, n = 2) =>
  runEpisodes(policy().policy, guessTask(options), jobsOf(n), { ...settings, ...more });

const drawn = (groups: Awaited<ReturnType<typeof play>>) =>
  groups.map((group) => group.map(({ turns, score }) => ({ ids: turns.map(({ tokens }) => [...tokens]), score })));

describe("the course of an episode", () => {
  test("turns follow each other until the task is done, with the very ids that were sent and drawn (B6)", async () => {
    const { model, policy: player } = policy();
    const asked: { prompt: number[]; tokens: number[] }[] = [];
    const sample = model.sample.bind(model);
    model.sample = (requests, options = {}) =>
      sample(requests, {
        ...options,
        onSample(one) {
          asked.push({ prompt: [...requests[one.request].prompt], tokens: [...one.tokens] });
          options.onSample?.(one);
        },
      });
    const groups = await runEpisodes(player, guessTask(), jobsOf(4), settings);
    const all = groups.flat();
    expect(groups.map((group) => group.map(({ index }) => index))).toEqual(guessRows.map(() => [0, 1, 2, 3]));
    expect(new Set(all.map(({ turns }) => turns.length))).toEqual(new Set([1, 2, 3]));
    for (const { row, turns, messages, score } of all) {
      expect(row).toBe(guessRows.find(({ id }) => id === row.id));
      expect(score?.reward).toBeTypeOf("number");
      expect(messages.filter(({ role }) => role === "assistant")).toHaveLength(turns.length);
      for (const { promptTokens, tokens, logprobs } of turns) {
        expect(logprobs).toHaveLength(tokens.length);
        expect(asked).toContainEqual({ prompt: [...promptTokens], tokens: [...tokens] });
      }
      turns.slice(1).forEach(({ promptTokens }, i) => {
        const before = [...turns[i].promptTokens, ...turns[i].tokens];
        expect([...promptTokens.slice(0, before.length)]).toEqual(before);
        expect(turns[i].stopReason).toBe("tool_call");
      });
    }
    expect(asked).toHaveLength(all.flatMap(({ turns }) => turns).length);
  });

  test("the samples of a job share their first prompt", async () => {
    for (const group of await play()) expect(group[0].turns[0].promptTokens).toBe(group[1].turns[0].promptTokens);
  });

  test("draws do not depend on how long the environment takes, nor on what else is played", async () => {
    const plain = await play();
    const delayed = await play({ beforeStep: (row, turn) => sleep((row.secret * 7 * turn) % 20) });
    expect(drawn(delayed)).toEqual(drawn(plain));
    expect(drawn(await play({}, { concurrent: 1 }))).toEqual(drawn(plain));
    const [alone] = await runEpisodes(policy().policy, guessTask(), [jobsOf(2)[4]], settings);
    expect(drawn([alone])).toEqual([drawn(plain)[4]]);
    expect(
      drawn(
        await runEpisodes(
          policy().policy,
          guessTask(),
          jobsOf(2).map((job) => ({ ...job, seed: 5 })),
          settings,
        ),
      ),
    ).not.toEqual(drawn(plain));
  });

  test("a slow environment holds up nobody else", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const ended: string[] = [];
    const running = play(
      { beforeStep: ({ id }) => (id === "g1" ? promise : undefined) },
      {
        onTrajectory: ({ row }) => {
          ended.push(row.id);
          if (ended.length === 16) resolve();
        },
      },
    );
    await running;
    expect(ended.slice(0, 16)).not.toContain("g1");
  });

  test("an episode steps as soon as its own answer ends, not when the last of its group has", async () => {
    const { model, policy: player } = policy();
    const sample = model.sample.bind(model);
    const { promise: stepped, resolve } = Promise.withResolvers<void>();
    model.sample = async (requests, options) => {
      const samples = await sample(requests, options);
      // The call itself returns only after the first step: waiting for it would never end.
      await stepped;
      return samples;
    };
    await runEpisodes(player, guessTask({ beforeStep: () => resolve() }), [jobsOf(3)[0]], settings);
  });

  test("no more episodes than asked for run at a time", async () => {
    let running = 0;
    let most = 0;
    const beforeStep = async () => {
      most = Math.max(most, ++running);
      await sleep(1);
      running -= 1;
    };
    await play({ beforeStep, turns: 1 }, { concurrent: 4 }, 1);
    expect(most).toBe(4);
  });

  test("a policy that answers one prompt at a time plays too, every sample with a seed of its own", async () => {
    const { policy: engine } = policy();
    const seeds: number[] = [];
    const oneByOne: Policy = {
      answer(items, given) {
        seeds.push(...items.map(({ seed }) => seed));
        return engine.answer(items, given);
      },
    };
    const groups = await runEpisodes(oneByOne, guessTask({ turns: 1 }), jobsOf(3), settings);
    expect(groups.flat()).toHaveLength(27);
    expect(new Set(seeds).size).toBe(27);
  });
});

describe("limits", () => {
  test("turns, with what the task says it is worth", async () => {
    const ends: StopReason[] = [];
    const all = (await play({ turns: 3, onEnd: (reason) => ends.push(reason) }, { maxTurns: 2 })).flat();
    const over = all.filter(({ stopReason }) => stopReason === "max_turns");
    expect(over.length).toBeGreaterThan(3);
    expect(ends).toEqual(over.map(() => "max_turns"));
    for (const { turns, score, valid } of over) {
      expect(turns).toHaveLength(2);
      expect(score?.reward).toBe(-0.5);
      expect(valid).toBe(true);
    }
    for (const { stopReason, turns } of all) if (stopReason === "terminal") expect(turns.length).toBeLessThanOrEqual(2);
  });

  test("tokens of a turn", async () => {
    const all = (await play({}, { maxTokens: 1 })).flat();
    for (const { turns, stopReason, score } of all) {
      expect(turns.map(({ tokens }) => tokens.length)).toEqual([1]);
      if (turns[0].tokens[0] !== 0) expect(stopReason).toBe("length");
      expect(score?.info.failure).toBe("no_call");
    }
  });

  test("a full context ends the episode, which keeps its tokens and gets its reward (B12)", async () => {
    const groups = await play({ turns: 9 }, { maxLength: 6 });
    expect(groups.map((group) => group.length)).toEqual(guessRows.map(() => 2));
    const full = groups.flat().filter(({ stopReason }) => stopReason === "context_full");
    expect(full.length).toBeGreaterThan(3);
    for (const { turns, score } of full) {
      expect(score?.reward).toBeLessThan(0);
      const last = turns[turns.length - 1];
      expect(last.promptTokens.length + last.tokens.length).toBeGreaterThan(4);
    }
    // Cut in the middle of an answer, or no room for the next prompt.
    expect(new Set(full.map(({ turns }) => turns[turns.length - 1].stopReason)).size).toBe(2);
  });

  test("also where the environment would go on with an answer that was cut (B12)", async () => {
    const ends: StopReason[] = [];
    const patient: Task = {
      ...(guessTask({ turns: 9 }) as Task),
      start: () => ({
        step: () => ({ messages: [{ role: "tool", content: "higher" }], done: false }),
        end(reason) {
          ends.push(reason);
          return { reward: -1, parts: {}, info: { outcomes: {} } };
        },
      }),
    };
    const { policy: player } = policy({ contextLength: 4 });
    const all = (await runEpisodes(player, patient, jobsOf(2), settings)).flat();
    expect(ends).toEqual(all.map(() => "context_full"));
    for (const { valid, stopReason, score } of all) {
      expect({ valid, stopReason, reward: score?.reward }).toEqual({
        valid: true,
        stopReason: "context_full",
        reward: -1,
      });
    }
    expect(all.some(({ turns }) => turns[turns.length - 1].stopReason === "context_full")).toBe(true);
  });

  test("the model's own context counts too", async () => {
    const { policy: player } = policy({ contextLength: 5 });
    const all = (await runEpisodes(player, guessTask({ turns: 9 }), jobsOf(2), settings)).flat();
    expect(all.some(({ stopReason }) => stopReason === "context_full")).toBe(true);
  });

  test("seconds of the environment, added up: who exceeds them is invalid", async () => {
    const all = (
      await play(
        {
          beforeStep: ({ id }, turn) =>
            id === "g1" || (id === "g2" && turn === 2) ? new Promise(() => undefined) : undefined,
        },
        { episodeSeconds: 0.05 },
      )
    ).flat();
    const invalid = all.filter(({ valid }) => !valid);
    expect(invalid.length).toBeGreaterThanOrEqual(2);
    for (const { row, stopReason, score, error } of invalid) {
      expect(["g1", "g2"]).toContain(row.id);
      expect(stopReason).toBe("timeout");
      expect(score).toBeUndefined();
      expect(error).toContain("seconds");
    }
    const slow = (await play({ turns: 9, beforeStep: () => sleep(30) }, { episodeSeconds: 0.1 })).flat();
    expect(slow.some(({ valid, turns }) => !valid && turns.length > 1)).toBe(true);
    expect(slow.some(({ valid, turns }) => valid && turns.length === 1)).toBe(true);
  });

  test("a slow model is no failure: only the environment's time counts", async () => {
    const { model, policy: player } = policy();
    model.before.sample = () => sleep(30);
    const groups = await runEpisodes(player, guessTask(), [jobsOf(2)[0]], { ...settings, episodeSeconds: 0.02 });
    expect(groups.flat().every(({ valid }) => valid)).toBe(true);
  });
});

describe("failures", () => {
  const failing = (error: unknown, id = "g3", turn = 1): GuessOptions => ({
    beforeStep(row, at) {
      if (row.id === id && at === turn) throw error;
    },
  });

  test("an EnvironmentError makes its episode invalid, and no other", async () => {
    const all = (await play(failing(new EnvironmentError("the desk is away")))).flat();
    const invalid = all.filter(({ valid }) => !valid);
    expect(invalid.map(({ row, stopReason, error }) => ({ id: row.id, stopReason, error }))).toEqual([
      { id: "g3", stopReason: "error", error: "the desk is away" },
      { id: "g3", stopReason: "error", error: "the desk is away" },
    ]);
    expect(invalid[0].turns).toHaveLength(1);
    expect(all).toHaveLength(18);
  });

  test("another error names task, row, sample and turn, and ends everything", async () => {
    const error = await play(failing(new TypeError("x is not a function"), "g9", 2)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(HoneError);
    expect(error).toMatchObject({
      code: "task-failed",
      message: expect.stringMatching(/^task guess, row g9, sample [01], turn 2: x is not a function$/),
      fix: expect.stringContaining("invalid_rewards"),
    });
    await expect(play(failing(new HoneError("bad-judge", "no key", { fix: "set KEY" })))).rejects.toMatchObject({
      code: "bad-judge",
      message: expect.stringContaining("row g3, sample 0, turn 1: no key"),
      fix: "set KEY",
    });
  });

  test.each([NaN, Infinity])("a reward of %d names the sample", async (value) => {
    const reward = (row: { id: string }) => (row.id === "g2" ? value : 0);
    await expect(play({ reward })).rejects.toMatchObject({
      code: "bad-reward",
      message: expect.stringMatching(/row g2, sample [01], turn \d: the reward is (NaN|Infinity)/),
    });
    const all = (await play({ reward }, { invalidRewards: "drop" })).flat();
    expect(all.filter(({ valid }) => !valid).map(({ row }) => row.id)).toEqual(["g2", "g2"]);
  });

  test("a reward that is away is no fault of an answer: it ends everything, also where answers are dropped", async () => {
    const away = new HoneError("reward-unavailable", "the judge is away");
    await expect(play(failing(away), { invalidRewards: "drop" })).rejects.toBe(away);
  });

  test("a task that fails to start or has no prompt is named as well", async () => {
    const broken = (part: Partial<Task>) =>
      runEpisodes(policy().policy, { ...guessTask(), ...part }, jobsOf(1), settings);
    const boom = () => {
      throw new Error("boom");
    };
    await expect(broken({ start: boom })).rejects.toMatchObject({ message: expect.stringContaining("row g1") });
    await expect(broken({ prompt: boom })).rejects.toMatchObject({
      message: "task guess, the prompt of row g1: boom",
    });
    await expect(broken({ start: () => ({ step: () => ({ messages: [], done: true }), end: boom }) })).rejects.toThrow(
      "has no score",
    );
  });

  test("a row's own prompt that is too long is an error with both numbers", async () => {
    const long = { ...guessTask(), prompt: () => Array.from({ length: 70 }, () => ({ role: "user", content: "?" })) };
    await expect(runEpisodes(policy().policy, long, jobsOf(1), settings)).rejects.toMatchObject({
      code: "prompt-too-long",
      message: expect.stringMatching(/70.*64/),
    });
  });

  test("a model that fails ends everything with its error", async () => {
    const { model, policy: player } = policy();
    model.before.sample = () => {
      throw new HoneError("kv-too-small", "no room");
    };
    await expect(runEpisodes(player, guessTask(), jobsOf(2), settings)).rejects.toMatchObject({ code: "kv-too-small" });
  });

  test("a stop is heard at once, also by an environment that hangs", async () => {
    const abort = new AbortController();
    const running = play({ beforeStep: () => new Promise(() => undefined) }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 20);
    await expect(running).rejects.toMatchObject({ name: "CancelledError" });
    await expect(play({}, { signal: abort.signal })).rejects.toMatchObject({ name: "CancelledError" });
  });
});

test("an answer keeps what the model thought in the conversation", async () => {
  const answer = (turn: number): Answer => ({
    text: "…",
    parsed: {
      content: "I will look",
      reasoning: turn === 0 ? "perhaps 4" : "",
      tool_calls: [{ name: "choose_square", arguments: { square: 4 } }],
      problems: [],
    },
    stopReason: "eos",
    promptTokens: Int32Array.of(1),
    tokens: Int32Array.of(2),
    logprobs: Float32Array.of(-1),
  });
  const seen: unknown[] = [];
  const scripted: Policy = {
    answer: async ([{ messages }]) => {
      seen.push(structuredClone(messages));
      return [answer(seen.length - 1)];
    },
  };
  const [[{ messages }]] = await runEpisodes(scripted, guessTask(), [{ row: guessRows[8], seed: 1, n: 1 }], settings);
  expect(seen[1]).toEqual([
    { role: "user", content: "Which square?" },
    {
      role: "assistant",
      content: "I will look",
      reasoning_content: "perhaps 4",
      tool_calls: [{ type: "function", function: { name: "choose_square", arguments: { square: 4 } } }],
    },
    { role: "tool", content: "higher" },
  ]);
  expect(messages.filter(({ role }) => role === "assistant")[1]).not.toHaveProperty("reasoning_content");
});
