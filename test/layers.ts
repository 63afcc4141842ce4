/**
 * The dependency rules of the source tree, as a function from file texts to violations in words.
 *
 * Imports are read from the syntax tree, type-only and dynamic ones included: a type that leaks upward ties two layers
 * together just as well as a value does.
 */

import { builtinModules } from "node:module";
import { posix } from "node:path";
import ts from "typescript";

export interface SourceFile {
  /** Relative to the repository root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** The core from left to right: a file imports only from its own column and from columns before it. */
const CORE_ORDER: readonly (readonly string[])[] = [
  ["contract"],
  ["files"],
  ["text", "store", "hub", "engine"],
  ["data"],
  ["rewards"],
  ["tasks"],
  ["evaluate"],
  ["train"],
  ["serve", "starter"],
  ["app", "bench"],
  ["cli", "host"],
];

/** Neighbours in one column that know nothing of each other: each of them can be replaced alone. */
const INDEPENDENT: readonly string[] = ["text", "store", "hub", "engine"];

/** Lines after which a file has to be in `LONG_FILES`, with the reason why it is not two. */
export const MAX_LINES = 500;

/** What the core must run without. */
const NOT_IN_CORE = /^(electron|react|react-dom|recharts|zustand|@mantine\/[^/]+)(\/|$)/;

const RAW_IPC_FILES: readonly string[] = ["electron/ipc.ts", "electron/preload.ts"];

interface Facts {
  /** Module names as written. */
  readonly imports: readonly string[];
  readonly strings: readonly string[];
  readonly identifiers: ReadonlySet<string>;
}

/** Everything in `files` that breaks a rule, one sentence each, naming the file first. */
export function findViolations(files: readonly SourceFile[], longFiles: Readonly<Record<string, string>>): string[] {
  const found: string[] = [];
  const chartFiles: string[] = [];
  for (const file of files) {
    found.push(...nameViolations(file.path), ...lengthViolations(file, longFiles));
    if (file.path.startsWith("native/engine/")) found.push(...engineViolations(file));
    if (!/^(core|electron|renderer)\/.*\.tsx?$/.test(file.path)) continue;
    const facts = readFacts(file);
    found.push(...facts.imports.flatMap((name) => importViolations(file.path, name)));
    found.push(...useViolations(file.path, facts));
    if (facts.imports.some((name) => name === "recharts" || name.startsWith("recharts/"))) chartFiles.push(file.path);
  }
  if (chartFiles.length > 1) found.push(`${chartFiles.join(", ")}: only one file may import recharts`);
  for (const path of Object.keys(longFiles)) {
    const file = files.find((one) => one.path === path);
    if (file === undefined || lines(file) <= MAX_LINES) found.push(`${path}: is listed as a long file and is none`);
  }
  return found;
}

function importViolations(path: string, name: string): string[] {
  const no = (reason: string) => [`${path}: imports "${name}": ${reason}`];
  const target = name.startsWith(".") ? posix.join(posix.dirname(path), name) : undefined;
  const isBuiltin = name.startsWith("node:") || builtinModules.includes(name.split("/")[0] ?? "");
  if (path.startsWith("renderer/")) {
    if (name === "electron" || isBuiltin) return no("the renderer has neither Node nor electron");
    if (target !== undefined && !/^(renderer|core\/contract)\//.test(target)) {
      return no("of Hone, the renderer sees only core/contract");
    }
  }
  if (path.startsWith("electron/") && target?.startsWith("renderer/")) return no("electron loads the built renderer");
  if (!path.startsWith("core/")) return [];
  if (NOT_IN_CORE.test(name)) return no("the core runs without a window");
  if (target !== undefined && /^(electron|renderer|test)\//.test(target)) return no("the core stands alone");
  if (path.startsWith("core/contract/") && isBuiltin) return no("the renderer loads the contract too, without Node");
  return target?.startsWith("core/") ? orderViolations(path, target, no) : [];
}

function orderViolations(path: string, target: string, no: (reason: string) => string[]): string[] {
  const [from, to] = [corePart(path), corePart(target)];
  const column = (part: string) => CORE_ORDER.findIndex((parts) => parts.includes(part));
  // Reported once, for the file itself, by `nameViolations`.
  if (column(from) < 0 || column(to) < 0) return [];
  if (column(to) > column(from)) return no(`core/${to} comes after core/${from}`);
  if (from !== to && INDEPENDENT.includes(from) && INDEPENDENT.includes(to)) {
    return no(`core/${from} and core/${to} are independent of each other`);
  }
  return [];
}

/** `core/cli.ts` and `core/cli/table.ts` are both part `cli`. */
function corePart(path: string): string {
  return path.split("/")[1]?.replace(/\.tsx?$/, "") ?? "";
}

function useViolations(path: string, { strings, identifiers }: Facts): string[] {
  const found: string[] = [];
  if (!path.startsWith("core/engine/")) {
    const addon = strings.find((text) => /native\/binding|\.node$/.test(text));
    if (addon !== undefined) found.push(`${path}: names "${addon}": only core/engine loads the native addon`);
    for (const loader of ["createRequire", "dlopen"]) {
      if (identifiers.has(loader)) found.push(`${path}: uses ${loader}: only core/engine loads the native addon`);
    }
  }
  if (!RAW_IPC_FILES.includes(path)) {
    for (const raw of ["ipcMain", "ipcRenderer"]) {
      if (identifiers.has(raw)) found.push(`${path}: uses ${raw}: only ${RAW_IPC_FILES.join(" and ")} touch raw IPC`);
    }
  }
  return found;
}

function engineViolations({ path, text }: SourceFile): string[] {
  const found: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const word = /napi|javascript|typescript|node\.js|\bnodejs\b/i.exec(line)?.[0] ?? /\bJS\b|\bTS\b/.exec(line)?.[0];
    if (word !== undefined) found.push(`${path}:${index + 1}: says "${word}": the engine knows nothing of its caller`);
  }
  return found;
}

function nameViolations(path: string): string[] {
  const name = posix.basename(path);
  const found: string[] = [];
  if (/\.tsx?$/.test(name) && !/^[a-z0-9]+(-[a-z0-9]+)*(\.(test|config|d))?\.tsx?$/.test(name)) {
    found.push(`${path}: TypeScript files are named in kebab-case`);
  }
  if (name.endsWith(".rs") && !/^[a-z0-9]+(_[a-z0-9]+)*\.rs$/.test(name)) {
    found.push(`${path}: Rust files are named in snake_case`);
  }
  if (path.startsWith("core/") && !CORE_ORDER.flat().includes(corePart(path))) {
    found.push(`${path}: core/${corePart(path)} has no place in the order of the core (test/layers.ts)`);
  }
  return found;
}

function lengthViolations(file: SourceFile, longFiles: Readonly<Record<string, string>>): string[] {
  if (lines(file) <= MAX_LINES || file.path in longFiles) return [];
  return [`${file.path}: has ${lines(file)} lines: split it, or list it in test/layers.test.ts with the reason`];
}

/** Lines of a file. A Rust file's unit tests, which by custom close the file, are not counted. */
function lines({ path, text: whole }: SourceFile): number {
  const tests = path.endsWith(".rs") ? whole.search(/^#\[cfg\(test\)\]\nmod tests \{/m) : -1;
  const text = tests < 0 ? whole : whole.slice(0, tests);
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function readFacts({ path, text }: SourceFile): Facts {
  const imports = ts.preProcessFile(text, true, true).importedFiles.map((one) => one.fileName);
  const strings: string[] = [];
  const identifiers = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      strings.push(node.text);
    } else if (ts.isIdentifier(node)) identifiers.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest));
  return { imports, strings, identifiers };
}
