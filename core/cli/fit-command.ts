/** `hone fit`: what a model needs on this machine, before it is downloaded. */

import type { Command } from "commander";
import { fitReference } from "../app/models/fit-reference.ts";
import { Session } from "../app/session.ts";
import { hubSources, type FitReport, type HubSourceName, type Quant } from "../contract/hub.ts";
import { textTable } from "../contract/text-table.ts";
import { formatBytes } from "../contract/units.ts";
import { givenFlags, oneOf, runs } from "./command.ts";
import { print, printJson } from "./terminal.ts";

const verdictWords = { fits: "fits", tight: "tight", does_not_fit: "does not fit", not_supported: "not supported" };

export function addFitCommand(program: Command): void {
  const command = program
    .command("fit")
    .summary("what a model needs on this machine, before it is downloaded")
    .description(
      "Tells parameters, memory for chat and for training, and disk, from the first bytes of a model's files: nothing of the weights is downloaded.",
    )
    .argument("<model>", "OWNER/NAME, OWNER/NAME:Q4_K_M, a link, or a model on this machine")
    .option("--quant <name>", "quantisation of a GGUF repository (default: what suits this machine)")
    .option("--source <hub>", "ask this hub: huggingface or modelscope", oneOf(...hubSources))
    .option("--measure", "open a model that is here and measure how fast it answers");
  runs(command, async (cli, flags, [reference]) => {
    const session = await Session.open();
    const report = await fitReference(session.engine, reference, {
      ...(givenFlags(flags, "quant", "source", "measure") as { quant?: string; source?: HubSourceName }),
      signal: cli.signal,
    });
    if (cli.json) return printJson(report);
    print(fitText(report));
  });
}

export function fitText(report: FitReport): string {
  const lines = [...report.words];
  const { uses, quants } = report;
  if (uses !== null) {
    const rows = (["chat", "lora", "full"] as const).map((use) => {
      const { verdict, memory_bytes: m, tokens } = uses[use];
      const numbers = [m.weights, m.gradients + m.optimizer, m.activations, m.kv_cache, m.total].map(formatBytes);
      return [use, ...numbers, String(tokens), verdictWords[verdict]];
    });
    const head = ["", "weights", "gradients, optimizer", "activations", "cache", "in all", "tokens", ""];
    lines.push("", textTable([head, ...rows]));
  }
  if (quants.length > 0)
    lines.push("", textTable([["quantisation", "size", "bits", "quality", ""], ...quants.map(quantRow)]));
  return lines.join("\n");
}

function quantRow({ name, bytes, bits_per_weight, quality, supported, verdict, recommended }: Quant): string[] {
  const note = recommended ? "recommended" : supported ? verdictWords[verdict] : verdictWords.not_supported;
  return [name, formatBytes(bytes), bits_per_weight === null ? "" : bits_per_weight.toFixed(1), quality, note];
}
