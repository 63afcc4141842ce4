/** `{{column}}` in a task's templates: plain substitution, in one pass, so that what a row says is never a placeholder. */

import type { ChatMessage } from "../../contract/chat.ts";
import { HoneError } from "../../contract/errors.ts";
import { nearest } from "../../contract/nearest.ts";

const placeholder = /\{\{\s*([^{}]+?)\s*\}\}/g;

/** A template: one message's text, or messages. */
export type MessageTemplate = string | readonly ChatMessage[];

/** Throws `bad-row` when the row lacks a column. `role`: of a template that is a text. */
export function fillMessages(
  template: MessageTemplate,
  columns: Record<string, unknown>,
  place: string,
  role: "user" | "assistant",
): ChatMessage[] {
  if (typeof template === "string") return [{ role, content: fillText(template, columns, place) }];
  return fillValue(template, columns, place) as ChatMessage[];
}

export function fillText(template: string, columns: Record<string, unknown>, place: string): string {
  return template.replaceAll(placeholder, (_, path: string) => {
    const value = lookUp(path, columns, place);
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}

/** A text that is one placeholder and nothing else becomes the value itself: numbers stay numbers in tool arguments. */
function fillValue(template: unknown, columns: Record<string, unknown>, place: string): unknown {
  if (typeof template === "string") {
    const whole = new RegExp(`^${placeholder.source}$`).exec(template);
    return whole === null ? fillText(template, columns, place) : lookUp(whole[1], columns, place);
  }
  if (Array.isArray(template)) return template.map((item) => fillValue(item, columns, place));
  if (typeof template !== "object" || template === null) return template;
  return Object.fromEntries(
    Object.entries(template).map(([key, item]) => [
      key,
      // What is said is text, whatever the column holds.
      key === "content" && typeof item === "string" ? fillText(item, columns, place) : fillValue(item, columns, place),
    ]),
  );
}

function lookUp(path: string, columns: Record<string, unknown>, place: string): unknown {
  if (Object.hasOwn(columns, path)) return columns[path];
  let value: unknown = columns;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) {
      const known = Object.keys(columns);
      const meant = nearest(path, known);
      throw new HoneError("bad-row", `${place} has no column ${JSON.stringify(path)}, which a template asks for`, {
        fix: meant === undefined ? `its columns are ${known.join(", ") || "none"}` : `did you mean {{${meant}}}?`,
      });
    }
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
