/** What a model on this machine is: fit, licence, template and tool calls. Each part that cannot be read says why. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ModelDetails } from "../../contract/api/model-calls.ts";
import { errorToData } from "../../contract/errors.ts";
import { createEngine } from "../../engine/engine.ts";
import { findInCatalog } from "../../hub/catalog.ts";
import { readCard } from "../../hub/sources/card.ts";
import { findModel, type ModelFiles } from "../../train/model-ref.ts";
import { Session } from "../session.ts";
import { fitLocal, thisMachine } from "./fit-model.ts";

/** A card is read for its first lines. */
const mostCard = 1024 ** 2;

/** Throws what `findModel` throws for a name that means nothing here. */
export async function modelDetails(reference: string): Promise<ModelDetails> {
  const engine = await createEngine();
  const files = await findModel(reference);
  const details: ModelDetails = {
    fit: null,
    fit_problem: null,
    licence: licenceOf(files) ?? findInCatalog(reference)?.licence ?? null,
    template: false,
    template_problem: null,
    tool_format: null,
    thinks: false,
  };
  try {
    details.fit = await fitLocal(files, thisMachine(engine));
  } catch (error) {
    details.fit_problem = errorToData(error);
  }
  try {
    const { text } = await new Session(engine).openChat(files);
    details.template = true;
    details.thinks = text.hasThinkingSwitch;
    details.tool_format = text.toolFormat;
  } catch (error) {
    details.template_problem = errorToData(error);
  }
  return details;
}

function licenceOf({ weights }: ModelFiles): string | undefined {
  const path = join(statSync(weights).isFile() ? dirname(weights) : weights, "README.md");
  if (!existsSync(path) || statSync(path).size > mostCard) return undefined;
  const { facts } = readCard(readFileSync(path, "utf8"), { page: "https://huggingface.co" });
  const licence = facts["license_name"] ?? facts["license"];
  return typeof licence === "string" ? licence : licence?.[0];
}
