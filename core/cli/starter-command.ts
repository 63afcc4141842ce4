/** `hone starter`: remakes the starter model. */

import type { Command } from "commander";
import { Session } from "../app/session.ts";
import { makeStarter } from "../starter/make-starter.ts";
import { starterFolder } from "../train/model-ref.ts";
import { runs, wholeNumber } from "./command.ts";
import { print, say } from "./terminal.ts";

export function addStarterCommand(program: Command): void {
  const starter = program
    .command("starter")
    .summary("make the starter model again, from nothing")
    .description("Learns a vocabulary, trains random weights on boards read aloud, and writes the model folder.")
    .option("--out <folder>", "where to write it (default: the starter's own place)")
    .option("--seed <number>", "of weights and exchanges", wholeNumber(0))
    .option("--steps <number>", "optimizer steps (default: as the recipe says)", wholeNumber(1));
  runs(starter, async (_cli, flags) => {
    const { out = starterFolder, seed, steps } = flags as { out?: string; seed?: number; steps?: number };
    const session = await Session.open();
    await makeStarter(session.engine, {
      out,
      ...(seed !== undefined && { seed }),
      ...(steps !== undefined && { steps }),
      onProgress: ({ step, steps: all, loss, seconds }) => {
        if (step % 50 !== 0 && step !== all) return;
        const left = (seconds / step) * (all - step);
        say(`step ${step} of ${all}, loss ${loss.toFixed(4)}, ${seconds.toFixed(0)} s, ${left.toFixed(0)} s left`);
      },
    });
    print(`The starter model is in ${out}.`);
  });
}
