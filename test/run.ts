/**
 * The checks of `npm test`, one after the other: one line each, the output of what failed in full, a total at the end.
 *
 *     npm test                       everything
 *     npm test -- rust|ts|lint|e2e   one part
 *
 * A check that is no test runner counts as one test. Started by setup.mjs, which has set up Node, npm and cargo.
 */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cargoCounts, vitestCounts, type Counts } from "./run-counts.ts";

const ROOT = resolve(fileURLToPath(new URL("..", import.meta.url)));
const SCRATCH = mkdtempSync(join(tmpdir(), "hone-test-"));

interface Check {
  name: string;
  parts: readonly string[];
  run: () => Promise<Outcome>;
}

interface Outcome extends Counts {
  /** Shown when something failed. */
  output: string;
}

interface Finished {
  ok: boolean;
  output: string;
}

const node = (script: string, ...args: string[]) => execute(process.execPath, [join("node_modules", script), ...args]);
const cargo = (...args: string[]) => execute("cargo", args, join(ROOT, "native"));

const CHECKS: readonly Check[] = [
  { name: "prettier", parts: ["lint"], run: () => single(node("prettier/bin/prettier.cjs", "--check", ".")) },
  { name: "eslint", parts: ["lint"], run: () => single(node("eslint/bin/eslint.js", ".", "--max-warnings=0")) },
  { name: "types", parts: ["lint", "types", "ts"], run: () => single(node("typescript/bin/tsc")) },
  { name: "layers", parts: ["lint"], run: () => vitest("test/layers.test.ts") },
  { name: "declarations", parts: ["rust"], run: () => Promise.resolve(declarations()) },
  { name: "cargo fmt", parts: ["rust"], run: () => single(cargo("fmt", "--check", "--", "--color=never")) },
  { name: "cargo clippy", parts: ["rust"], run: clippy },
  { name: "cargo test", parts: ["rust"], run: cargoTest },
  { name: "vitest", parts: ["ts"], run: () => vitest("--exclude=test/layers.test.ts", "--exclude=test/e2e/**") },
  { name: "end to end", parts: ["e2e"], run: endToEnd },
];

/** What `npm run format` repairs. */
const REPAIRS: readonly Check[] = [
  { name: "eslint --fix", parts: ["format"], run: () => single(node("eslint/bin/eslint.js", ".", "--fix")) },
  { name: "prettier", parts: ["format"], run: () => single(node("prettier/bin/prettier.cjs", "--write", ".")) },
  { name: "cargo fmt", parts: ["format"], run: () => single(cargo("fmt")) },
];

function clippy(): Promise<Outcome> {
  return single(
    cargo("clippy", "--workspace", "--all-targets", "--release", "--locked", "--quiet", "--", "-Dwarnings"),
  );
}

async function cargoTest(): Promise<Outcome> {
  // The binding needs Node around it: it is tested from TypeScript. Release, because the tests compute.
  const args = ["test", "--workspace", "--exclude=hone-binding", "--release", "--locked", "--no-fail-fast"];
  const { ok, output } = await cargo(...args);
  return { ...cargoCounts(output, ok), output };
}

async function vitest(...args: string[]): Promise<Outcome> {
  const report = join(SCRATCH, "vitest.json");
  rmSync(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { ok, output } = await node("vitest/vitest.mjs", "run", ...args, ...reporters);
  return { ...vitestCounts(existsSync(report) ? readFileSync(report, "utf8") : undefined, ok), output };
}

/** One file after the other: each has a browser, a Hone and often a training run, and some measure time. */
function endToEnd(): Promise<Outcome> {
  return vitest("test/e2e", "--no-file-parallelism");
}

/** The committed declarations of the native binding are those that its Rust source generates. */
function declarations(): Outcome {
  const stampFile = join(ROOT, "native", "binding", "build.stamp");
  const file = join(ROOT, "native", "binding", "index.d.ts");
  const stamp = JSON.parse(readFileSync(stampFile, "utf8")) as { declarations: string | null };
  const found = existsSync(file) ? createHash("sha256").update(readFileSync(file)).digest("hex") : null;
  if (found === stamp.declarations) return { passed: 1, failed: 0, skipped: 0, output: "" };
  const output =
    "native/binding/index.d.ts is not what native/binding/src generates.\n" +
    "Delete native/binding/build.stamp, run `npm run setup` (without CI set) and commit the file.";
  return { passed: 0, failed: 1, skipped: 0, output };
}

async function single(check: Promise<Finished>): Promise<Outcome> {
  const { ok, output } = await check;
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0, output };
}

/** Runs a program with both its streams captured in order. */
function execute(program: string, args: string[], cwd = ROOT): Promise<Finished> {
  return new Promise((done) => {
    const env = { ...process.env, NO_COLOR: "1", CARGO_TERM_COLOR: "never" };
    const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text: string) => (output += text));
    }
    child.on("error", (error) => done({ ok: false, output: `cannot start ${program}: ${error.message}` }));
    child.on("close", (code) => done({ ok: code === 0, output }));
  });
}

async function main(): Promise<void> {
  const [part, ...rest] = process.argv.slice(2);
  const parts = [...new Set(CHECKS.flatMap((check) => check.parts))];
  if (rest.length > 0 || (part !== undefined && part !== "format" && !parts.includes(part))) {
    console.error(`There is no such part of the tests. There are: ${parts.join(", ")}; without one, all of them run.`);
    process.exitCode = 2;
    return;
  }
  const total = { passed: 0, failed: 0, skipped: 0 };
  const broken: string[] = [];
  const selected = part === "format" ? REPAIRS : CHECKS.filter((one) => part === undefined || one.parts.includes(part));
  for (const check of selected) {
    const start = performance.now();
    process.stdout.write(`${check.name.padEnd(14)}`);
    const outcome = await check.run();
    const seconds = `${((performance.now() - start) / 1000).toFixed(1)} s`.padStart(8);
    const tests = outcome.passed + outcome.failed;
    const verdict =
      outcome.failed > 0 ? `FAILED (${outcome.failed} of ${tests})` : tests > 0 ? `ok (${tests})` : "none";
    process.stdout.write(`${seconds}  ${verdict}\n`);
    if (outcome.failed > 0) console.log(outcome.output.trimEnd());
    else
      for (const line of outcome.output.split("\n")) if (/^(skipped|measured): /.test(line)) console.log(`  ${line}`);
    if (outcome.failed > 0) broken.push(check.name);
    total.passed += outcome.passed;
    total.failed += outcome.failed;
    total.skipped += outcome.skipped;
  }
  if (broken.length > 0) console.log(`\nfailed: ${broken.join(", ")}`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
  process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
}

try {
  await main();
} finally {
  rmSync(SCRATCH, { recursive: true, force: true });
}
