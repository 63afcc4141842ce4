import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findViolations, MAX_LINES, type SourceFile } from "./layers.ts";

/** Files over `MAX_LINES` lines, each with the reason why it is not two. */
const LONG_FILES: Readonly<Record<string, string>> = {};

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = ["core", "electron", "renderer", "native", "test"];
const NOT_SOURCE = /(^|\/)(node_modules|target|dist|fixtures)(\/|$)|^native\/binding\/index\.d\.ts$/;

function sourceFiles(): SourceFile[] {
  const top = readdirSync(ROOT);
  return FOLDERS.filter((folder) => top.includes(folder)).flatMap(filesIn);
}

function filesIn(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (NOT_SOURCE.test(path)) return [];
    if (entry.isDirectory()) return filesIn(path);
    return /\.(tsx?|rs|toml)$/.test(path) ? [{ path, text: readFileSync(join(ROOT, path), "utf8") }] : [];
  });
}

describe("the source tree", () => {
  it("is read at all", () => {
    const paths = sourceFiles().map((file) => file.path);
    expect(paths).toContain("core/contract/errors.ts");
    expect(paths).toContain("native/engine/Cargo.toml");
  });

  it("keeps the dependency rules", () => {
    expect(findViolations(sourceFiles(), LONG_FILES)).toEqual([]);
  });
});

describe("the rules", () => {
  const check = (path: string, text: string) => findViolations([{ path, text }], {});

  // Each of these is one violation; the words are what the finding must say.
  const REFUSED: readonly [path: string, text: string, words: string][] = [
    ["core/text/tokenizer.ts", 'import { open } from "../engine/engine.ts";', "independent"],
    ["core/tasks/task.ts", 'import type { Loop } from "../train/loop.ts";', "core/train comes after core/tasks"],
    ["core/train/loop.ts", 'export { app } from "../app.ts";', "core/app comes after core/train"],
    ["core/app.ts", 'const cli = await import("./cli/table.ts");', "core/cli comes after core/app"],
    ["core/contract/errors.ts", 'import { join } from "../files/atomic.ts";', "core/files comes after core/contract"],
    ["core/contract/units.ts", 'import { join } from "node:path";', "without Node"],
    ["core/contract/units.ts", 'import { promises } from "fs/promises";', "without Node"],
    ["core/serve/http.ts", 'import { app } from "electron";', "without a window"],
    ["core/host.ts", 'import { useState } from "react";', "without a window"],
    ["core/host.ts", 'import { jsx } from "react/jsx-runtime";', "without a window"],
    ["core/host.ts", 'import { App } from "../renderer/app.tsx";', "stands alone"],
    ["core/train/loop.ts", 'import { sharedPath } from "../../test/shared.ts";', "stands alone"],
    ["core/extras/thing.ts", "export const x = 1;", "no place in the order"],
    [
      "core/train/loop.ts",
      'import native from "../../native/binding/hone.linux-x64-gnu.node";',
      "loads the native addon",
    ],
    ["core/train/loop.ts", "const file = `${root}/native/binding/${name}`;", "loads the native addon"],
    ["core/train/loop.ts", "process.dlopen(module, path);", "loads the native addon"],
    ["core/train/loop.ts", 'import { createRequire } from "node:module";', "loads the native addon"],
    ["renderer/board.tsx", 'import { readFileSync } from "node:fs";', "neither Node nor electron"],
    ["renderer/board.tsx", 'import { ipc } from "electron";', "neither Node nor electron"],
    ["renderer/board.tsx", 'import type { Task } from "../core/tasks/task.ts";', "only core/contract"],
    ["renderer/board.tsx", 'import { x } from "../electron/ipc.ts";', "only core/contract"],
    ["electron/main.ts", 'import { App } from "../renderer/app.tsx";', "built renderer"],
    ["electron/window.ts", 'import { ipcMain } from "electron";', "raw IPC"],
    ["renderer/api.ts", "window.ipcRenderer.send(1);", "raw IPC"],
    ["native/engine/src/lib.rs", "// called from JS\n", 'says "JS"'],
    ["native/engine/Cargo.toml", 'napi = "=3.16.1"\n', 'says "napi"'],
    ["core/train/GspoLoop.ts", "", "kebab-case"],
    ["core/train/gspo_loop.ts", "", "kebab-case"],
    ["native/engine/src/rmsNorm.rs", "", "snake_case"],
    ["core/train/loop.ts", "\n".repeat(MAX_LINES + 1), `${MAX_LINES + 1} lines`],
    ["native/engine/src/gguf.rs", "\n".repeat(MAX_LINES + 1), `${MAX_LINES + 1} lines`],
  ];
  it.each(REFUSED.map(([path, text, words]) => ({ path, text, words })))(
    "refuses: $words in $path",
    ({ path, text, words }) => {
      const found = check(path, text);
      expect(found.join("\n")).toContain(words);
      expect(found.join("\n")).toContain(path);
    },
  );

  // What the rules must leave alone.
  const ALLOWED: readonly [path: string, text: string][] = [
    ["core/train/loop.ts", 'import { open } from "../engine/engine.ts"; import { readFileSync } from "node:fs";'],
    ["core/engine/engine.ts", 'const native = createRequire(import.meta.url)("../../native/binding/x.node");'],
    ["core/cli.ts", 'import { app } from "./app.ts"; import { host } from "./host.ts"; import "./cli/help.ts";'],
    ["core/text/template.ts", 'import { x } from "./tokenizer.ts"; import type { Y } from "../contract/run.ts";'],
    ["core/contract/run.ts", 'import { z } from "zod"; export const text = "see ipcMain, react, node:fs";'],
    [
      "renderer/board.tsx",
      'import { x } from "../core/contract/run.ts"; import { Line } from "recharts"; import "./a.css";',
    ],
    ["electron/ipc.ts", 'import { ipcMain } from "electron"; import { app } from "../core/app.ts";'],
    ["native/binding/src/lib.rs", "use napi_derive::napi; // for JS\n"],
    ["native/engine/src/gguf.rs", "// metadata is stored as JSON; tss\n"],
    ["core/train/loop.ts", "\n".repeat(MAX_LINES)],
    ["native/engine/src/gguf.rs", `fn f() {}\n#[cfg(test)]\nmod tests {\n${"\n".repeat(MAX_LINES)}}\n`],
  ];
  it.each(ALLOWED.map(([path, text]) => ({ path, text })))("allows what $path does", ({ path, text }) => {
    expect(check(path, text)).toEqual([]);
  });

  it("lets one file import recharts, and names all when there are more", () => {
    const text = 'import { Line } from "recharts";';
    const files = ["renderer/chart.tsx", "renderer/card.tsx"].map((path) => ({ path, text }));
    expect(findViolations(files, {})).toEqual([
      "renderer/chart.tsx, renderer/card.tsx: only one file may import recharts",
    ]);
  });

  it("lets a listed file be long, and asks to drop one from the list that no longer is", () => {
    const long = { path: "core/train/loop.ts", text: "\n".repeat(MAX_LINES + 1) };
    const reasons = { "core/train/loop.ts": "reads top to bottom" };
    expect(findViolations([long], reasons)).toEqual([]);
    expect(findViolations([{ ...long, text: "" }], reasons)).toEqual([
      "core/train/loop.ts: is listed as a long file and is none",
    ]);
  });
});
