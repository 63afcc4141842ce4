/** Rewards that are programs: the protocol, crashes, time-outs, and their end. */

import { execFileSync } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { failure, file, open, sample, scratch } from "./sample.ts";

let count = 0;

/** A program that answers every line with `body`, which sees `id`, `sample` and `reply(object)`. */
function program(body: string): string {
  count += 1;
  return file(
    `program-${count}.mjs`,
    `import { createInterface } from "node:readline";
     const reply = (object) => process.stdout.write(JSON.stringify(object) + "\\n");
     let seen = 0;
     for await (const line of createInterface({ input: process.stdin })) {
       const { id, sample } = JSON.parse(line);
       seen += 1;
       ${body}
     }`,
  );
}

const openProgram = (body: string, options: Record<string, unknown> = {}) =>
  open({ parts: [{ type: "command", command: [process.execPath, program(body)], ...options }] });

describe("a reward program", () => {
  test("a number, parts, a total, info", async () => {
    const reward = await openProgram(`
      if (sample.answer === "number") reply({ id, reward: sample.row.x });
      else if (sample.answer === "parts") reply({ id, parts: { a: 1, b: 2 }, info: { why: "so" } });
      else reply({ id, reward: 7, parts: { a: 1 } });`);
    expect((await reward.score(sample("number", { x: 0.5 }))).reward).toBe(0.5);
    expect(await reward.score(sample("parts"))).toEqual({
      reward: 3,
      parts: { command: 0, "command/a": 1, "command/b": 2 },
      info: { command: { why: "so" } },
    });
    expect((await reward.score(sample("total"))).reward).toBe(7);
  });

  test("many at once, each with its own answer, in one program and in three", async () => {
    for (const concurrency of [1, 3]) {
      const reward = await openProgram("reply({ id, reward: Number(sample.answer) });", { concurrency });
      const scored = await Promise.all(Array.from({ length: 50 }, (_, i) => reward.score(sample(String(i)))));
      expect(scored.map(({ reward: one }) => one)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    }
  });

  test("one that writes without end is ended, and the answer is blamed", async () => {
    const reward = await openProgram(`
      if (sample.answer === "good") reply({ id, reward: 1 });
      else for (const text = "x".repeat(2 ** 20); ; ) {
        if (!process.stdout.write(text)) await new Promise((go) => process.stdout.once("drain", go));
      }`);
    const said = await failure(reward.score(sample("bad")));
    expect(said).toMatch(/^bad-reward: .* "bad" to row row-1: .* wrote more than 16 MB on stdout without a line break/);
    expect((await reward.score(sample("good"))).reward).toBe(1);
  });

  test("a last line without a line break counts", async () => {
    const reward = await openProgram("process.stdout.write(JSON.stringify({ id, reward: 3 })); process.exit();");
    expect((await reward.score(sample("x"))).reward).toBe(3);
  });

  test("a sample that it cannot score is named, and the next one is scored", async () => {
    const reward = await openProgram(
      `sample.answer === "bad" ? reply({ id, error: "no idea" }) : reply({ id, reward: 1 });`,
    );
    expect(await failure(reward.score(sample("bad")))).toContain(
      'bad-reward: the reward part command cannot score the answer "bad" to row row-1: no idea',
    );
    expect((await reward.score(sample("good"))).reward).toBe(1);
  });

  test("after a crash the sample gets a second program", async () => {
    const reward = await openProgram("if (seen === 3) process.exit(1); reply({ id, reward: seen });");
    const seen = [];
    for (let i = 0; i < 5; i++) seen.push((await reward.score(sample("x"))).reward);
    expect(seen).toEqual([1, 2, 1, 2, 1]);
  });

  test("a sample that crashes it twice is named, with what it said on stderr", async () => {
    const reward = await openProgram(
      `if (sample.answer === "bad") { console.error("division by zero"); process.exit(3); } reply({ id, reward: 1 });`,
    );
    const text = await failure(reward.score(sample("bad")));
    expect(text).toMatch(/^bad-reward: .*"bad" to row row-1: .* ended with exit code 3; it said: division by zero/);
    expect((await reward.score(sample("good"))).reward).toBe(1);
  });

  test("it gives up after so many crashes", async () => {
    const reward = await openProgram("process.exit(3);", { restarts: 2 });
    expect(await failure(reward.score(sample("x")))).toMatch(/^bad-reward/);
    expect(await failure(reward.score(sample("x")))).toMatch(
      /^reward-unavailable: .*gives up after 3 crashes: ended with exit code 3/,
    );
  });

  test("too slow: the sample is named, a new program takes the next", async () => {
    const reward = await openProgram(
      `if (sample.answer === "slow") await new Promise((done) => setTimeout(done, 60_000)); reply({ id, reward: 1 });`,
      { timeout_seconds: 0.5 },
    );
    expect(await failure(reward.score(sample("slow")))).toMatch(/^bad-reward: .*"slow".* took longer than 0.5 s/);
    expect((await reward.score(sample("quick"))).reward).toBe(1);
  });

  test.each([
    [`console.log("debug");`, 'it wrote a line that is no JSON: "debug"'],
    ["reply({ id: id + 1, reward: 1 });", "its reply is to 2, the sample is 1"],
    ["reply({ id });", "a reply needs reward, parts or error"],
    [`reply({ id, reward: "1" });`, "its reply is wrong"],
    ["reply({ id, reward: NaN });", "its reply is wrong"],
    ["reply({ id, score: 1 });", 'Unrecognized key: "score"'],
  ])("%s is no reply", async (body, words) => {
    const text = await failure((await openProgram(body)).score(sample("x")));
    expect(text).toContain(words);
    expect(text).toContain("stdout is for reply lines only");
  });

  test("a program that is not there", async () => {
    const reward = await open({ parts: [{ type: "command", command: "no-such-program --fast" }] });
    expect(await failure(reward.score(sample("x")))).toMatch(
      /^reward-unavailable: .*there is no program no-such-program/,
    );
  });

  test("a command as text is cut at spaces, without a shell", async () => {
    const echo = file(
      "my words.mjs",
      `import { createInterface } from "node:readline";
      for await (const line of createInterface({ input: process.stdin }))
        process.stdout.write(JSON.stringify({ id: JSON.parse(line).id, reward: 0, info: { words: process.argv.slice(2) } }) + "\\n");`,
    );
    const reward = await open({
      parts: [{ type: "command", command: `"${process.execPath}" "${echo}" $HOME 'a b' *` }],
    });
    expect((await reward.score(sample("x"))).info).toEqual({ command: { words: ["$HOME", "a b", "*"] } });
  });

  test("closing ends it, also when it does not want to", async () => {
    const mark = join(scratch, "pid");
    const stubborn = `
      const { writeFileSync } = await import("node:fs");
      writeFileSync(${JSON.stringify(mark)}, String(process.pid));
      reply({ id, reward: 1 });
      process.on("SIGTERM", () => {});
      setInterval(() => {}, 1000);`;
    const reward = await openProgram(stubborn);
    await reward.score(sample("x"));
    await reward.close();
    const pid = Number(
      execFileSync(process.execPath, ["-p", `require("fs").readFileSync(${JSON.stringify(mark)}, "utf8")`]),
    );
    await sleep(50);
    expect(() => process.kill(pid, 0)).toThrow();
  });
});

const example = fileURLToPath(new URL("../../../examples/rewards/reward.py", import.meta.url));
const python = (() => {
  try {
    return execFileSync("python3", ["--version"], { encoding: "utf8" }).trim();
  } catch {
    process.stderr.write("skipped: the Python example (there is no python3 here)\n");
    return undefined;
  }
})();

test.skipIf(python === undefined)("the Python example scores, reports its own errors, and goes on", async () => {
  expect(existsSync(example)).toBe(true);
  cpSync(example, join(scratch, "reward.py"));
  const reward = await open(join(scratch, "reward.py"));
  expect(await reward.score(sample("It is 4", { answer: "4" }))).toMatchObject({
    reward: 1.2,
    parts: { correct: 1, short: 0.2 },
  });
  expect(await failure(reward.score(sample("It is 4", {})))).toContain("KeyError: 'answer'");
  expect((await reward.score(sample("It is 5", { answer: 4 }))).reward).toBe(0.2);
});
