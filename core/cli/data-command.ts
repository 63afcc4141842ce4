/** `hone data check | show | tokens | stats | split | export | …`: what is in a file of rows, and what training would see. */

import { resolve } from "node:path";
import type { Command } from "commander";
import { Session } from "../app/session.ts";
import { measureTokens } from "../app/data/measure-tokens.ts";
import { tokenView } from "../app/data/token-view.ts";
import { messageText, functionOf, type ChatMessage } from "../contract/chat.ts";
import type { DataReport, DataStats, TokenView } from "../contract/data-json.ts";
import { dataShapes, isSetAside, type DataEntry } from "../contract/data.ts";
import { textTable } from "../contract/text-table.ts";
import { formatCount, plural, shellWord } from "../contract/units.ts";
import { lossMasks } from "../contract/config.ts";
import { exportData, exportFormats, type ExportFormat } from "../data/export.ts";
import { openData, type Data } from "../data/open-data.ts";
import { exportShapes, type ExportShape } from "../data/shapes.ts";
import { partFiles, splitData } from "../data/split.ts";
import { dataStats } from "../data/statistics.ts";
import type { RowLoss } from "../evaluate/trained-row.ts";
import { requireFilePlace, requireWritable } from "../files/system-error.ts";
import { findModel } from "../train/model-ref.ts";
import { addChatFlags, modelChoices, oneOf, realNumber, runs, wholeNumber, type Cli } from "./command.ts";
import { addDatasetCommands, mapFlag, readMap } from "./data-command-datasets.ts";
import { addRateCommand } from "./data-command-rate.ts";
import { exitCodes, paint, print, printJson, say, usageError } from "./terminal.ts";

const shownSetAside = 20;

export function addDataCommand(program: Command): void {
  const data = program
    .command("data")
    .summary("check, look at, measure, divide, convert and edit rows")
    .description(
      "Works on files (JSON Lines, JSON, CSV, TSV, Parquet, plain text), on datasets of the library, and with - on what is piped in.",
    );
  addCheck(data);
  addShow(data);
  addTokens(data);
  addStats(data);
  addSplit(data);
  addExport(data);
  addDatasetCommands(data);
  addRateCommand(data);
}

/** The file, and how its columns are called. */
function fileCommand(data: Command, name: string, summary: string, description: string): Command {
  return data
    .command(name)
    .summary(summary)
    .description(description)
    .argument("<file>", "file, name of a dataset, or - for what is piped in")
    .option(...mapFlag);
}

function open(file: string, flags: Record<string, unknown>, { signal }: Cli): Promise<Data> {
  return openData(file, { map: readMap(flags), signal });
}

function addCheck(data: Command): void {
  const check = fileCommand(
    data,
    "check",
    "is every row good, and what is it for?",
    "Reads every row and tells what it is for, by the exact names of its columns. Bad rows are listed with line, row and reason. Exit code 1 when no row is good.",
  );
  runs(check, async (cli, flags, [file]) => {
    const report = await (await open(file, flags, cli)).check();
    if (cli.json) printJson(report);
    else print(checkText(report));
    return report.ok === 0 ? exitCodes.failed : exitCodes.ok;
  });
}

function checkText(report: DataReport): string {
  const { format, shape, rows, ok, set_aside, set_aside_count, mapping, warnings } = report;
  const shapeName = shape === null ? "of no known shape" : `${shape}: ${dataShapes[shape]}`;
  const mapped = Object.entries(mapping).map(([field, column]) => (field === column ? field : `${field} ← ${column}`));
  const more = set_aside_count - Math.min(set_aside.length, shownSetAside);
  return [
    `${format}, ${plural(rows, "row")}, ${shapeName}`,
    paint(
      set_aside_count === 0 ? "green" : "yellow",
      `${formatCount(ok)} good, ${formatCount(set_aside_count)} set aside`,
    ),
    `columns: ${report.columns.join(", ")}`,
    ...(mapped.length > 0 ? [`read as: ${mapped.join(", ")}`] : []),
    ...(set_aside_count > 0 ? ["", "set aside:"] : []),
    ...set_aside.slice(0, shownSetAside).map(({ line, row, reason }) => `  line ${line}, row ${row}: ${reason}`),
    ...(more > 0 ? [`  and ${plural(more, "other")} (--json lists the first thousand)`] : []),
    ...(warnings.length > 0 ? ["", "notes:"] : []),
    ...warnings.map((warning) => `  ${warning}`),
  ].join("\n");
}

function addShow(data: Command): void {
  const show = fileCommand(data, "show", "one row as Hone understands it", "Shows one row, or why it is set aside.");
  show.requiredOption("--row <number>", "number of the record, from 1", wholeNumber(1));
  runs(show, async (cli, flags, [file]) => {
    const number = flags["row"] as number;
    const opened = await open(file, flags, cli);
    const entry = await opened.row(number);
    if (cli.json) return printJson(entry);
    print(rowText(entry));
  });
}

