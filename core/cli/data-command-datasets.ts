/** `hone data import | list | edit | undo | redo | history | diff | restore | keep | delete`: datasets with a history. */

import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { importData } from "../app/data/import-data.ts";
import { keepChoices, keepRollouts, type KeepChoice } from "../app/data/keep-rollouts.ts";
import { rolloutsOfRun } from "../app/data/stored-rollouts.ts";
import type { HistoryEntry, RowChange } from "../contract/data-json.ts";
import { textTable } from "../contract/text-table.ts";
import { formatBytes, formatCount, plural } from "../contract/units.ts";
import { isRecord } from "../contract/is-record.ts";
import {
  deleteDataset,
  datasetsFolder,
  openDataset,
  openOrCreateDataset,
  requireDataset,
  surveyDatasets,
  type Dataset,
} from "../data/dataset.ts";
import { parseMapping, type Mapping } from "../data/forms.ts";
import { openData } from "../data/open-data.ts";
import { parseJson } from "../data/parse-json.ts";
import { oneOf, realNumber, repeated, runs, wholeNumber, type Cli } from "./command.ts";
import { paint, print, printJson, say, usageError } from "./terminal.ts";

export const mapFlag = [
  "--map <field=column>",
  "how a column is called here, such as prompt=question,completion=answer",
  repeated,
] as const;

export function readMap(flags: Record<string, unknown>): Mapping {
  return parseMapping((flags["map"] as string[] | undefined) ?? []);
}

export function addDatasetCommands(data: Command): void {
  addImport(data);
  addList(data);
  addEdit(data);
  addBackAndForth(data);
  addHistory(data);
  addKeep(data);
  addDelete(data);
}

export function datasetCommand(data: Command, name: string, summary: string, description = summary): Command {
  return data.command(name).summary(summary).description(description).argument("<name>", "name of a dataset");
}

const open = async (name: string): Promise<Dataset> => openDataset(requireDataset(name));

function addImport(data: Command): void {
  const command = data
    .command("import")
    .summary("copy rows into the library, where they can be edited")
    .description(
      "Copies the good rows of a file into a dataset with a history. A dataset's name can stand wherever a file can.",
    )
    .argument("<file>", "file, name of a dataset, or - for what is piped in")
    .requiredOption("--name <name>", "name of the new dataset")
    .option(...mapFlag);
  runs(command, async (cli, flags, [file]) => {
    const opened = await openData(file, { map: readMap(flags), signal: cli.signal });
    const dataset = await importData(opened, flags["name"] as string);
    const summary = dataset.summary();
    if (cli.json) return printJson(summary);
    if (summary.set_aside_count > 0) {
      say(`${plural(summary.set_aside_count, "bad row")} left out; they are in ${summary.path}/set-aside.jsonl`);
    }
    print(`${plural(summary.rows, "row")} in the dataset ${summary.name}`);
  });
}

function addList(data: Command): void {
  const command = data.command("list").summary("list the datasets").description("Lists the datasets of the library.");
  runs(command, async (cli) => {
    const { datasets, damaged } = surveyDatasets();
    for (const { path, why } of damaged) say(`${path} cannot be read: ${why}`);
    if (cli.json) return printJson({ datasets });
    if (datasets.length === 0) return print(`no datasets yet in ${datasetsFolder()}`);
    const rows = datasets.map((one) => [
      one.name,
      formatCount(one.rows),
      String(one.point),
      one.created.slice(0, 16).replace("T", " "),
    ]);
    print(textTable([["dataset", "rows", "changes", "made"], ...rows]));
  });
}

function addEdit(data: Command): void {
  const command = datasetCommand(
    data,
    "edit",
    "change, add or delete rows",
    "Makes one change. It is a point of the history and can be undone.",
  );
  command
    .option("--row <number>", "row to change, from 1", wholeNumber(1))
    .option(
      "--set <field=value>",
      "new value of a field of that row: JSON, or otherwise text; an empty one removes it",
      repeated,
    )
    .option("--with <record>", "the whole new row as JSON; - reads stdin")
    .option(
      "--delete <number>",
      "delete this row; may be given several times",
      (text: string, earlier: number[] = []) => [...earlier, wholeNumber(1)(text)],
    )
    .option("--add <record>", "a new row as JSON, or a list of them; - reads stdin");
  runs(command, async (cli, flags, [name]) => {
    const dataset = await open(name);
    const {
      row,
      set,
      with: whole,
      delete: gone,
      add,
    } = flags as {
      row?: number;
      set?: string[];
      with?: string;
      delete?: number[];
      add?: string;
    };
    const actions = [set ?? whole, gone, add].filter((given) => given !== undefined);
    if (actions.length !== 1 || (set !== undefined && whole !== undefined)) {
      throw usageError("one change at a time", "give one of --row with --set or --with, --delete, --add");
    }
    if (gone !== undefined) return tell(cli, dataset, await dataset.delete(gone));
    if (add !== undefined) {
      const given = readValue(add, "--add");
      const records = Array.isArray(given) ? given : [given];
      return tell(cli, dataset, await dataset.add(records.map((record) => asRecord(record, "--add"))));
    }
    if (row === undefined) throw usageError("which row?", "name it with --row");
    const record =
      whole === undefined
        ? withFields((await dataset.row(row)).record, set ?? [])
        : asRecord(readValue(whole, "--with"), "--with");
    tell(cli, dataset, await dataset.edit(row, record));
  });
}

export function readValue(text: string, flag: string): unknown {
  const parsed = parseJson(text === "-" ? readFileSync(0, "utf8") : text);
  if ("fault" in parsed) throw usageError(`${flag} is no JSON: ${parsed.fault}`);
  return parsed.value;
}

