/** `hone devices`. */

import type { Command } from "commander";
import { Session } from "../app/session.ts";
import { formatBytes } from "../contract/units.ts";
import { runs } from "./command.ts";
import { print, printJson } from "./terminal.ts";

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
}
