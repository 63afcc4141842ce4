/** Nothing phones home: with every way out of the process closed and watched, the whole loop runs, and nobody tries (E13). */

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tinyModel } from "../train/tiny-model.ts";
import { hone, newHome } from "./hone.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-no-network-"));
const tried = join(scratch, "tried.txt");
const hook = join(scratch, "hook.mjs");

writeFileSync(
  hook,
  `import { appendFileSync } from "node:fs";
import dgram from "node:dgram";
import dns from "node:dns";
import net from "node:net";
import { syncBuiltinESMExports } from "node:module";
const closed = (what) => function (...args) {
  appendFileSync(${JSON.stringify(tried)}, what + " " + JSON.stringify(args[0] ?? null) + "\\n");
  throw new Error("the network is closed");
};
net.Socket.prototype.connect = closed("connect");
dgram.createSocket = closed("datagram");
for (const name of ["lookup", "resolve"]) {
  dns[name] = closed(name);
  dns.promises[name] = closed(name);
}
syncBuiltinESMExports();
`,
);

const before = process.env["NODE_OPTIONS"];
let model: string;

beforeAll(async () => {
  model = await tinyModel();
  process.env["NODE_OPTIONS"] = [before, `--import=${pathToFileURL(hook).href}`].filter(Boolean).join(" ");
});

afterAll(() => {
  if (before === undefined) delete process.env["NODE_OPTIONS"];
  else process.env["NODE_OPTIONS"] = before;
});

test("the watch sees who tries", () => {
  const attempt = (code: string) => execFileSync(process.execPath, ["--input-type=module", "-e", code]);
  attempt(`await fetch("http://127.0.0.1:12345/").catch(() => undefined)`);
  attempt(
    `import dns from "node:dns/promises"; await Promise.try(() => dns.lookup("localhost")).catch(() => undefined)`,
  );
  expect(readFileSync(tried, "utf8").match(/^(connect|lookup) /gm)).toEqual(["connect ", "lookup "]);
  writeFileSync(tried, "");
});

test("baseline, training, comparison, report, advice: no attempt", { timeout: 120_000 }, async () => {
  const home = newHome();
  const data = join(scratch, "rows.jsonl");
  const rows = Array.from({ length: 40 }, (_, i) => ({ prompt: `Row ${i}?`, completion: ["red", "blue"][i % 2] }));
  writeFileSync(data, rows.map((row) => JSON.stringify(row) + "\n").join(""));
  const quick = ["--max-steps", "2", "--limit", "8", "--eval-size", "4", "--max-completion-length", "16"];
  const commands = [
    ["demo", "--model", model, "--games", "2", ...quick, "--prompts-per-step", "2", "--out", join(scratch, "demo")],
    ["train", "--model", model, "--task", data, "--method", "sft", "--max-steps", "2", "--eval-size", "4"],
    ["advise", data],
    ["data", "stats", data],
    ["devices"],
  ];
  for (const args of commands) {
    const { code, stderr } = await hone(args, { home });
    expect(code, `${args.join(" ")}\n${stderr}`).toBe(0);
  }
  expect(existsSync(join(scratch, "demo", "report.txt"))).toBe(true);
  expect(readFileSync(tried, "utf8")).toBe("");
});
