/** Rows and conversations for people. */

import { messageText, functionOf, type ChatMessage } from "../../contract/chat.ts";
import { brief } from "../../contract/units.ts";
import type { TaskData } from "./data-task.ts";

/** What the model sees, and what is known of the answer. */
export function drawRow({ prompt, solution, example, preference, columns }: TaskData): string {
  const lines = drawMessages(prompt);
  if (solution !== undefined) lines.push(...drawMessages(solution));
  else if (example !== undefined && "text" in example) lines.push(example.text);
  else if (example !== undefined && "tokens" in example) lines.push(`${example.tokens.length} token ids`);
  if (preference !== undefined) {
    lines.push("chosen:", ...drawMessages(preference.chosen), "rejected:", ...drawMessages(preference.rejected));
  }
  for (const [name, value] of Object.entries(columns))
    lines.push(`${name} = ${brief(typeof value === "string" ? value : JSON.stringify(value))}`);
  return lines.join("\n");
}

export function drawMessages(messages: readonly ChatMessage[]): string[] {
  return messages.map((message) => {
    const calls = (message.tool_calls ?? []).map((call) => {
      const { name, arguments: given } = functionOf(call);
      return `→ ${name}(${typeof given === "string" ? given : JSON.stringify(given)})`;
    });
    return `[${message.role}] ${[messageText(message), ...calls].filter((text) => text !== "").join(" ")}`;
  });
}
