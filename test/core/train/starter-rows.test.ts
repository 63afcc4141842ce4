/** The starter's template renders the right answers of every task that comes with Hone, tool calls and results included. */

import { expect, test } from "vitest";
import { Session } from "../../../core/app/session.ts";
import { trainedRow } from "../../../core/evaluate/trained-row.ts";
import { tasks } from "../../../core/tasks/tasks.ts";
import { findModel } from "../../../core/train/model-ref.ts";

test.each(tasks.map((task) => [task.name, task] as const))("%s", async (_, task) => {
  const session = await Session.open();
  const chat = await session.openChat(await findModel("starter"));
  for (const row of task.rows("train").slice(0, 5)) {
    const { ids, mask } = trainedRow(chat, task, row);
    const said = chat.decode(ids.filter((__, i) => mask[i] === 1));
    for (const { tool_calls } of task.solution?.(row) ?? []) {
      for (const call of tool_calls ?? []) expect(said).toContain("function" in call ? call.function.name : call.name);
    }
    expect(chat.stopIds).toContain(ids[mask.lastIndexOf(1)]);
  }
});
