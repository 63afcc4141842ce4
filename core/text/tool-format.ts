/** How a model writes a tool call, and how a model without a template for tools is told about them. */

import { HoneError } from "../contract/errors.ts";
import type { ToolDefinition } from "../contract/chat.ts";
import type { TemplateMessage } from "./messages.ts";

/**
 * - `hermes`: `<tool_call>{"name": …, "arguments": {…}}</tool_call>` (Hermes, Qwen, Hone's starter).
 * - `json`: a bare `{"name": …, "parameters": {…}}` on lines of its own (Llama 3).
 */
export type ToolFormat = "hermes" | "json";

/** Markers of formats that Hone does not read yet: better said than misread. */
const otherFormats: readonly [marker: string, name: string][] = [
  ["<arg_key>", "arguments as <arg_key> and <arg_value>"],
  ["<function=", "<function=…> and <parameter=…>"],
  ["<|tool_call>", "<|tool_call>call:…"],
  ["[TOOL_CALLS]", "[TOOL_CALLS]"],
  ["tool▁calls▁begin", "<｜tool▁calls▁begin｜>"],
  ["tool_calls_section_begin", "<|tool_calls_section_begin|>"],
];

/** The format that a chat template's own markers show; undefined when the template knows no tools. Throws `HoneError` `unsupported-tool-format`. */
export function detectToolFormat(template: string): ToolFormat | undefined {
  if (!/\btools\b/.test(template)) return undefined;
  const other = otherFormats.find(([marker]) => template.includes(marker));
  if (other !== undefined) {
    throw new HoneError("unsupported-tool-format", `The model's chat template writes tool calls as ${other[1]}`, {
      fix: "Hone reads <tool_call>{json}</tool_call> and bare JSON calls; choose another model or template.",
    });
  }
  if (template.includes("<tool_call>")) return "hermes";
  if (/["']parameters["']/.test(template) || /["']arguments["']/.test(template)) return "json";
  return undefined;
}

/** JSON as Python's `json.dumps(value, ensure_ascii=False)` writes it, which is what templates' `tojson` gives. */
export function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}: ${pythonJson(item)}`).join(", ")}}`;
  }
  return JSON.stringify(value ?? null);
}

/** A call as a model of this format writes it. */
export function formatToolCall(call: { name: string; arguments: Record<string, unknown> }, format: ToolFormat): string {
  if (format === "json") return pythonJson({ name: call.name, parameters: call.arguments });
  return `<tool_call>\n${pythonJson({ name: call.name, arguments: call.arguments })}\n</tool_call>`;
}

/**
 * For a template that knows no tools: describes them in the system message in the `hermes` format, writes calls into
 * the assistant's text and gives results as the user's. `sources[i]`: which message became message i (−1: a new one).
 */
export function writeOutTools(
  messages: readonly TemplateMessage[],
  tools: readonly ToolDefinition[],
): { messages: TemplateMessage[]; sources: number[] } {
  const out: TemplateMessage[] = [];
  const sources: number[] = [];
  messages.forEach(({ tool_calls: calls = [], ...message }, i) => {
    if (message.role === "tool") {
      const result = `<tool_response>\n${message.content}\n</tool_response>`;
      const last = out.at(-1);
      if (last?.role === "user" && messages[i - 1]?.role === "tool") {
        last.content += `\n${result}`;
        return;
      }
      out.push({ role: "user", content: result });
    } else {
      const written = calls.map((call) => formatToolCall(call.function, "hermes"));
      out.push({ ...message, content: [message.content, ...written].filter((text) => text !== "").join("\n") });
    }
    sources.push(i);
  });
  const [first] = out;
  if (tools.length > 0 && first?.role === "system") first.content += `\n\n${toolInstructions(tools)}`;
  else if (tools.length > 0) {
    out.unshift({ role: "system", content: toolInstructions(tools) });
    sources.unshift(-1);
  }
  return { messages: out, sources };
}

function toolInstructions(tools: readonly ToolDefinition[]): string {
  return [
    "You can call these functions, one JSON description on each line:",
    "<tools>",
    ...tools.map(pythonJson),
    "</tools>",
    "To call one, write a JSON object with its name and arguments between tags:",
    "<tool_call>",
    '{"name": <function name>, "arguments": <arguments object>}',
    "</tool_call>",
  ].join("\n");
}
