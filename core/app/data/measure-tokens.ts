/** Rows measured in the tokens that training sees. */

import type { DataStats } from "../../contract/data-json.ts";
import { HoneError } from "../../contract/errors.ts";
import { isSetAside, type DataEntry, type DataRow } from "../../contract/data.ts";
import type { TextChat } from "../../evaluate/text-chat.ts";
import type { RowLoss } from "../../evaluate/trained-row.ts";
import { findModel } from "../../train/model-ref.ts";
import { Session } from "../session.ts";
import { rowTokens } from "./token-view.ts";

/** What `dataStats` measures rows with; of a preference row the longer answer, and the trained tokens of both. */
export function measureTokens(chat: TextChat, loss: RowLoss) {
  return (row: DataRow): { length: number; trained: DataStats["length"]["max"] } => {
    const { ids, trained, rejected } = rowTokens(chat, row, loss);
    const counts = [trained, rejected?.trained ?? []].map((list) => list.filter(Boolean).length);
    return { length: Math.max(ids.length, rejected?.ids.length ?? 0), trained: counts[0] + counts[1] };
  };
}

/** The row, if it is one. Throws `row-set-aside`. */
export function requireGoodRow(entry: DataEntry): DataRow {
  if (!isSetAside(entry)) return entry;
  throw new HoneError("row-set-aside", `row ${entry.place.row} is set aside: ${entry.reason}`, {
    fix: "mend it, or choose another row",
  });
}

let last: { model: string; chat: Promise<TextChat> } | undefined;

/** The text layer of a model without its weights; the last one stays open, as a person goes from row to row. */
export async function chatOf(model: string): Promise<TextChat> {
  const files = await findModel(model);
  if (last?.model !== files.text) {
    const chat = Session.open().then((session) => session.openChat(files));
    last = { model: files.text, chat };
    chat.catch(() => (last = undefined));
  }
  return last.chat;
}
