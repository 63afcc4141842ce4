/** Own rewards in the sandbox: what they may return, how they fail, and what they cannot reach (E10). */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openReward } from "../../../core/rewards/open-reward.ts";
import type { Reward } from "../../../core/rewards/reward.ts";
import { failure, file, open, sample } from "./sample.ts";

let count = 0;

/** A reward of this code; its file is `script-<n>.ts`. */
function script(code: string) {
  count += 1;
  return open(file(`script-${count}.ts`, code));
}

/** The same with less patience. */
function hasty(code: string) {
  count += 1;
  const path = file(`script-${count}.ts`, code);
  return open({ parts: [{ type: "script", file: path, timeout_seconds: 0.3 }] });
}

const score = async (code: string, one = sample("abc", { answer: 3 })) => (await script(code)).score(one);

describe("what it returns", () => {
  let shapes: Reward;

  beforeAll(async () => {
    shapes = await openReward(file("shapes.js", "export default ({ answer }) => eval(answer)();"));
  });
  afterAll(() => shapes.close());

  test("a number, typed", async () => {
    const code =
      "export default ({ answer, row }: { answer: string; row: { answer: number } }): number =>\n  answer.length / row.answer;";
    const reward = await script(code);
    const name = `script-${count}`;
    expect(await reward.score(sample("abcdef", { answer: 3 }))).toEqual({ reward: 2, parts: { [name]: 2 } });
    expect(reward.parts).toEqual([{ name, weight: 1, description: `what ${name}.ts gives` }]);
  });

  test("parts with declared weights; one left out is 0", async () => {
    const reward = await script("export const parts = { a: 0.5, b: 2 };\nexport default () => ({ parts: { b: 1 } });");
    expect(reward.parts.map(({ name, weight }) => [name, weight])).toEqual([
      ["a", 0.5],
      ["b", 2],
    ]);
    expect(await reward.score(sample(""))).toEqual({ reward: 2, parts: { a: 0, b: 1 } });
  });

  test("parts that nobody declared become known as they come, each with weight 1", async () => {
    const reward = await script("export default ({ answer }) => ({ parts: answer === '' ? { a: 1 } : { b: 0.5 } });");
    expect((await reward.score(sample(""))).parts).toEqual({ a: 1 });
    expect(await reward.score(sample("x"))).toEqual({ reward: 0.5, parts: { a: 0, b: 0.5 } });
    expect(reward.parts.map(({ name }) => name)).toEqual(["a", "b"]);
  });

  test("a total, info, and what it wrote to the console", async () => {
    const code =
      "export default () => { console.log('seen', { x: [1] }); return { total: 7, parts: { a: 1 }, info: { why: 'so' } }; };";
    const { reward, parts, info } = await score(code);
    expect({ reward, parts }).toEqual({ reward: 7, parts: { a: 1 } });
    expect(info).toEqual({ [`script-${count}`]: { why: "so", console: ['seen {"x":[1]}'] } });
  });

  test("a promise, of an async function", async () => {
    expect((await score("export default async () => { await null; return 0.25; };")).reward).toBe(0.25);
  });

  test("beside other parts, under its own name and weight", async () => {
    file("two.js", "export default () => ({ parts: { a: 1, b: 2 } })");
    const reward = await open({
      parts: [
        { name: "mine", type: "script", file: "two.js", weight: 10 },
        { name: "right", type: "exact_match" },
      ],
    });
    expect(await reward.score(sample("x", { answer: "x" }))).toEqual({
      reward: 31,
      parts: { "mine/a": 1, "mine/b": 2, right: 1 },
    });
  });

  test.each([
    ["() => {}", "it returned nothing"],
    ["() => NaN", "what it returned is NaN, not a finite number"],
    ["() => 1 / 0", "what it returned is Infinity, not a finite number"],
    ["() => '5'", 'what it returned is "5", not a finite number'],
    ["() => true", "what it returned is true"],
    ["() => 5n", "what it returned is 5"],
    ["() => null", "what it returned is null"],
    ["() => [1]", "what it returned is [1]"],
    ["() => ({ score: 1 })", 'it returned an object with a key "score"'],
    ["() => ({})", "it returned an object without parts"],
    ["() => ({ parts: 3 })", "parts is no object"],
    ["() => ({ parts: { a: '1' } })", 'the part a is "1"'],
    ["() => ({ parts: { a: -1 / 0 } })", "the part a is -Infinity"],
    ["() => ({ total: NaN, parts: {} })", "total is NaN"],
    ["() => ({ total: 1, info: 'x' })", "info is no object"],
    ["() => new Promise(() => {})", "it waits for something that never happens"],
  ])("%s is no reward", async (code, words) => {
    const text = await failure(shapes.score(sample(code)));
    expect(text).toMatch(/^bad-reward: .*the answer .* to row row-1/);
    expect(text).toContain(words);
  });

  test("a part that was not declared", async () => {
    const code = (value: string) => `export const parts = ["a"];\nexport default () => (${value});`;
    expect(await failure(score(code("{ parts: { b: 1 } }")))).toContain('it gave a part "b" and declares the parts a');
    expect(await failure(score(code("1")))).toContain("it gave one number and declares the parts a");
  });
});

