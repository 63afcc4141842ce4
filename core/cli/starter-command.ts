/** `hone starter`: remakes the starter model. */

import { resolve } from "node:path";
import type { Command } from "commander";
import { Session } from "../app/session.ts";
import { formatSeconds } from "../contract/units.ts";
import { makeStarter } from "../starter/make-starter.ts";
import { starterFolder } from "../train/model-ref.ts";
import { runs, wholeNumber } from "./command.ts";
import { print, printJson, say } from "./terminal.ts";

export function addStarterCommand(program: Command): void {
  const starter = program
    .command("starter")
    .summary("make the starter model again, from nothing")
    .description("Learns a vocabulary, trains random weights on boards read aloud, and writes the model folder.")
    .option("--out <folder>", "where to write it (default: the starter's own place)")
    .option("--seed <number>", "of weights and exchanges", wholeNumber(0))
    .option("--steps <number>", "optimizer steps (default: as the recipe says)", wholeNumber(1));
  runs(starter, async (cli, flags) => {
    const { out = starterFolder, seed, steps } = flags as { out?: string; seed?: number; steps?: number };
    const session = await Session.open();
    let last = { steps: 0, loss: 0, seconds: 0 };
    await makeStarter(session.engine, {
      out,
      ...(seed !== undefined && { seed }),
      ...(steps !== undefined && { steps }),
      onProgress: ({ step, steps: all, loss, seconds }) => {
        cli.signal.throwIfAborted();
        last = { steps: step, loss, seconds };
        if (step % 50 !== 0 && step !== all) return;
        const left = (seconds / step) * (all - step);
        say(`step ${step} of ${all}, loss ${loss.toFixed(4)}, ${formatSeconds(left)} left`);
      },
    });
    if (cli.json) printJson({ path: resolve(out), ...last });
    else print(`the starter model is in ${out}`);
  });
}
