/** `hone get`: fetches a model or dataset, and goes on where it stopped. */

import type { Command } from "commander";
import { hubSourceLabels, hubSources, type GetOutput, type GetPlan } from "../contract/hub.ts";
import { errorKind } from "../contract/errors.ts";
import { textTable } from "../contract/text-table.ts";
import { formatBytes, formatSeconds, plural } from "../contract/units.ts";
import type { DownloadOptions } from "../hub/download/download-options.ts";
import {
  describePlan,
  planDownload,
  readOrder,
  referenceTo,
  runDownload,
  type DownloadPlan,
  type GetRequest,
} from "../hub/download/plan-download.ts";
import { requireOne } from "../hub/storage/find-stored.ts";
import { describeItem } from "../hub/storage/list-local.ts";
import { amountOfBytes, givenFlags, oneOf, repeated, runs } from "./command.ts";
import { GetProgress } from "./get-progress.ts";
import { print, printJson, printer, say } from "./terminal.ts";

export function addGetCommand(program: Command): void {
  const command = program
    .command("get")
    .summary("download a model or a dataset")
    .description(
      "Downloads the files that are needed into the Hugging Face or ModelScope cache, checks them, and makes them visible only when all are there. What is here is not downloaded again; after a stop the same command goes on.",
    )
    .argument("<name>", "OWNER/NAME, OWNER/NAME@REVISION, OWNER/NAME:Q4_K_M, OWNER/NAME/FILE.gguf, or a link")
    .option("--dataset", "NAME is a dataset")
    .option("--quant <name>", "quantisation of a GGUF repository (default: what suits this machine)")
    .option("--file <path>", "exactly this file; may be given several times", repeated)
    .option("--split <name>", "of a dataset: only this split")
    .option("--config <name>", "of a dataset: only this configuration")
    .option("--source <hub>", "from this hub only: huggingface or modelscope", oneOf(...hubSources))
    .option("--limit-rate <bytes>", "bytes per second at most, such as 2MB", amountOfBytes)
    .option("--check", "read again what is here, and fetch what is damaged")
    .option("--dry-run", "say what would be downloaded, and stop");
  runs(command, async (cli, flags, [reference]) => {
    const request: GetRequest = {
      reference,
      ...(flags["dataset"] === true && { kind: "dataset" }),
      ...givenFlags(flags, "quant", "source", "split", "config", ["files", "file"]),
    };
    const planned = await planDownload(readOrder(request), { signal: cli.signal });
    if (planned.note !== null) say(planned.note);
    const plan = describePlan(planned);
    if (flags["dryRun"] === true) return cli.json ? printJson(plan) : print(planText(plan));
    printer(cli)(beginText(plan));
    const output = await fetchAll(reference, planned, {
      signal: cli.signal,
      bandwidthLimit: (flags["limitRate"] as number | undefined) ?? null,
      checkExisting: flags["check"] === true,
    });
    const told = printer(cli);
    const { fetched_bytes, seconds, path } = output;
    const speed = seconds > 0 ? `, ${formatBytes(fetched_bytes / seconds)}/s` : "";
    if (fetched_bytes > 0) told(`fetched ${formatBytes(fetched_bytes)} in ${formatSeconds(seconds)}${speed}`);
    if (cli.json) return printJson(output);
    print(`${fetched_bytes > 0 ? "in" : "here already:"} ${path}`);
    if (plan.ref.kind === "model") await sayNext(output.reference);
    else say(`next: \`hone data check ${output.reference}\`, or \`hone data import ${output.reference} --name NAME\``);
  });
}

async function fetchAll(asked: string, planned: DownloadPlan, options: DownloadOptions): Promise<GetOutput> {
  const { order, snapshot, choice } = planned;
  const progress = new GetProgress();
  try {
    const result = await runDownload(order, snapshot, choice.files, { ...options, onProgress: progress.show });
    const { path, bytes, fetched_bytes, seconds, files } = result;
    const reference = referenceTo(snapshot.ref, choice);
    return { ref: snapshot.ref, commit: snapshot.commit, path, reference, bytes, fetched_bytes, seconds, files };
  } catch (error) {
    if (errorKind(error) === "cancelled") {
      const { bytes_done, bytes } = progress.last ?? { bytes_done: 0, bytes: choice.bytes };
      say(`${formatBytes(bytes_done)} of ${formatBytes(bytes)} are here; \`hone get ${asked}\` goes on from there`);
    }
    throw error;
  } finally {
    progress.end();
  }
}

function beginText({ ref, commit, quant, files, bytes, bytes_to_fetch, verdict }: GetPlan): string {
  const what = `${ref.id}${quant === null ? "" : `, ${quant}`}, ${ref.revision} (${commit.slice(0, 7)}) of ${hubSourceLabels[ref.source]}`;
  const here = bytes === bytes_to_fetch ? "" : `, ${formatBytes(bytes - bytes_to_fetch)} of it here`;
  const tight = verdict === "tight" ? "; afterwards the disk is nearly full" : "";
  return `${what}: ${plural(files.length, "file")}, ${formatBytes(bytes)}${here}${tight}`;
}

function planText(plan: GetPlan): string {
  const rows = plan.files.map(({ path, size, here }) => [path, formatBytes(size), here ? "here" : "to fetch"]);
  const left = plan.left_out.map(({ path, size, reason }) => [path, formatBytes(size), reason]);
  const disk = { fits: "", tight: "; the disk would be nearly full", does_not_fit: "; that does NOT fit" };
  return [
    beginText({ ...plan, verdict: "fits" }),
    textTable([["file", "size", ""], ...rows]),
    ...(left.length === 0 ? [] : ["", textTable([["left out", "size", "why"], ...left])]),
    "",
    `to fetch: ${formatBytes(plan.bytes_to_fetch)}, free: ${formatBytes(plan.free_bytes)}${disk[plan.verdict]}`,
    `into: ${plan.path}`,
  ].join("\n");
}

/** What the model is for, or why Hone does not open it. */
async function sayNext(reference: string): Promise<void> {
  const item = requireOne(reference);
  if (item === undefined) return;
  const { unsupported } = await describeItem(item);
  if (unsupported !== null) say(`Hone does not open it: ${unsupported}`);
  else say(`next: \`hone chat --model ${reference}\``);
}
