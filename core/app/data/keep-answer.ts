/** Good answers of a chat or a game as rows for SFT. */

import type { ChatMessage, ToolDefinition } from "../../contract/chat.ts";
import { openOrCreateDataset, type Dataset } from "../../data/dataset.ts";
import { toShape } from "../../data/shapes.ts";
import { assistantMessage, type ParsedAssistant } from "../../text/parse-assistant.ts";

export interface GoodAnswer {
  /** Everything before the answer. */
  prompt: readonly ChatMessage[];
  answer: ParsedAssistant;
  tools: readonly ToolDefinition[];
}

/** Adds answers to a dataset, which is made where there is none. Throws `bad-row`. */
export async function keepAnswers(name: string, answers: readonly GoodAnswer[], source: string): Promise<Dataset> {
  const dataset = await openOrCreateDataset(name, source);
  const records = answers.map(({ prompt, answer, tools }) =>
    toShape({
      shape: "completion",
      place: { row: 1, line: 1 },
      columns: {},
      prompt: [...prompt],
      completion: [assistantMessage(answer)],
      ...(tools.length > 0 && { tools: [...tools] }),
    }),
  );
  await dataset.add(records, `${answers.length} kept from ${source}`);
  return dataset;
}