function rowText(entry: DataEntry): string {
  const head = `row ${entry.place.row}, line ${entry.place.line}`;
  if (isSetAside(entry)) return `${head}: set aside: ${entry.reason}`;
  const { place: _, shape, columns, tools, ...body } = entry;
  const parts = Object.entries(body).map(([name, value]) => `${paint("bold", name)}\n${valueText(value)}`);
  const others = Object.entries(columns).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`);
  return [
    `${head}, ${shape}: ${dataShapes[shape]}`,
    ...parts,
    ...(tools === undefined
      ? []
      : [`${paint("bold", "tools")}\n  ${tools.map((tool) => tool.function.name).join(", ")}`]),
    ...(others.length === 0 ? [] : [`${paint("bold", "other columns")}\n${others.join("\n")}`]),
  ].join("\n");
}

function valueText(value: unknown): string {
  if (!Array.isArray(value)) return `  ${typeof value === "string" ? value : JSON.stringify(value)}`;
  if (typeof value[0] === "number") return `  ${value.join(" ")}`;
  return (value as ChatMessage[])
    .map((message) => {
      const calls = (message.tool_calls ?? []).map((call) => `\n    call ${JSON.stringify(functionOf(call))}`);
      return `  ${message.role}: ${messageText(message)}${calls.join("")}`;
    })
    .join("\n");
}

function addModel(command: Command, required: boolean): Command {
  const [flag, text] = [
    "--model <model>",
    "folder, .gguf file, OWNER/NAME, `starter`, or RUN[:step]: whose tokens and template",
  ];
  if (required) command.requiredOption(flag, text);
  else command.option(flag, text);
  return addChatFlags(command).option(
    "--loss-mask <mode>",
    `which tokens are trained: ${lossMasks.join(", ")} (default: as the row's shape suggests)`,
    oneOf(...lossMasks),
  );
}

async function openChat(flags: Record<string, unknown>) {
  const session = await Session.open();
  return session.openChat(await findModel(flags["model"] as string), modelChoices(flags));
}

function addTokens(data: Command): void {
  const tokens = fileCommand(
    data,
    "tokens",
    "one row as the exact tokens, trained ones marked",
    "Renders one row with the model's own template, exactly as training does. Trained tokens are green and stand in ⟦ ⟧.",
  );
  addModel(tokens.requiredOption("--row <number>", "number of the record, from 1", wholeNumber(1)), true);
  runs(tokens, async (cli, flags, [file]) => {
    const entry = await (await open(file, flags, cli)).row(flags["row"] as number);
    if (isSetAside(entry)) {
      const { row, line } = entry.place;
      throw usageError(`row ${row} (line ${line}) is set aside: ${entry.reason}`, "mend it, or choose another row");
    }
    const view = tokenView(await openChat(flags), entry, (flags["lossMask"] as RowLoss | undefined) ?? null);
    if (cli.json) return printJson(view);
    print(tokensText(view));
    if (view.rejected !== undefined) print(`\nthe rejected answer:\n${tokensText(view.rejected)}`);
  });
}

/** Brackets where the trained stretches begin and end: seen also without colour, and by a screen reader. */
function tokensText({ ids, pieces, trained }: Omit<TokenView, "rejected">): string {
  const shown = pieces.map((piece, i) => {
    const opens = trained[i] && !(trained[i - 1] ?? false) ? "⟦" : "";
    const closes = trained[i] && !(trained[i + 1] ?? false) ? "⟧" : "";
    return trained[i] ? `${opens}${paint("green", piece)}${closes}` : piece;
  });
  const count = trained.filter(Boolean).length;
  return `${shown.join("")}\n\n${plural(ids.length, "token")}, ${formatCount(count)} trained\n${ids.join(",")}`;
}

function addStats(data: Command): void {
  const stats = fileCommand(
    data,
    "stats",
    "lengths, duplicates, near-duplicates, empty answers, leaked rows",
    "Measures all good rows: in tokens of a model with --model, otherwise in characters.",
  );
  addModel(stats, false).option("--against <file>", "a test set: rows whose prompt stands in it are listed as leaked");
  runs(stats, async (cli, flags, [file]) => {
    const opened = await open(file, flags, cli);
    const chat = flags["model"] === undefined ? undefined : await openChat(flags);
    const loss = (flags["lossMask"] as RowLoss | undefined) ?? null;
    const against = flags["against"] as string | undefined;
    const report = await dataStats(opened, {
      signal: cli.signal,
      ...(against !== undefined && { against: await open(against, flags, cli) }),
      ...(chat !== undefined && {
        measure: measureTokens(chat, loss),
      }),
    });
    if (cli.json) printJson(report);
    else print(statsText(report));
  });
}

const barWidth = 40;

