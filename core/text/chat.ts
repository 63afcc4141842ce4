/** Conversations to token ids, with the model's own chat template and an exact account of what a loss would use. */

import { HoneError } from "../contract/errors.ts";
import { AddedTokens } from "./added-tokens.ts";
import { JinjaTemplate } from "./jinja-template.ts";
import { assistantSpans, type Span } from "./loss-spans.ts";
import type { ChatMessage, ToolDefinition } from "../contract/chat.ts";
import { templateMessages, type TemplateMessage } from "./messages.ts";
import { parseAssistant, type ParsedAssistant, type ParseOptions } from "./parse-assistant.ts";
import type { AddedToken } from "./tokenizer-json.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { detectToolFormat, writeOutTools, type ToolFormat } from "./tool-format.ts";
import { Veil } from "./veil.ts";

/**
 * Which tokens a loss uses.
 * - `assistant_all`: everything the assistant generates in every turn, the end-of-turn token included.
 * - `assistant_last`: the same of the last assistant message only.
 * - `completion`: every token from the first generated one of message `completionFrom` to the last generated one,
 *   whoever wrote it (tool results too).
 * - `all_tokens`: every token.
 * - `none`: no token. Needs no exact account, so it works with any template: for prompts.
 */
export type LossMode = "assistant_all" | "assistant_last" | "completion" | "all_tokens" | "none";

export interface RenderRequest {
  messages: readonly ChatMessage[];
  tools?: readonly ToolDefinition[];
  /** End with what stands before the assistant's next answer. Default false. */
  addGenerationPrompt?: boolean;
  /** Absent: as the template does by itself. An error if the template has no switch. */
  thinking?: boolean;
  /** Default `assistant_all`. */
  loss?: LossMode;
  /** `completion` only: index of the assistant message that begins the completion. Default: the first after the last user message. */
  completionFrom?: number;
  /** What `strftime_now` gives. Default: now. */
  now?: Date;
}

export interface RenderedChat {
  text: string;
  ids: number[];
  /** One per id. */
  trained: boolean[];
  /** The prompt has opened a `<think>` block, so the answer begins inside it. */
  thinkingOpen: boolean;
}

const thinkingSwitches = ["enable_thinking", "thinking"];

export class Chat {
  readonly tokenizer: Tokenizer;
  readonly #main: JinjaTemplate;
  /** Takes the place of the main template when tools are given. */
  readonly #withTools: JinjaTemplate;
  readonly #added: AddedTokens;
  readonly #special: readonly string[];
  readonly #control: readonly string[];
  readonly #callers = new Map<JinjaTemplate, boolean>();
  readonly #switches = new Map<JinjaTemplate, readonly string[]>();
  #endOfTurn: AddedToken | null | undefined;

  /** Throws `HoneError` `no-chat-template`, `unknown-template`, `bad-template`. See `openChat`. */
  constructor(tokenizer: Tokenizer, templates: Readonly<Record<string, string>>) {
    this.tokenizer = tokenizer;
    const main = templates.default ?? Object.values(templates)[0];
    if (main === undefined) throw noTemplate();
    this.#main = new JinjaTemplate(main);
    this.#withTools = templates.tool_use === undefined ? this.#main : new JinjaTemplate(templates.tool_use);
    const added = tokenizer.json.added_tokens;
    this.#added = new AddedTokens(added);
    const texts = (ids: ReadonlySet<number>) => added.filter(({ id }) => ids.has(id)).map(({ content }) => content);
    this.#special = texts(tokenizer.specialIds);
    this.#control = texts(tokenizer.controlIds);
  }

  /** Source of the template in use. */
  get template(): string {
    return this.#main.source;
  }

  get hasThinkingSwitch(): boolean {
    return this.#thinkingSwitches(this.#main).length > 0;
  }

