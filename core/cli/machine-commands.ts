/** `hone devices` and `hone bench`. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { Session } from "../app/session.ts";
import { bench, needsGguf, type BenchOptions, type BenchResult } from "../bench/bench.ts";
import { formatBytes, formatCount, formatPercent } from "../contract/units.ts";
import { runs, wholeNumber } from "./command.ts";
import { print, printJson, say, usageError } from "./terminal.ts";

const ggufName = "SmolLM2-135M-Instruct.Q4_1.gguf";

export function addMachineCommands(program: Command): void {
  const devices = program
    .command("devices")
    .summary("what this machine can compute with")
    .description("Lists processors with their memory and what they are good for.");
  runs(devices, async (cli) => {
    const session = await Session.open();
    const list = session.engine.devices();
    if (cli.json) {
      const document = list.map(({ memoryTotal, memoryFree, ...device }) => ({
        ...device,
        memory_total: memoryTotal,
        memory_free: memoryFree,
      }));
      return printJson({ devices: document });
    }
    for (const { name, kind, memoryTotal, memoryFree, threads, simd, note } of list) {
      print(`${kind}: ${name}, ${threads} threads, ${simd}`);
      print(`  memory ${formatBytes(memoryTotal)}, ${formatBytes(memoryFree)} free`);
      print(`  ${note}`);
    }
  });

  const measure = program
    .command("bench")
    .summary("measure the engine's speed on this machine")
    .description("Trains, samples and multiplies in fixed shapes and prints the speeds.")
    .option("--gguf <file>", `${ggufName}, for the measurements of a quantised model (default: where it is found)`)
    .option("--only <name>", "only measurements with this in their name")
    .option("--runs <number>", "runs of each, of which the median counts", wholeNumber(1))
    .option("--threads <number>", "processor threads (default: all)", wholeNumber(1));
  runs(measure, async (cli, flags) => {
    const { only, runs: repeats, threads } = flags as BenchOptions;
    const gguf = needsGguf(only) ? findGguf(flags["gguf"] as string | undefined) : undefined;
    const report = await bench({
      ...(gguf !== undefined && { gguf }),
      ...(only !== undefined && { only }),
      ...(repeats !== undefined && { runs: repeats }),
      ...(threads !== undefined && { threads }),
      signal: cli.signal,
      onResult: (result) => (cli.json ? say(resultText(result)) : print(resultText(result))),
    });
    if (cli.json) printJson(report);
  });
}

/** The file that the user names, or the one in the folder beside the checkout; told on stderr when there is none. */
function findGguf(given: string | undefined): string | undefined {
  if (given !== undefined) {
    if (!existsSync(given)) throw usageError(`there is no file ${given}`, `--gguf takes ${ggufName}`);
    return given;
  }
  const beside = fileURLToPath(new URL("../../../shared", import.meta.url));
  const path = join(resolve(process.env["HONE_SHARED"] ?? beside), "models", ggufName);
  if (existsSync(path)) {
    say(`quantised model: ${path}`);
    return path;
  }
  say(`the figures of a quantised model are left out: give ${ggufName} with --gguf to have them`);
  return undefined;
}

function resultText({ name, value, unit, higher_is_better, shares }: BenchResult): string {
  const parts = Object.entries(shares ?? {}).map(([part, share]) => `${part} ${formatPercent(share as number)}`);
  const note = higher_is_better ? parts.join(", ") : "(lower is better)";
  const number = value < 100 ? String(Number(value.toPrecision(3))) : formatCount(value);
  return `${name.padEnd(34)} ${number.padStart(12)} ${unit} ${note}`.trimEnd();
}