function statsText(stats: DataStats): string {
  const { length, unit, duplicates, near_duplicates: near, empty_answers: empty, leaked, refused } = stats;
  const highest = Math.max(1, ...length.histogram.map(({ rows }) => rows));
  const histogram = length.histogram.map(({ from, to, rows }) => [
    `${formatCount(from)} – ${formatCount(to - 1)}`,
    `${"█".repeat(Math.ceil((barWidth * rows) / highest))} ${formatCount(rows)}`,
  ]);
  const groups = (list: { groups: number[][] }) =>
    list.groups.slice(0, 5).map((rows) => `    rows ${rows.slice(0, 8).join(", ")}${rows.length > 8 ? ", …" : ""}`);
  const limited =
    near.rows_compared < stats.ok - duplicates.count ? ` (looked for among ${formatCount(near.rows_compared)})` : "";
  return [
    `${plural(stats.rows, "row")}, ${formatCount(stats.ok)} good, ${formatCount(stats.set_aside_count)} set aside`,
    `${unit} of a row: mean ${length.mean.toFixed(1)}, median ${formatCount(length.median)}, 95 % ${formatCount(length.p95)}, longest ${formatCount(length.max)}${stats.longest_row === null ? "" : ` (row ${stats.longest_row})`}; ${formatCount(length.total)} in all`,
    ...(Object.keys(stats.roles).length === 0
      ? []
      : [
          `messages: ${Object.entries(stats.roles)
            .map(([role, count]) => `${formatCount(count)} ${role}`)
            .join(", ")}`,
        ]),
    ...(stats.trained === null ? [] : [`trained tokens: ${formatCount(stats.trained)}`]),
    "",
    textTable(histogram),
    "",
    `duplicates: ${formatCount(duplicates.count)}`,
    ...groups(duplicates),
    `near-duplicates: ${formatCount(near.count)}${limited}`,
    ...groups(near),
    `prompts with several answers: ${formatCount(stats.repeated_prompts)}`,
    `empty answers: ${formatCount(empty.count)}${empty.count === 0 ? "" : ` (rows ${empty.rows.slice(0, 8).join(", ")})`}`,
    ...(leaked === null
      ? []
      : [
          paint(leaked.count === 0 ? "green" : "red", `leaked: ${formatCount(leaked.count)}`),
          ...leaked.rows
            .slice(0, 8)
            .map(({ row, other_row }) => `    row ${row} asks what row ${other_row} there asks`),
        ]),
    ...(refused.count === 0 ? [] : [`refused by the model's template: ${formatCount(refused.count)}`]),
    ...refused.rows.slice(0, 5).map(({ reason }) => `    ${reason}`),
  ].join("\n");
}

function addSplit(data: Command): void {
  const split = fileCommand(
    data,
    "split",
    "divide rows into training, validation and test",
    "Writes train.jsonl, valid.jsonl and test.jsonl into a new folder. Rows with the same prompt stay together.",
  );
  split
    .requiredOption("--out <folder>", "new folder")
    .option("--seed <number>", "the same seed divides the same way", wholeNumber(), 42)
    .option("--validation <share>", "share of the rows", realNumber(0, 1), 0.1)
    .option("--test <share>", "share of the rows", realNumber(0, 1), 0.1)
    .option("--group <column>", "rows with the same value in this column stay together, too");
  runs(split, async (cli, flags, [file]) => {
    const out = resolve(flags["out"] as string);
    requireWritable(out, "choose another --out");
    const [seed, validation, test] = [flags["seed"], flags["validation"], flags["test"]] as [number, number, number];
    const group = flags["group"] as string | undefined;
    const opened = await open(file, flags, cli);
    const counts = await splitData(opened, out, { seed, validation, test, ...(group !== undefined && { group }) });
    if (cli.json) return printJson({ out, seed, ...counts });
    if (counts.set_aside_count > 0)
      say(`${plural(counts.set_aside_count, "bad row")} left out: \`hone data check ${shellWord(file)}\``);
    print(
      [
        ...(["train", "validation", "test"] as const).map(
          (part) => `${partFiles[part]}  ${plural(counts[part], "row")}`,
        ),
        `in ${out}`,
      ].join("\n"),
    );
  });
}

function addExport(data: Command): void {
  const command = fileCommand(
    data,
    "export",
    "write rows for other software",
    "Writes all good rows to one file, in a shape if one is given.",
  );
  command
    .requiredOption("--to <format>", exportFormats.join(", "), oneOf(...exportFormats))
    .requiredOption("--out <file>", "file to write; replaced if it is there")
    .option("--shape <shape>", `${exportShapes.join(", ")} (default: each row's own)`, oneOf(...exportShapes));
  runs(command, async (cli, flags, [file]) => {
    const out = resolve(flags["out"] as string);
    requireFilePlace(out, "choose another --out");
    const format = flags["to"] as ExportFormat;
    const { rows, setAside } = await exportData(
      await open(file, flags, cli),
      out,
      format,
      flags["shape"] as ExportShape,
    );
    const listed = setAside.slice(0, 1000).map(({ place: { line, row }, reason }) => ({ line, row, reason }));
    if (cli.json) {
      return printJson({ out, format, rows, set_aside: listed, set_aside_count: setAside.length });
    }
    for (const { line, row, reason } of listed.slice(0, shownSetAside))
      say(`left out: line ${line}, row ${row}: ${reason}`);
    if (setAside.length > shownSetAside) say(`and ${plural(setAside.length - shownSetAside, "other row")}`);
    print(`${plural(rows, "row")} in ${out}`);
  });
}