  /** How this model writes tool calls. Throws `HoneError` `unsupported-tool-format`. */
  get toolFormat(): ToolFormat {
    return (this.#knowsTools ? detectToolFormat(this.#withTools.source) : undefined) ?? "hermes";
  }

  /** The token that the template writes after an assistant message; null if it writes none. */
  get endOfTurn(): number | null {
    return this.#endOfTurnToken()?.id ?? null;
  }

  /** Every id that ends a generated turn. */
  get stopIds(): number[] {
    const end = this.endOfTurn;
    return [...new Set([...(end === null ? [] : [end]), ...this.tokenizer.stopIds])];
  }

  /**
   * Control tokens in the result come from the template's own text only; what a message says is encoded as ordinary
   * text. (An assistant message may hold the markers that the model itself writes, such as `<think>`.)
   * Throws `HoneError`: `bad-messages`, `template-error`, `no-thinking-switch`, `inexact-mask`, `no-end-of-turn`,
   * `template-drops-calls`.
   */
  render(request: RenderRequest): RenderedChat {
    const { tools = [], loss = "assistant_all", addGenerationPrompt = false } = request;
    const template = tools.length > 0 ? this.#withTools : this.#main;
    const prepared = this.#prepare(request, template);
    const { messages, veil, run } = prepared;
    const text = run(messages, addGenerationPrompt);
    if (loss !== "none") this.#requireCalls(messages, text, template);
    const spans = this.#spans(request, prepared, text);
    const parts: string[] = [];
    const trainedParts: boolean[] = [];
    let position = 0;
    const push = (end: number, trained: boolean) => {
      if (end > position) {
        parts.push(text.slice(position, end));
        trainedParts.push(trained);
      }
      position = Math.max(position, end);
    };
    for (const { start, end } of spans) {
      push(start, loss === "all_tokens");
      push(end, true);
    }
    push(text.length, loss === "all_tokens");
    const encoded = this.tokenizer.encodeParts(parts, veil.restore);
    return {
      text: veil.restore(text),
      ids: encoded.flat(),
      trained: encoded.flatMap((ids, i) => ids.map(() => trainedParts[i] ?? false)),
      thinkingOpen: addGenerationPrompt && text.trimEnd().endsWith("<think>"),
    };
  }

  /** Takes an answer apart; `tools` are those that the prompt offered. */
  parse(text: string, tools: readonly ToolDefinition[] = [], options: ParseOptions = {}): ParsedAssistant {
    return parseAssistant(text, tools, tools.length > 0 ? this.toolFormat : "hermes", options);
  }

  /** The text of generated ids, for `parse` and for people: without the tokens that ended the turn. */
  answerText(ids: ArrayLike<number>): string {
    const stop = new Set(this.stopIds);
    let end = ids.length;
    while (end > 0 && stop.has(ids[end - 1] ?? -1)) end--;
    return this.tokenizer.decode(Array.from(ids).slice(0, end), { continues: true });
  }

  /** Some templates offer tools but leave calls out of the conversation: what is trained then is an empty answer. */
  #requireCalls(messages: readonly TemplateMessage[], text: string, template: JinjaTemplate): void {
    const names = messages.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function.name));
    // The list of tools may hold the name as well, so that its being there says little.
    const lost = names.find((name) => !text.includes(name) || !this.#writesCalls(template));
    if (lost === undefined) return;
    throw new HoneError("template-drops-calls", `The chat template leaves out the assistant's call of ${lost}`, {
      fix: "Choose a template that writes tool calls, such as --chat-template-path chatml.",
    });
  }

  /** Whether a call shows in a conversation with another tool. */
  #writesCalls(template: JinjaTemplate): boolean {
    const known = this.#callers.get(template);
    if (known !== undefined) return known;
    const name = "probe_of_calls";
    const tool = { type: "function" as const, function: { name: "other_tool", description: "", parameters: {} } };
    const messages: ChatMessage[] = [
      { role: "user", content: "?" },
      { role: "assistant", content: "", tool_calls: [{ type: "function", function: { name, arguments: {} } }] },
    ];
    let writes = true;
    try {
      const { messages: prepared, run } = this.#prepare({ messages, tools: [tool] }, template);
      writes = run(prepared, false).includes(name);
    } catch {
      // A template that refuses so plain a conversation tells by the real one.
    }
    this.#callers.set(template, writes);
    return writes;
  }

  get #knowsTools(): boolean {
    return this.#withTools.uses("tools");
  }

  #prepare(request: RenderRequest, template: JinjaTemplate): Prepared {
    const { tools = [], thinking, now = new Date() } = request;
    const plain = templateMessages(request.messages);
    // Left alone, such a template would drop tools and calls without a word.
    const writeOut =
      !this.#knowsTools && (tools.length > 0 || plain.some((message) => message.tool_calls !== undefined));
    const written = writeOut ? writeOutTools(plain, tools) : { messages: plain, sources: plain.map((_, i) => i) };
    const veil = new Veil([written, tools, template.source]);
    const messages = written.messages.map((message) =>
      veil.hide(message, message.role === "assistant" ? this.#special : this.#control),
    );
    const { bosToken, eosToken, padToken, unkToken } = this.tokenizer.settings;
    const variables: Record<string, unknown> = {
      tools: tools.length > 0 && this.#knowsTools ? veil.hide(tools, this.#control) : null,
      documents: null,
      ...(bosToken === undefined ? {} : { bos_token: bosToken }),
      ...(eosToken === undefined ? {} : { eos_token: eosToken }),
      ...(padToken === undefined ? {} : { pad_token: padToken }),
      ...(unkToken === undefined ? {} : { unk_token: unkToken }),
    };
    if (thinking !== undefined) {
      const switches = this.#thinkingSwitches(template);
      if (switches.length === 0) {
        throw new HoneError("no-thinking-switch", "The model's chat template has no switch for thinking", {
          fix: "Leave the thinking option out.",
        });
      }
      for (const name of switches) variables[name] = thinking;
    }
    const run: Prepared["run"] = (list, prompt, more = {}) =>
      template.run({ ...variables, ...more, messages: list, add_generation_prompt: prompt }, now);
    const lastUser = plain.findLastIndex(({ role }) => role === "user");
    return { messages, sources: written.sources, lastUser, veil, run };
  }

  /** The variables with which a template switches thinking. One that only looks like a switch changes no prompt. */
  #thinkingSwitches(template: JinjaTemplate): readonly string[] {
    let switches = this.#switches.get(template);
    if (switches === undefined) {
      const names = thinkingSwitches.filter((name) => template.uses(name));
      const { messages, run } = this.#prepare({ messages: [{ role: "user", content: "?" }] }, template);
      const prompt = (on: boolean) => run(messages, true, Object.fromEntries(names.map((name) => [name, on])));
      try {
        switches = names.length > 0 && prompt(true) !== prompt(false) ? names : [];
      } catch {
        // A template that refuses so plain a prompt is taken at its word.
        switches = names;
      }
      this.#switches.set(template, switches);
    }
    return switches;
  }

  /** Ranges of the rendered (still veiled) text whose tokens are trained, in order. */
  #spans(
    { loss = "assistant_all", completionFrom, addGenerationPrompt = false }: RenderRequest,
    { messages, sources, lastUser, veil, run }: Prepared,
    text: string,
  ): Span[] {
    if (loss === "none" || loss === "all_tokens") return [];
    const assistants = messages.flatMap(({ role }, i) => (role === "assistant" ? [i] : []));
    const last = assistants.at(-1);
    if (last === undefined) return [];
    const end = this.#endOfTurnToken();
    if (end === null) {
      throw new HoneError(
        "no-end-of-turn",
        "The chat template writes no end-of-turn token after an assistant message",
        {
          fix: "A model trained with it would never stop. Choose another template with --chat-template-path.",
        },
      );
    }
    const begins = (i: number) =>
      completionFrom === undefined ? (sources[i] ?? -1) > lastUser : sources[i] === completionFrom;
    const first = loss === "completion" ? assistants.find(begins) : last;
    if (first === undefined) {
      throw new HoneError("bad-messages", "A completion must begin with an assistant message", {
        fix: "Name the assistant message at which the completion begins.",
      });
    }
    const stop = new Set(this.stopIds);
    const spans = assistantSpans({
      text,
      messages,
      assistants: loss === "assistant_all" ? assistants : [...new Set([first, last])],
      run,
      tokens: this.#added.find(text, () => true),
      endsTurn: (id) => stop.has(id),
      tokensOf: (part) => this.#added.find(part, () => true),
      sentinel: veil.fresh(),
    });
    const [begin] = spans;
    if (loss !== "completion" || begin === undefined) return spans;
    const endsHere = last === messages.length - 1 && !addGenerationPrompt;
    return [{ start: begin.start, end: endsHere ? (spans.at(-1)?.end ?? text.length) : text.length }];
  }

  #endOfTurnToken(): AddedToken | null {
    if (this.#endOfTurn === undefined) {
      const sentinel = "\uE000";
      let text = "";
      try {
        const messages = [
          { role: "user", content: "?" },
          { role: "assistant", content: sentinel },
        ];
        const { run } = this.#prepare({ messages }, this.#main);
        text = run(templateMessages(messages), false);
      } catch {
        // A template that refuses even this has no end of turn that could be known.
      }
      const at = text.lastIndexOf(sentinel);
      const behind = at < 0 ? [] : this.#added.find(text.slice(at + 1), ({ content }) => content.trim() !== "");
      this.#endOfTurn = behind[0]?.token ?? null;
    }
    return this.#endOfTurn;
  }
}

