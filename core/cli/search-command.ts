/** `hone search`: models and datasets on hubs, and the catalogue of models that Hone trains well. */

import { InvalidArgumentError, type Command } from "commander";
import { thisMachine } from "../app/models/fit-model.ts";
import { listCatalog } from "../app/models/list-catalog.ts";
import { Session } from "../app/session.ts";
import {
  hubSources,
  searchQuerySchema,
  searchSorts,
  type CatalogEntry,
  type FitReport,
  type HubSourceName,
  type SearchHit,
  type SearchResult,
} from "../contract/hub.ts";
import { textTable } from "../contract/text-table.ts";
import { formatBytes, formatCount, parseBytes } from "../contract/units.ts";
import { openSource } from "../hub/sources/open-hub.ts";
import { givenFlags, oneOf, runs, wholeNumber } from "./command.ts";
import { print, printJson, say } from "./terminal.ts";

export function addSearchCommand(program: Command): void {
  const command = program
    .command("search")
    .summary("find models and datasets on Hugging Face and ModelScope")
    .description(
      "Searches by name. With --catalog it lists the models that Hone is known to train, with what each needs on this machine, without asking anybody.",
    )
    .argument("[words...]", "words of the name")
    .option("--catalog", "the curated list instead of a hub")
    .option("--source <hub>", "huggingface (default) or modelscope", oneOf(...hubSources))
    .option("--datasets", "datasets instead of models")
    .option("--author <name>", "only of this owner")
    .option("--supported", "only architectures that the engine opens")
    .option("--architecture <name>", "only this model_type, such as qwen3")
    .option("--format <format>", "safetensors or gguf", oneOf("safetensors", "gguf"))
    .option("--min-parameters <number>", "such as 500M or 1B", parameterCount)
    .option("--max-parameters <number>", "such as 3B", parameterCount)
    .option("--sort <order>", `${searchSorts.join(", ")} (default: downloads)`, oneOf(...searchSorts))
    .option("--limit <number>", "hits at most, up to 100 (default: 20)", wholeNumber(1));
  runs(command, async (cli, flags, words) => {
    if (flags["catalog"] === true) return showCatalog(words.join(" "), cli.json);
    const query = searchQuerySchema.parse({
      text: words.join(" "),
      kind: flags["datasets"] === true ? "dataset" : "model",
      ...givenFlags(flags, "author", "supported", "architecture", "format", "sort"),
      ...givenFlags(flags, ["min_parameters", "minParameters"], ["max_parameters", "maxParameters"]),
      limit: Math.min(100, (flags["limit"] as number | undefined) ?? 20),
    });
    const source = openSource((flags["source"] as HubSourceName | undefined) ?? "huggingface");
    const result = await source.search(query, { signal: cli.signal });
    if (cli.json) return printJson(result);
    print(resultText(result));
    for (const note of result.notes) say(note);
    if (result.more) say("there are more: use more words, or --limit");
  });
}

/** `500M`, `1.5B`: counts are written with B for billions. */
function parameterCount(text: string): number {
  const count = parseBytes(text.trim().replace(/b$/i, "G"));
  if (count !== undefined) return count;
  throw new InvalidArgumentError("It must be a number of parameters such as 500M or 3B.");
}

function resultText({ hits, query }: SearchResult): string {
  if (hits.length === 0) return `nothing found for ${JSON.stringify(query.text)} with these filters`;
  const isModel = query.kind === "model";
  const rows = hits.map((hit) => [
    hit.ref.id,
    ...(isModel ? [sizeText(hit), hit.architecture ?? "", hit.formats.join(", "), supportText(hit)] : []),
    hit.downloads === null ? "" : formatCount(hit.downloads),
    `${hit.licence ?? ""}${hit.gated === false ? "" : " (gated)"}`.trim(),
  ]);
  const head = ["name", ...(isModel ? ["parameters", "architecture", "formats", "opens"] : []), "downloads", "licence"];
  return textTable([head, ...rows]);
}

function sizeText({ parameters }: SearchHit): string {
  return parameters === null ? "" : shortCount(parameters);
}

function shortCount(count: number): string {
  const [value, unit] = count >= 999.5e6 ? [count / 1e9, "B"] : [count / 1e6, "M"];
  return `${Number(value.toPrecision(3))}${unit}`;
}

function supportText({ supported }: SearchHit): string {
  return supported === null ? "?" : supported ? "yes" : "no";
}

async function showCatalog(words: string, json: boolean): Promise<void> {
  const session = await Session.open();
  const machine = thisMachine(session.engine);
  const { models: listed, problems } = await listCatalog(machine, words);
  for (const { problem } of problems) say(problem);
  if (json) {
    return printJson({ models: listed.map(({ catalog, entry, fit }) => ({ catalog, ...entry, fit })), problems });
  }
  if (listed.length === 0) return print(`nothing in the catalogue is called ${JSON.stringify(words)}`);
  const verdict = (entry: CatalogEntry, { uses }: FitReport, use: "chat" | "lora" | "full") =>
    !entry.works[use] || uses === null
      ? "–"
      : { fits: "yes", tight: "tight", does_not_fit: "no", not_supported: "–" }[uses[use].verdict];
  const rows = listed.map(({ entry, fit }) => [
    entry.id,
    shortCount(entry.parameters),
    formatBytes(entry.weight_bytes),
    ...(["chat", "lora", "full"] as const).map((use) => verdict(entry, fit, use)),
    entry.tool_format ?? "",
    `${entry.licence}${entry.gated === false ? "" : " (gated)"}`,
  ]);
  print(textTable([["name", "parameters", "download", "chat", "LoRA", "full", "tool calls", "licence"], ...rows]));
  print("");
  for (const { entry } of listed)
    print(`${entry.name}: ${entry.about}${entry.limits === null ? "" : ` ${entry.limits}`}`);
}