describe("a broken one", () => {
  test("throws: file, line and column of the source, the sample, and its last words", async () => {
    const code = [
      "interface Row {",
      "  answer?: { text: string };",
      "}",
      "",
      "export default ({ row }: { row: Row }): number => {",
      "  console.log('row', row);",
      "  return row.answer!.text.length;",
      "};",
    ].join("\n");
    const text = await failure(score(code, sample("a long answer".repeat(20), {})));
    expect(text).toMatch(
      /^bad-reward: .* cannot score the answer "a long answera .*…" to row row-1: .*script-\d+\.ts:7:\d+: TypeError: cannot read property 'text' of undefined; its console: row \{\}/,
    );
  });

  test.each([
    ["a wrong word", "export default () => {\n  let x = ;\n};", ".ts:2: "],
    ["an enum", "enum A { B }\nexport default () => 1;", ".ts:1: TypeScript enum is not supported"],
    ["an error at the top", "const a = 1;\nnull.x;\nexport default () => a;", ".ts:2:5: TypeError"],
    ["no default export", "export const a = 1;", "it has no default export that is a function"],
    ["a default that is none", "export default 5;", "it has no default export that is a function"],
    [
      "an import",
      "import fs from 'node:fs';\nexport default () => 1;",
      "a reward cannot import node:fs: it stands alone",
    ],
    ["parts of no kind", "export const parts = 5;\nexport default () => 1;", "the export parts is neither"],
    ["an endless top", "while (true) {}\nexport default () => 1;", "it took longer than 0.3 s"],
  ])("%s is found when it is opened", async (_, code, words) => {
    const text = await failure(hasty(code));
    expect(text).toMatch(/^bad-reward-file: /);
    expect(text).toContain(words);
  });

  test("plain JavaScript tells its line too", async () => {
    expect(await failure(open(file("plain.js", "export default () => {\n\n  let = ;\n}")))).toMatch(
      /plain\.js:3:\d+: SyntaxError/,
    );
  });

  test.each([
    ["an endless loop", "() => { for (;;) {} }", "it took longer than 0.3 s"],
    ["an endless pattern", "() => Number(/^(a+)+$/.test('a'.repeat(40) + 'b'))", "it took longer than 0.3 s"],
    ["a memory bomb", "() => { const a = []; for (;;) a.push(new Float64Array(1e5)); }", "it took more than 64 MB"],
    [
      "a text that grows",
      "() => { const a = []; for (;;) a.push('x'.repeat(1e6) + a.length); }",
      "it took more than 64 MB",
    ],
    ["one huge text", "() => 'x'.repeat(5e8).length", "it took more than 64 MB"],
    ["a stack overflow", "() => { const f = (n) => 1 + f(n + 1); return f(0); }", "call each other too deeply"],
  ])("%s fails, and the next sample is scored", async (_, code, words) => {
    const reward = await hasty(`export default ({ answer }) => (answer === "ok" ? 1 : (${code})());`);
    const text = await failure(reward.score(sample("x")));
    expect(text).toMatch(/^bad-reward: /);
    expect(text).toContain(words);
    expect((await reward.score(sample("ok"))).reward).toBe(1);
  });

  test("the event loop goes on while it hangs", async () => {
    const reward = await hasty("export default () => { for (;;) {} };");
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 20);
    await failure(reward.score(sample("x")));
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(4);
  });

  test("limits of the reward file", async () => {
    file("slow.js", "export default () => { for (;;) {} }");
    const reward = await open({ parts: [{ type: "script", file: "slow.js", timeout_seconds: 0.05, memory_mb: 8 }] });
    const begun = performance.now();
    expect(await failure(reward.score(sample("x")))).toContain("it took longer than 0.05 s");
    expect(performance.now() - begun).toBeLessThan(1000);
  });
});

