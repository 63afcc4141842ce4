/** `hone app`: the app in a browser. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { hostname } from "node:os";
import type { Command } from "commander";
import { startHost } from "../host/host.ts";
import { runs, wholeNumber } from "./command.ts";
import { print, say } from "./terminal.ts";

export function addAppCommand(program: Command): void {
  const app = program
    .command("app")
    .summary("open the app in a browser")
    .description(
      "Serves the app to this machine's browsers, on loopback. For a machine without a screen: `hone app --host` there, " +
        "and `ssh -L PORT:127.0.0.1:PORT MACHINE` on the machine in front of you.",
    )
    .option("--host", "only serve: open no browser, and print the address")
    .option("--port <number>", "port on 127.0.0.1 (default: a free one)", wholeNumber(0));
  runs(app, async (cli, flags) => {
    const port = flags["port"] as number | undefined;
    const host = await startHost({ ...(port !== undefined && { port }) });
    print(host.url);
    if (flags["host"] !== true) openBrowser(host.url);
    else {
      const tunnel = `ssh -L ${host.port}:127.0.0.1:${host.port} ${hostname()}`;
      say(`in front of another machine: \`${tunnel}\` there, then open the address above in its browser`);
    }
    say("the app is open for as long as this command runs: Enter prints another one-time address, Ctrl-C ends it");
    process.stdin.on("data", () => {
      print(host.newUrl());
    });
    if (!cli.signal.aborted) await once(cli.signal, "abort");
    process.stdin.destroy();
    await host.close();
  });
}

function openBrowser(url: string): void {
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", "", url]
        : ["xdg-open", url];
  const child = spawn(program, args, { stdio: "ignore", detached: true });
  child.on("error", () => {
    say("no browser could be started: open the address above in one");
  });
  child.unref();
}
