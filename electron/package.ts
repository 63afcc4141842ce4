/** `npm run package [-- OPTIONS]`: the installers of `electron-builder.yml`, of what `npm start` opens. Options are electron-builder's. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { buildApp } from "./build.ts";

const root = join(import.meta.dirname, "..");
buildApp();
const builder = join(root, "node_modules", "electron-builder", "cli.js");
const { status } = spawnSync(process.execPath, [builder, "--publish", "never", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
