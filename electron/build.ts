/**
 * Makes the desktop app's folder (`dist/app`): `core/` and `electron/` as JavaScript, and beside them what they read
 * (assets, examples, the native addon, the built page) as links, so that every path is as in the checkout.
 *
 *     node electron/build.ts [FOLDER]
 *
 * Types are not checked here. Electron takes no TypeScript, and a sandboxed preload script has to be CommonJS.
 */

import { existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import ts from "typescript";

const root = join(import.meta.dirname, "..");
const linked = ["assets", "examples", "native", "node_modules"];
const notForTheApp = /^core\/(cli|bench|host\/host\.ts|starter\/make-starter)|^electron\/(build|package)\.ts/;

/** Returns the folder. What was there before is replaced. */
export function buildApp(folder = join(root, "dist", "app"), renderer = join(root, "dist", "renderer")): string {
  // Links are removed, not what they lead to.
  rmSync(folder, { recursive: true, force: true });
  for (const path of globSync("{core,electron}/**/*.ts", { cwd: root })) {
    const name = path.replaceAll("\\", "/");
    if (!notForTheApp.test(name)) writeScript(name, folder);
  }
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const about = { name: "hone", productName: "Hone", version, type: "module", main: "electron/main.js" };
  writeFileSync(join(folder, "package.json"), JSON.stringify(about, undefined, 2));
  for (const name of linked) link(join(root, name), join(folder, name));
  mkdirSync(join(folder, "dist"));
  link(renderer, join(folder, "dist", "renderer"));
  return folder;
}

function writeScript(name: string, folder: string): void {
  const isPreload = name === "electron/preload.ts";
  const source = readFileSync(join(root, name), "utf8")
    // Of imports the compiler sees to it; a worker's file is named in a URL.
    .replaceAll(/new URL\("(\.[^"]+)\.ts", import\.meta\.url\)/g, 'new URL("$1.js", import.meta.url)');
  const { outputText, diagnostics = [] } = ts.transpileModule(source, {
    fileName: name,
    reportDiagnostics: true,
    compilerOptions: {
      target: ts.ScriptTarget.ES2024,
      module: isPreload ? ts.ModuleKind.CommonJS : ts.ModuleKind.ESNext,
      verbatimModuleSyntax: !isPreload,
      rewriteRelativeImportExtensions: true,
    },
  });
  const [problem] = diagnostics;
  if (problem !== undefined) throw new Error(`${name}: ${ts.flattenDiagnosticMessageText(problem.messageText, " ")}`);
  const target = join(folder, name.replace(/\.ts$/, isPreload ? ".cjs" : ".js"));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, outputText);
}

function link(from: string, to: string): void {
  if (existsSync(from)) symlinkSync(from, to, "junction");
}

if (import.meta.main) buildApp(process.argv[2] === undefined ? undefined : resolve(process.argv[2]));
