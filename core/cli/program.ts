/** The commands of `hone`. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, CommanderError } from "commander";
import { addAdviseCommand } from "./advise-command.ts";
import { addAppCommand } from "./app-command.ts";
import { addChatCommand } from "./chat-command.ts";
import { normalizeFlags } from "./config-flags.ts";
import { addDataCommand } from "./data-command.ts";
import { addDemoCommand } from "./demo-command.ts";
import { addEvalCommand } from "./eval-command.ts";
import { addGetCommand } from "./get-command.ts";
import { addMachineCommands } from "./machine-commands.ts";
import { addFitCommand } from "./fit-command.ts";
import { addPlayCommand } from "./play-command.ts";
import { addRemoveCommand } from "./rm-command.ts";
import { addRewardCommand } from "./reward-command.ts";
import { addRunCommands } from "./run-commands.ts";
import { addScoreCommand } from "./score-command.ts";
import { addSearchCommand } from "./search-command.ts";
import { addStarterCommand } from "./starter-command.ts";
import { addTaskCommand } from "./task-command.ts";
import { addTemplateCommand } from "./template-command.ts";
import { exitCodes, isFromNpm } from "./terminal.ts";
import { addTrainCommands } from "./train-command.ts";

/** All commands, grouped by what one wants. */
export function makeProgram(): Command {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "..", "..", "package.json"), "utf8")) as {
    version: string;
  };
  const program = new Command("hone")
    .description("Post-train language models on your own machine, and prove that it worked.")
    .version(version)
    .configureHelp({ minWidthToWrap: 20 })
    .showHelpAfterError("(`hone --help` shows what there is)")
    .addHelpText("after", () => helpEnd());
  program.commandsGroup("The whole loop:");
  addAppCommand(program);
  addDemoCommand(program);
  addAdviseCommand(program);
  program.commandsGroup("Models:");
  addSearchCommand(program);
  addFitCommand(program);
  addGetCommand(program);
  addRemoveCommand(program);
  program.commandsGroup("Tasks and data:");
  addTaskCommand(program);
  addDataCommand(program);
  program.commandsGroup("Train:");
  addTrainCommands(program);
  program.commandsGroup("Measure:");
  addEvalCommand(program);
  addScoreCommand(program);
  addRewardCommand(program);
  program.commandsGroup("Try:");
  addPlayCommand(program);
  addChatCommand(program);
  addTemplateCommand(program);
  program.commandsGroup("Look:");
  addRunCommands(program);
  addMachineCommands(program);
  addStarterCommand(program);
  program.addHelpCommand(new Command("help").argument("[command]").summary("explain a command").helpGroup("Look:"));
  throwInsteadOfExit(program);
  return program;
}

function helpEnd(): string {
  const lines = [
    "",
    "Begin with:",
    "  hone demo                 the whole loop on the starter model, in minutes",
    "  hone play --model RUN     play against what was trained",
    "  hone train --model starter --task tic-tac-toe --dry-run",
    "",
    "`hone COMMAND --help` explains a command and its options.",
    ...(isFromNpm() ? ["In this checkout `hone` is typed as: npm run -s hone --"] : []),
    "Runs live in ~/.hone/runs, or in the folder runs of HONE_HOME.",
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.",
  ];
  return lines.join("\n");
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride();
  for (const sub of command.commands) throwInsteadOfExit(sub);
}

/** Runs a command line (without the program's own name) and returns its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const program = makeProgram();
  const json = args.includes("--json");
  if (json) configureJsonErrors(program);
  if (args.length === 0) {
    program.outputHelp();
    return exitCodes.ok;
  }
  try {
    await program.parseAsync(normalizeFlags(args), { from: "user" });
    return Number(process.exitCode ?? exitCodes.ok);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return exitCodes.ok;
    if (json) {
      const message = error.message.replace(/^error: /, "").split("\n")[0];
      const fix = /\((Did you mean .*)\)/.exec(error.message)?.[1] ?? "`hone --help` shows what there is";
      process.stderr.write(`${JSON.stringify({ error: { code: "usage", message, fix } })}\n`);
    }
    return exitCodes.usage;
  }
}

/** With `--json` a usage error is told as JSON, by `main`. */
function configureJsonErrors(command: Command): void {
  command.configureOutput({ writeErr: () => undefined });
  for (const sub of command.commands) configureJsonErrors(sub);
}
