/** `hone rm`: deletes a model or a downloaded dataset, after saying what goes. */

import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { formatBytes, plural } from "../contract/units.ts";
import { findLeftovers, removeLeftovers } from "../hub/storage/leftovers.ts";
import { planRemoval, removeModel, type RemovalPlan } from "../hub/storage/remove-model.ts";
import { runs, type Cli } from "./command.ts";
import { exitCodes, print, printJson, say, usageError } from "./terminal.ts";

export function addRemoveCommand(program: Command): void {
  const command = program
    .command("rm")
    .summary("delete a model or a downloaded dataset")
    .description(
      "Deletes exactly what it lists: a whole repository by OWNER/NAME, one revision by OWNER/NAME@REVISION, one file by OWNER/NAME:Q4_K_M. What another revision needs stays. Models of other programs are never deleted.",
    )
    .argument("[name]", "as `hone ls models` or `hone ls datasets` lists it")
    .option("--dataset", "NAME is a dataset")
    .option("--leftovers", "what downloads that did not end have left, of all models")
    .option("--dry-run", "say what would be deleted, and stop")
    .option("--yes", "do not ask");
  runs(command, async (cli, flags, [name]) => {
    if ((name === undefined) === (flags["leftovers"] !== true)) {
      throw usageError("name a model, or say --leftovers", "`hone ls models` lists the models");
    }
    const isDry = flags["dryRun"] === true;
    if (name === undefined) return cleanUp(cli, isDry, flags["yes"] === true);
    const plan = planRemoval(name, flags["dataset"] === true ? "dataset" : "model");
    if (!cli.json) print(planText(plan));
    const { reference, bytes, paths, kept_paths } = plan;
    if (isDry) return cli.json ? printJson({ reference, removed: false, bytes, paths, kept_paths }) : undefined;
    if (flags["yes"] !== true && !(await confirm(cli, `delete ${reference}?`))) return declined();
    const removal = removeModel(plan);
    if (cli.json) return printJson(removal);
    print(`${reference} is deleted, ${formatBytes(removal.bytes)} are free again`);
  });
}

function planText({ paths, kept_paths, bytes }: RemovalPlan): string {
  const kept = kept_paths.length === 0 ? [] : [`${plural(kept_paths.length, "file")} that others need stay`];
  return [...paths.map((path) => `  ${path}`), ...kept, `frees ${formatBytes(bytes)}`].join("\n");
}

async function cleanUp(cli: Cli, isDry: boolean, isSure: boolean): Promise<number | void> {
  const leftovers = findLeftovers();
  const bytes = leftovers.reduce((sum, one) => sum + one.bytes, 0);
  const result = { reference: "leftovers", bytes, paths: leftovers.map(({ path }) => path), kept_paths: [] };
  if (!cli.json) {
    if (leftovers.length === 0) return print("nothing is left of any download");
    for (const { path, id, bytes: size, what } of leftovers) print(`  ${path}: ${what} of ${id}, ${formatBytes(size)}`);
    print(`frees ${formatBytes(bytes)}; downloads of them begin anew`);
  }
  if (isDry || leftovers.length === 0) return cli.json ? printJson({ ...result, removed: false }) : undefined;
  if (!isSure && !(await confirm(cli, "delete them?"))) return declined();
  const freed = removeLeftovers(leftovers);
  if (cli.json) printJson({ ...result, bytes: freed, removed: true });
  else print(`${formatBytes(freed)} are free again`);
}

/** What follows in a shell with `&&` was meant for afterwards. */
function declined(): number {
  say("nothing was deleted");
  return exitCodes.failed;
}

/** Asks a person. Where there is none, nothing is deleted without `--yes`. */
async function confirm({ json, signal }: Cli, question: string): Promise<boolean> {
  if (json || !process.stdin.isTTY || !process.stderr.isTTY) {
    throw usageError("nothing was deleted: there is nobody to ask", "add --yes, or --dry-run to see what would go");
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await lines.question(`${question} [y/N] `, { signal })).trim());
  } finally {
    lines.close();
  }
}
