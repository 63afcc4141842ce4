/** What a reward is tried on before a person has chosen something. */

import type { HandSample, LabSource, LabSources } from "../../../core/contract/api/reward-calls.ts";

/** Of a question that needs no explanation: right, right in a sentence, wrong, empty. */
export const firstHandSamples: readonly HandSample[] = ["4", "The answer is 4.", "Five, I think.", ""].map(
  (completion) => ({ prompt: "What is 2 + 2?", completion, row: { answer: "4" } }),
);

/** The newest answers that there are; otherwise some made by hand. */
export function firstSource({ runs: [run], drawn: [drawn] }: LabSources): LabSource {
  if (drawn !== undefined) return { kind: "file", path: drawn.path };
  if (run !== undefined) return { kind: "run", run: run.run, step: run.steps.at(-1) ?? null };
  return { kind: "hand", samples: [...firstHandSamples] };
}