interface Prepared {
  messages: TemplateMessage[];
  /** Index of each among the request's messages. */
  sources: number[];
  /** The request's last user message; −1 without one. */
  lastUser: number;
  veil: Veil;
  run: (
    messages: readonly TemplateMessage[],
    addGenerationPrompt: boolean,
    variables?: Record<string, unknown>,
  ) => string;
}

/**
 * The chat of a model. `template`: a built-in name (`chatml`) or the text of a Jinja template; absent: the model's own.
 * Throws `HoneError`: `no-chat-template` when there is none, `unknown-template`, `bad-template`.
 */
export function openChat(tokenizer: Tokenizer, { template }: { template?: string } = {}): Chat {
  if (template === undefined) return new Chat(tokenizer, tokenizer.settings.chatTemplates ?? {});
  if (template === "chatml") return new Chat(tokenizer, { default: chatml(tokenizer) });
  if (!/\{[{%]/.test(template)) {
    throw new HoneError("unknown-template", `There is no chat template named "${template}"`, {
      fix: "Use chatml, or give the text of a Jinja template.",
    });
  }
  return new Chat(tokenizer, { default: template });
}

/** ChatML, with the model's own EOS as the end of a turn if it has no `<|im_end|>`. */
function chatml(tokenizer: Tokenizer): string {
  const end = tokenizer.idOf("<|im_end|>") === undefined ? tokenizer.settings.eosToken : "<|im_end|>";
  if (end === undefined) {
    throw new HoneError("no-end-of-turn", "The tokenizer has neither <|im_end|> nor an EOS token to end a turn with");
  }
  return [
    "{% for message in messages %}",
    `{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + ${JSON.stringify(end)} + '\\n' }}`,
    "{% endfor %}",
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
  ].join("");
}

function noTemplate(): HoneError {
  return new HoneError(
    "no-chat-template",
    "The model has no chat template, so it is not known how it was taught to chat",
    {
      fix: "Choose one: --chat-template-path chatml, or --chat-template-path FILE with a Jinja template.",
    },
  );
}
