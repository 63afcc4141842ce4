/** `hone reward new` and `check`: every kind works at once, every type of part has a made answer. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkReward, newReward } from "../../../../core/app/rewards/check-reward.ts";
import { checkText } from "../../../../core/app/rewards/reward-text.ts";
import { rewardCheckSchema, rewardPartSchemas, type RewardFile } from "../../../../core/contract/reward.ts";
import { failure } from "../../rewards/sample.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-check-"));

function rewardFile(content: RewardFile): string {
  const path = join(scratch, "reward-file.json");
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const check = (content: RewardFile, sample?: unknown) => checkReward(rewardFile(content), content, sample);

const hasPython = (() => {
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    process.stderr.write("skipped: hone reward new, .py (there is no python3 here)\n");
    return false;
  }
})();

test.each([".ts", ".json", ...(hasPython ? [".py"] : [])])("a new %s tells right from wrong at once", async (kind) => {
  const path = join(scratch, `new${kind}`);
  newReward(path);
  const content = kind === ".json" ? (JSON.parse(readFileSync(path, "utf8")) as unknown) : undefined;
  const result = await checkReward(path, content);
  expect(rewardCheckSchema.strict().parse(result)).toEqual(result);
  const rewards = result.samples.map(({ reward }) => reward);
  expect(result.samples.map(({ completion }) => completion)).toEqual(["4", "The answer is 4.", "Five, I think.", ""]);
  expect(rewards[0]).toBe(rewards[1]);
  expect(rewards[0] - rewards[2]).toBeCloseTo(1, 12);
  expect(checkText(result)).toContain("works.");
  // It is never written over.
  expect(await failure(Promise.resolve().then(() => newReward(path)))).toContain("file-exists");
});

test("a new file of another kind, or nowhere", async () => {
  const make = (path: string) => failure(Promise.resolve().then(() => newReward(path)));
  expect(await make(join(scratch, "x.js"))).toContain(
    "a reward file ends in .ts, .json, .py → a .ts file may be plain JavaScript",
  );
  expect(await make(join(scratch, "x"))).toContain("usage: ");
  expect(await make(join(scratch, "nowhere", "x.ts"))).toContain("there is no folder");
});

test("every type of part can be checked on made answers", async () => {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const reply = { id: (JSON.parse(body) as { id?: number }).id, reward: 1 };
      response.end(JSON.stringify(request.url === "/" ? reply : { choices: [{ message: { content: "5" } }] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(scratch, "one.js"), "export default () => 1;");
  writeFileSync(
    join(scratch, "one.mjs"),
    `import { createInterface } from "node:readline";
     for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify({ id: JSON.parse(line).id, reward: 1 }));`,
  );
  const options: Record<string, object> = {
    regex: { pattern: "4" },
    json_schema: { schema: true },
    length: { max: 9 },
    words: { column: "list" },
    judge: { url, model: "m", cache: false },
    script: { file: "one.js" },
    command: { command: [process.execPath, "one.mjs"] },
    http: { url },
  };
  for (const type of Object.keys(rewardPartSchemas) as (keyof typeof rewardPartSchemas)[]) {
    const part = { type, ...options[type] };
    expect((await check({ parts: [part] })).samples.length, type).toBe(4);
    if (["exact_match", "numeric", "fields", "tool_call", "similarity"].includes(type)) {
      expect((await check({ parts: [{ ...part, column: "own" }] })).samples.length, type).toBe(4);
    }
  }
});

test("a sample of one's own; what it leaves out is filled in", async () => {
  const content: RewardFile = { parts: [{ type: "exact_match", column: "colour" }] };
  const result = await check(content, { answer: "red", row: { colour: "red" } });
  expect(result.samples).toEqual([{ completion: "red", row: { colour: "red" }, reward: 1, parts: { exact_match: 1 } }]);
  expect(await failure(check(content, { answer: "red", rows: {} }))).toMatch(
    /^bad-sample: the sample is wrong: .*rows/,
  );
  expect(await failure(check(content, { answer: 5 }))).toMatch(/^bad-sample: the sample is wrong: /);
});

test("a script that needs another column is told how to give one", async () => {
  const path = join(scratch, "needs.js");
  writeFileSync(path, "export default ({ row }) => row.colour.length;");
  expect(await failure(checkReward(path, undefined))).toMatch(
    /cannot read property 'length' of undefined.* → if it needs other columns, give a row with --sample FILE/,
  );
});

test("a program that hangs ends when the check is stopped", async () => {
  const program = join(scratch, "hangs.mjs");
  writeFileSync(program, "process.stdin.resume(); process.on('SIGTERM', () => undefined); setInterval(() => 0, 1000);");
  const content: RewardFile = { parts: [{ type: "command", command: [process.execPath, program] }] };
  const controller = new AbortController();
  const begun = performance.now();
  setTimeout(() => controller.abort(), 200);
  await expect(checkReward(rewardFile(content), content, undefined, controller.signal)).rejects.toMatchObject({
    name: "AbortError",
  });
  expect(performance.now() - begun).toBeLessThan(1900);
});

test("an address that never answers, and a script without end, too", async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const script = join(scratch, "endless.js");
  writeFileSync(script, "export default () => { for (;;); };");
  for (const part of [
    { type: "http", url },
    { type: "script", file: script, timeout_seconds: 30 },
  ] as RewardFile["parts"]) {
    const controller = new AbortController();
    const begun = performance.now();
    setTimeout(() => controller.abort(), 300);
    const checked = checkReward(rewardFile({ parts: [part] }), undefined, undefined, controller.signal);
    await expect(checked).rejects.toMatchObject({ name: "AbortError" });
    expect(performance.now() - begun).toBeLessThan(4000);
  }
});
