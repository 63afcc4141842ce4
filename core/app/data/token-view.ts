/** A row of data as the tokens that training sees: made by the very functions that training makes them with. */

import type { TokenView } from "../../contract/data-json.ts";
import type { DataRow } from "../../contract/data.ts";
import type { TokenRow } from "../../engine/micro-batches.ts";
import { preferenceTokens } from "../../evaluate/preference-accuracy.ts";
import type { TextChat } from "../../evaluate/text-chat.ts";
import { trainedRow, type RowLoss, type RowTask } from "../../evaluate/trained-row.ts";
import { taskData } from "../../tasks/user/data-task.ts";
import { pieces } from "../../text/pieces.ts";

export interface RowTokens {
  ids: number[];
  /** One per id. */
  trained: boolean[];
}

/** Of a preference row both answers; of a prompt alone what the model is asked, with nothing trained. */
export function rowTokens(
  chat: TextChat,
  row: DataRow,
  loss: RowLoss = null,
): RowTokens & { rejected?: RowTokens | undefined } {
  if (row.shape === "prompt") {
    const ids = [...chat.renderPrompt(row.prompt, row.tools ?? [])];
    return { ids, trained: ids.map(() => false) };
  }
  // No method trains on a label yet; its answer is shown as if it were to be learned.
  const shown: DataRow = row.shape === "label" ? { ...row, shape: "completion" } : row;
  const { prompt, tools = [], solution, example, preference } = taskData(shown, String(row.place.row));
  const task: RowTask = {
    name: "data",
    tools,
    prompt: () => prompt,
    ...(solution !== undefined && { solution: () => solution }),
    ...(example !== undefined && { example: () => example }),
    ...(preference !== undefined && { preference: () => preference }),
  };
  const named = { id: String(row.place.row) };
  if (preference === undefined) return marked(trainedRow(chat, task, named, loss));
  const { chosen, rejected } = preferenceTokens(chat, task, named);
  return { ...marked(chosen), rejected: marked(rejected) };
}

function marked({ promptIds, ids, mask }: TokenRow): RowTokens {
  return {
    ids: [...promptIds, ...ids],
    trained: [...Array.from(promptIds, () => false), ...Array.from(mask, (bit) => bit === 1)],
  };
}

export function tokenView(chat: TextChat, row: DataRow, loss: RowLoss = null): TokenView {
  const { rejected, ...tokens } = rowTokens(chat, row, loss);
  const withPieces = ({ ids, trained }: RowTokens) => ({
    ids,
    pieces: pieces(chat.text.tokenizer, ids).map(({ text }) => text),
    trained,
  });
  return { ...withPieces(tokens), ...(rejected !== undefined && { rejected: withPieces(rejected) }) };
}
