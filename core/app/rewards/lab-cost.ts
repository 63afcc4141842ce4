/** What trying a reward asks of others: judges and services are told, and counted, before any of them is asked. */

import type { CheckedInput } from "../../contract/api/api.ts";
import type { LabCost } from "../../contract/api/reward-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { labRollouts } from "./lab-source.ts";
import type { RewardDraft } from "./reward-draft.ts";

/** Characters of English text to one token of most tokenizers; an estimate, and told as one. */
const charactersPerToken = 4;
/** A judge's own instructions around the prompt and the answer. */
const judgeCharacters = 400;

interface Asked {
  type: "judge" | "http";
  name: string;
  model: string;
  url: string;
}

/** Parts of a JSON reward that ask another program over the network; none where it is no JSON, which opening it will tell. */
function askedBy({ path, text }: RewardDraft): Asked[] {
  if (!path.toLowerCase().endsWith(".json")) return [];
  let content: { parts?: unknown };
  try {
    content = JSON.parse(text.replace(/^\uFEFF/, "")) as typeof content;
  } catch {
    return [];
  }
  const parts = (Array.isArray(content.parts) ? content.parts : []) as Partial<Asked>[];
  return parts.flatMap(({ type, name = type, model = "", url = "" }) =>
    type === "judge" || type === "http" ? [{ type, name: name ?? type, model, url }] : [],
  );
}

/** Throws `asks-others`. */
export function requireNoJudges(draft: RewardDraft): void {
  const asked = askedBy(draft);
  if (asked.length === 0) return;
  const names = asked.map(({ name, url }) => `${name} (${url})`).join(", ");
  throw new HoneError("asks-others", `this reward asks ${names}, which may take time and money`, {
    fix: "look at what it will cost, then run it",
  });
}

export async function labCost({ path, text, source, limit }: CheckedInput<"rewards.cost">): Promise<LabCost> {
  const asked = askedBy({ path, text });
  if (asked.length === 0) return { samples: 0, judges: [] };
  const { rollouts } = await labRollouts(source, limit);
  // The same question is asked once.
  const questions = new Set(rollouts.map(({ promptText, sample }) => JSON.stringify([promptText, sample.completion])));
  const characters = [...questions].reduce((sum, question) => sum + question.length + judgeCharacters, 0);
  return {
    samples: rollouts.length,
    judges: asked.map(({ type, name, model, url }) => ({
      name,
      model,
      url,
      local: isLocal(url),
      calls: type === "judge" ? questions.size : rollouts.length,
      prompt_tokens: type === "judge" ? Math.ceil(characters / charactersPerToken) : 0,
    })),
  };
}

function isLocal(url: string): boolean {
  try {
    const { hostname } = new URL(url);
    return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  } catch {
    return false;
  }
}