function asRecord(value: unknown, flag: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw usageError(`${flag} must be an object`, 'such as {"prompt": "…", "completion": "…"}');
}

function withFields(record: Record<string, unknown>, assignments: readonly string[]): Record<string, unknown> {
  const changes = assignments.map((text) => {
    const equals = text.indexOf("=");
    if (equals < 1) throw usageError(`${JSON.stringify(text)} sets nothing`, "write --set field=value");
    const [field, given] = [text.slice(0, equals), text.slice(equals + 1)];
    const old = record[field];
    // Text stays text, also where it looks like JSON.
    const parsed = typeof old === "string" ? undefined : parseJson(given);
    return [field, given === "" ? undefined : parsed !== undefined && "value" in parsed ? parsed.value : given];
  });
  const all = { ...record, ...(Object.fromEntries(changes) as Record<string, unknown>) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function addBackAndForth(data: Command): void {
  runs(datasetCommand(data, "undo", "take the newest change back"), async (cli, _, [name]) => {
    const dataset = await open(name);
    tell(cli, dataset, dataset.undo());
  });
  runs(datasetCommand(data, "redo", "do an undone change again"), async (cli, _, [name]) => {
    const dataset = await open(name);
    tell(cli, dataset, dataset.redo());
  });
  const restore = datasetCommand(data, "restore", "make the rows what they were at a point of the history");
  restore.requiredOption("--to <point>", "0 is the import", wholeNumber());
  runs(restore, async (cli, flags, [name]) => {
    const dataset = await open(name);
    tell(cli, dataset, dataset.restore(flags["to"] as number));
  });
}

function addHistory(data: Command): void {
  runs(datasetCommand(data, "history", "every change, from the first to the newest"), async (cli, _, [name]) => {
    const dataset = await open(name);
    if (cli.json) return printJson({ name, history: dataset.history });
    if (dataset.point === 0) return print("as imported");
    const rows = dataset.history.map(({ point, time, kind, note, changes }) => [
      String(point),
      `${new Date(time * 1000).toISOString().slice(0, 16).replace("T", " ")}  ${kind.padEnd(7)}  ${note} (${plural(changes.length, "row")})`,
    ]);
    print(textTable(rows));
  });
  const diff = datasetCommand(data, "diff", "which rows differ between two points of the history");
  diff
    .option("--from <point>", "0 is the import", wholeNumber(), 0)
    .option("--to <point>", "default: now", wholeNumber());
  runs(diff, async (cli, flags, [name]) => {
    const dataset = await open(name);
    const [from, to] = [flags["from"] as number, (flags["to"] as number | undefined) ?? dataset.point];
    const changes = dataset.diff(from, to);
    if (cli.json) return printJson({ name, from, to, changes });
    print(changes.length === 0 ? "no difference" : changes.map(changeText).join("\n"));
  });
}

function changeText({ id, before, after }: RowChange): string {
  const line = (sign: string, record: Record<string, unknown> | null, colour: "red" | "green") =>
    record === null ? [] : [paint(colour, `${sign} ${JSON.stringify(record)}`)];
  return [`id ${id}`, ...line("-", before, "red"), ...line("+", after, "green")].join("\n");
}

export function tell(cli: Cli, dataset: Dataset, entry: HistoryEntry): void {
  const { kind, note, changes } = entry;
  if (cli.json) printJson({ name: dataset.name, rows: dataset.size, point: dataset.point, kind, note, changes });
  else print(`${note}: ${dataset.name} has ${plural(dataset.size, "row")} (point ${dataset.point})`);
}

function addDelete(data: Command): void {
  const command = datasetCommand(
    data,
    "delete",
    "remove a whole dataset",
    "Removes a dataset with all its rows and its history, for good. `hone data edit NAME --delete ROW` removes rows.",
  );
  runs(command, async (cli, _, [name]) => {
    const { summary, bytes } = await deleteDataset(name);
    if (cli.json) return printJson({ ...summary, bytes });
    print(`the dataset ${name} is gone: ${plural(summary.rows, "row")}, ${formatBytes(bytes)} freed`);
  });
}

function addKeep(data: Command): void {
  const keep = data
    .command("keep")
    .summary("keep a run's good answers as rows to train on")
    .description(
      "Takes the stored answers of a run: all that are good enough, the best of each group (rejection sampling, for SFT), or the best beside the worst (for DPO). A dataset that is not there yet is made.",
    )
    .argument("<run>", "name or folder of a run")
    .requiredOption("--name <name>", "dataset to add them to")
    .requiredOption(
      "--min-reward <number>",
      "required; answers with less reward are left out, of pairs the better one counts; -1e9 takes all",
      realNumber(-Infinity),
    )
    .option(
      "--step <number|all>",
      "training step",
      (text: string) => (text === "all" ? text : wholeNumber(1)(text)),
      "all",
    )
    .option("--choose <which>", keepChoices.join(", "), oneOf(...keepChoices), "best");
  runs(keep, async (cli, flags, [run]) => {
    const name = flags["name"] as string;
    const stored = await rolloutsOfRun(run, flags["step"] as number | "all");
    const {
      records,
      answers,
      repeated: same,
    } = keepRollouts(stored, flags["choose"] as KeepChoice, flags["minReward"] as number);
    const dataset = await openOrCreateDataset(name, `answers of ${run}`);
    const again = same === 0 ? "" : `, ${formatCount(same)} said before`;
    const note = `${plural(records.length, "row")} kept of ${plural(answers, "answer")} of ${run}${again}`;
    tell(cli, dataset, await dataset.add(records, note));
  });
}
