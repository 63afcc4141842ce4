/** `hone task`: what there is to train on, one's own tasks, and what is wrong with them. */

import type { Command } from "commander";
import { checkUserTask } from "../app/tasks/check-user-task.ts";
import { newTask, taskTemplates, type TaskTemplate } from "../app/tasks/new-task.ts";
import { listTasks, showTask, taskCheckText, taskListText, taskShowText } from "../app/tasks/task-views.ts";
import { splits, type Split } from "../contract/eval.ts";
import { shellWord } from "../contract/units.ts";
import { dataOptions, openTask } from "../tasks/open-task.ts";
import type { Task } from "../tasks/task.ts";
import { addChatFlags, addDataFlags, dataChoices, modelChoices, oneOf, runs, wholeNumber } from "./command.ts";
import { exitCodes, print, printJson, say } from "./terminal.ts";

const templates = Object.keys(taskTemplates) as TaskTemplate[];

export function addTaskCommand(program: Command): void {
  const task = program
    .command("task")
    .summary("tasks: list, show, make and check them")
    .description(
      "A task is what a model is trained and measured on: one that comes with Hone, a folder with a task.json, or a data file. Folders are found by their path, and by their name in ./tasks and in the library (~/.hone/tasks).",
    );

  runs(task.command("ls").summary("list the tasks").description("Lists the tasks that can be named."), async (cli) => {
    const list = listTasks();
    if (cli.json) printJson(list);
    else print(taskListText(list));
  });

  const show = task
    .command("show")
    .summary("a task and one of its rows, as the model sees it")
    .description("Shows a task's parts, reward and failure kinds, and one row with prompt, tools and right answer.")
    .argument("<task>", "name, folder or data file")
    .option("--row <number>", "which row of the part, from 1", wholeNumber(1), 1)
    .option("--split <part>", splits.join(", "), oneOf(...splits), "train");
  runs(addDataFlags(show), async (cli, flags, [reference]) => {
    await withTask(reference, flags, async (opened) => {
      const shown = showTask(opened, { split: flags["split"] as Split, row: flags["row"] as number });
      if (cli.json) printJson(shown);
      else print(taskShowText(shown));
    });
  });

  const make = task
    .command("new")
    .summary("make a task folder that works at once")
    .description(
      ["Makes a task folder from a template, to be changed step by step:"]
        .concat(templates.map((name) => `  ${name.padEnd(11)}${taskTemplates[name].summary}`))
        .join("\n"),
    )
    .argument("<name>", "small letters, digits and -")
    .option("--template <name>", templates.join(", "), oneOf(...templates), "qa")
    .option("--out <folder>", "where to (default: the library)");
  runs(make, async (cli, flags, [name]) => {
    const out = flags["out"] as string | undefined;
    const template = flags["template"] as TaskTemplate;
    const made = await newTask(name, { template, ...(out !== undefined && { out }) });
    if (cli.json) return printJson(made);
    print(`made ${made.path}: ${made.files.join(", ")}`);
    const word = out === undefined ? name : shellWord(made.path);
    say(`next: change task.json, then \`hone task check ${word}\``);
  });

  const check = task
    .command("check")
    .summary("find what is wrong with a task before training on it")
    .description(
      "Tries right, wrong and empty answers on a task's rows and tells what is wrong: rewards that are constant or cannot be reached, rows that stand in two parts, prompts that are too long, episodes that never end. Ends with 1 when something must be mended.",
    )
    .argument("<task>", "name, folder or data file")
    .option("--model <model>", "count prompts in this model's tokens instead of characters");
  runs(addChatFlags(addDataFlags(check)), async (cli, flags, [reference]) =>
    withTask(reference, flags, async (opened) => {
      const model = flags["model"] as string | undefined;
      const choices = model === undefined ? undefined : { reference: model, choices: modelChoices(flags) };
      const found = await checkUserTask(opened, choices, cli.signal);
      if (cli.json) printJson(found);
      else print(taskCheckText(found));
      return found.ok ? exitCodes.ok : exitCodes.failed;
    }),
  );
}

async function withTask<T>(
  reference: string,
  flags: Record<string, unknown>,
  use: (task: Task) => Promise<T>,
): Promise<T> {
  const opened = await openTask(reference, dataOptions(dataChoices(flags)));
  try {
    return await use(opened);
  } finally {
    await opened.close?.();
  }
}