describe("the sandbox", () => {
  let probe: Reward;

  beforeAll(async () => {
    const code = `export default async ({ answer }) => {
      let found = false;
      try { found = Boolean(await eval(answer)); } catch (error) { console.log(String(error)); }
      return Number(found);
    };`;
    probe = await openReward(file("probe.ts", code));
  });
  afterAll(() => probe.close());

  /** Whether code gets hold of what the expression stands for. */
  const reaches = async (expression: string) => (await probe.score(sample(expression))).reward === 1;

  test("the probe itself sees what is there", async () => {
    expect(await reaches("globalThis.JSON")).toBe(true);
    expect(await reaches("Function('return this')() === globalThis")).toBe(true);
  });

  test.each([
    "globalThis.process",
    "globalThis.require",
    "globalThis.module",
    "globalThis.Buffer",
    "globalThis.global",
    "globalThis.fetch",
    "globalThis.XMLHttpRequest",
    "globalThis.WebSocket",
    "globalThis.WebAssembly",
    "globalThis.setTimeout",
    "globalThis.Worker",
    "globalThis.std",
    "globalThis.os",
    "globalThis.Deno",
    "globalThis.SharedArrayBuffer",
    "globalThis.Atomics",
    "import('fs')",
    "import('node:child_process')",
    "import('./sandbox-worker.ts')",
    "import('data:text/javascript,export default 1')",
    "Function('return process')()",
    "Function('return import(\"fs\")')()",
    "(0, eval)('process')",
    "(async () => {}).constructor('return process')()",
    "(function* () {}).constructor('yield process')().next().value",
    "console.log.constructor('return process')()",
    "this?.constructor?.constructor('return process')()",
    "[].constructor.constructor('return globalThis.process')()",
    "Error().constructor.constructor('return process')()",
    "(() => { Error.prepareStackTrace = (_, frames) => frames[0].getThis(); return Error().stack.process; })()",
    "(() => { Object.prototype.__defineGetter__('sample', () => 1); return globalThis.process; })()",
    "new Proxy({}, { get: (_, key, self) => self.constructor.constructor('return process')() }).x",
  ])("%s leads nowhere", async (expression) => {
    expect(await reaches(expression)).toBe(false);
  });

  test("what it does to its built-ins stays with it", async () => {
    const code = `Object.prototype.evil = 1;
      Array.prototype.toJSON = () => 'x';
      JSON.stringify = () => '{"parts":{"a":1e9}}';
      JSON.parse = () => 5;
      Number.isFinite = () => true;
      Promise.prototype.then = () => 'x';
      export default (s) => ({ parts: { a: s.answer === 'abc' ? 1 : 0 } });`;
    expect(await score(code)).toEqual({ reward: 1, parts: { a: 1 } });
    expect(({} as Record<string, unknown>)["evil"]).toBeUndefined();
    expect(
      await failure(score("Number.isFinite = () => true; export default () => ({ parts: { a: NaN } });")),
    ).toContain("the part a is NaN");
  });

  test("its own key __proto__ changes no object here", async () => {
    const { parts } = await score(`export default () => ({ parts: JSON.parse('{"__proto__": 1, "a": 2}') });`);
    expect(parts["a"]).toBe(2);
    expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
  });

  test("no sample remembers an earlier one", async () => {
    const reward = await script("let seen = 0;\nglobalThis.n = 0;\nexport default () => ++seen + ++globalThis.n;");
    expect((await reward.score(sample("a"))).reward).toBe(2);
    expect((await reward.score(sample("b"))).reward).toBe(2);
  });

  test("random numbers follow from the answer, the clock stands still, local time is UTC", async () => {
    const code = `export default () => ({ parts: {
      random: Math.random(), again: Math.random(), now: Date.now(), made: new Date().getTime(), called: new Date(2024, 0, 1, 5).getTime(),
      zone: new Date(2024, 6, 1).getTimezoneOffset(), self: Number(new Date() instanceof Date && new Date().constructor === Date) } });`;
    const { parts: first } = await score(code);
    const { parts: second } = await score(code);
    const { parts: other } = await score(code, sample("abcd"));
    expect(second).toEqual(first);
    expect(first["random"]).not.toBe(first["again"]);
    expect(other["random"]).not.toBe(first["random"]);
    const still = Date.UTC(2025, 0, 1);
    expect(first).toMatchObject({ now: still, made: still, called: Date.UTC(2024, 0, 1, 5), zone: 0, self: 1 });
  });

  test("a console that never ends is cut", async () => {
    const { info } = await score(
      "export default () => { for (let i = 0; i < 500; i++) console.log('x'.repeat(5000)); return 1; };",
    );
    const { console: lines } = (info as Record<string, { console: string[] }>)[`script-${count}`];
    expect(lines.length).toBe(100);
    expect(lines[0].length).toBe(1000);
  });
});

test("256 samples of 500 tokens are scored in well under a second", async () => {
  const reward = await script("export default ({ completion_ids, answer }) => completion_ids.length + answer.length;");
  const long = { completion_ids: new Array<number>(500).fill(7), logprobs: new Array<number>(500).fill(-0.1234567) };
  await reward.score(sample("warm", {}, long));
  const begun = performance.now();
  const results = await Promise.all(
    Array.from({ length: 256 }, (_, i) => reward.score(sample("x".repeat(i), {}, { ...long, sample_index: i }))),
  );
  const seconds = (performance.now() - begun) / 1000;
  expect(results.map(({ reward: one }) => one)).toEqual(results.map((_, i) => 500 + i));
  // About 0.25 s on two cores; the bound leaves room for a busy machine.
  expect(seconds).toBeLessThan(2);
});
