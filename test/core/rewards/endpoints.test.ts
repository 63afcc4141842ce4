/** Rewards and judges behind addresses: what is sent, retried, kept and refused. */

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { failure, open, sample, scratch } from "./sample.ts";

interface Asked {
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}
type Reply = string | { status: number; body: string; headers?: Record<string, string> } | undefined;

/** A server on this machine, and what it was asked. */
async function serve(answer: (asked: Asked, count: number) => Reply): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const one = { path: request.url ?? "", headers: request.headers, body };
      asked.push(one);
      const reply = answer(one, asked.length);
      if (reply === undefined) return;
      const { status, body: text, headers = {} } = typeof reply === "string" ? { status: 200, body: reply } : reply;
      response.writeHead(status, headers).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const idOf = ({ body }: Asked) => (JSON.parse(body) as { id: number }).id;

describe("http", () => {
  test("one line there, one line back", async () => {
    const { url, asked } = await serve((one) => `${JSON.stringify({ id: idOf(one), parts: { a: 0.5 } })}\n`);
    const reward = await open({ parts: [{ name: "mine", type: "http", url }] });
    expect(await reward.score(sample("x", { column: 1 }))).toMatchObject({ reward: 0.5, parts: { "mine/a": 0.5 } });
    const sent = JSON.parse(asked[0].body) as { sample: unknown };
    expect(asked[0].body.endsWith("\n")).toBe(true);
    expect(sent.sample).toEqual(sample("x", { column: 1 }));
  });

  test("what may pass by itself is tried again", async () => {
    const { url, asked } = await serve((one, n) =>
      n < 3
        ? { status: 503, body: "busy", headers: { "retry-after": "0" } }
        : JSON.stringify({ id: idOf(one), reward: 1 }),
    );
    expect((await (await open({ parts: [{ type: "http", url }] })).score(sample("x"))).reward).toBe(1);
    expect(asked.length).toBe(3);
  });

  test("what will not pass is told at once", async () => {
    const { url, asked } = await serve(() => ({ status: 400, body: "no such field" }));
    const text = await failure((await open({ parts: [{ type: "http", url }] })).score(sample("x")));
    expect(text).toMatch(/^bad-reward: .*"x" to row row-1: .*400 Bad Request: no such field/);
    expect(asked.length).toBe(1);
  });

  test("nobody there, no answer in time, a redirect, no reply line", async () => {
    const gone = await open({ parts: [{ type: "http", url: "http://127.0.0.1:9", retries: 0 }] });
    expect(await failure(gone.score(sample("x")))).toMatch(
      /^reward-unavailable: .*gets no answer from http:\/\/127.0.0.1:9/,
    );
    const { url: slow } = await serve(() => undefined);
    const late = await open({ parts: [{ type: "http", url: slow, timeout_seconds: 0.2, retries: 0 }] });
    expect(await failure(late.score(sample("x")))).toMatch(/^bad-reward: .*no answer within 0.2 s/);
    const { url: away } = await serve(() => ({ status: 302, body: "", headers: { location: "http://example.com/" } }));
    const led = await open({ parts: [{ type: "http", url: away, retries: 0 }] });
    expect(await failure(led.score(sample("x")))).toMatch(/^reward-unavailable: .*redirect/);
    const { url: odd } = await serve(() => "fine");
    expect(await failure((await open({ parts: [{ type: "http", url: odd }] })).score(sample("x")))).toContain(
      "no JSON",
    );
  });

  test.each([
    "http://example.com/reward",
    "http://10.0.0.5:80",
    "http://127.0.0.1.example.com",
    "http://localhost.example.com",
    "http://[::2]",
  ])("%s is not on this machine", async (url) => {
    const text = await failure(open({ parts: [{ type: "http", url }] }));
    expect(text).toMatch(/^bad-reward-file: .*is not on this machine → .*"allow_remote": true/);
    await open({ parts: [{ type: "http", url, allow_remote: true }] });
  });

  test.each(["ftp://localhost/x", "localhost:80", "http://user:secret@localhost/"])("%s is refused", async (url) => {
    expect(await failure(open({ parts: [{ type: "http", url }] }))).toMatch(/^bad-reward-file/);
  });
});

const completion = (text: string) =>
  JSON.stringify({ choices: [{ message: { content: text } }], usage: { prompt_tokens: 10, completion_tokens: 2 } });

describe("judge", () => {
  const cacheFolder = join(scratch, "judge");
  const judge = (url: string, more: Record<string, unknown> = {}, env: Record<string, string> = {}) => {
    rmSync(cacheFolder, { recursive: true, force: true });
    return open(
      { parts: [{ type: "judge", url: `${url}/v1`, model: "m", retries: 0, ...more }] },
      { cacheFolder, env },
    );
  };

  test("its number on its scale becomes 0 … 1; places of the prompt are filled in once", async () => {
    const { url, asked } = await serve(() => completion("I would say 7."));
    const reward = await judge(url, { prompt: "{{prompt}} | {{answer}} | {{topic}} | {{max}}", system: "Be strict." });
    const scored = await reward.score(sample("say {{topic}}", { topic: "birds" }));
    expect(scored).toEqual({ reward: 0.7, parts: { judge: 0.7 }, info: { judge: { judge: "I would say 7." } } });
    expect(asked[0].path).toBe("/v1/chat/completions");
    expect(asked[0].headers.authorization).toBeUndefined();
    expect(JSON.parse(asked[0].body)).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be strict." },
        { role: "user", content: "What is it? | say {{topic}} | birds | 10" },
      ],
      temperature: 0,
      max_tokens: 256,
    });
  });

  test("the same question is asked once: at the same time, later, and in the next run", async () => {
    const { url, asked } = await serve(() => completion("5"));
    const reward = await judge(url);
    await Promise.all([reward.score(sample("a")), reward.score(sample("a")), reward.score(sample("b"))]);
    await reward.score(sample("a"));
    expect(asked.length).toBe(2);
    expect(reward.usage()).toEqual({ calls: 2, cached: 2, prompt_tokens: 20, completion_tokens: 4 });
    const again = await open({ parts: [{ type: "judge", url: `${url}/v1`, model: "m" }] }, { cacheFolder });
    expect((await again.score(sample("b"))).reward).toBe(0.5);
    const other = await open({ parts: [{ type: "judge", url: `${url}/v1`, model: "m2" }] }, { cacheFolder });
    await other.score(sample("b"));
    expect(asked.length).toBe(3);
    expect(again.usage()).toEqual({ calls: 0, cached: 1, prompt_tokens: 0, completion_tokens: 0 });
  });

  test("no more at once than it is told", async () => {
    let [now, most] = [0, 0];
    const { url } = await serve(() => {
      now += 1;
      most = Math.max(most, now);
      setImmediate(() => (now -= 1));
      return completion("1");
    });
    const reward = await judge(url, { concurrency: 2 });
    await Promise.all(Array.from({ length: 12 }, (_, i) => reward.score(sample(String(i)))));
    expect(most).toBeLessThanOrEqual(2);
  });

  test("the key comes from the environment, and stands nowhere else", async () => {
    const key = "sk-very-secret-123";
    const { url, asked } = await serve((_, n) =>
      n === 1 ? completion("3") : { status: 401, body: `wrong key ${key}, ask your admin` },
    );
    const reward = await judge(url, { api_key_env: "JUDGE_KEY" }, { JUDGE_KEY: key });
    const scored = await reward.score(sample("a"));
    expect(asked[0].headers.authorization).toBe(`Bearer ${key}`);
    const text = await failure(reward.score(sample("b")));
    expect(text).toMatch(/^reward-unavailable: .*401 Unauthorized: wrong key \*\*\*, ask your admin/);
    const kept = readdirSync(cacheFolder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
    expect(kept).toEqual(['{"text":"3"}']);
    for (const said of [JSON.stringify(scored), JSON.stringify(reward), text, ...kept]) expect(said).not.toContain(key);
  });

  test("a key that is not set, or that stands in the file", async () => {
    expect(await failure(judge("http://localhost", { api_key_env: "JUDGE_KEY" }))).toContain(
      "the environment variable JUDGE_KEY is not set",
    );
    expect(await failure(judge("http://localhost", { api_key_env: "sk-123" }))).toContain(
      "the name of an environment variable, not the key",
    );
    expect(await failure(judge("https://api.example.com"))).toContain("is not on this machine");
    expect(await failure(judge("http://localhost", { min: 5, max: 5 }))).toContain("min 5 is not below max 5");
  });

  test.each([
    ["no idea", "has no number"],
    ["11", "says 11, which is not in 0 … 10"],
    ["-3", "says -3, which is not in 0 … 10"],
  ])("%s is no grade, and is not kept as one", async (words, why) => {
    const { url, asked } = await serve((_, n) => completion(n === 1 ? words : "5"));
    const reward = await judge(url);
    expect(await failure(reward.score(sample("a")))).toContain(why);
    expect((await reward.score(sample("a"))).reward).toBe(0.5);
    expect(asked.length).toBe(2);
  });

  test("where the number stands can be said", async () => {
    const { url } = await serve(() => completion("SCORE: 2 of 5"));
    expect((await (await judge(url, { parse: "SCORE: (\\d+)", max: 5 })).score(sample("a"))).reward).toBe(0.4);
  });

  test("an endpoint that is none", async () => {
    const { url } = await serve(() => "<html>");
    expect(await failure((await judge(url)).score(sample("a")))).toContain("is no chat completion: <html>");
  });
});
