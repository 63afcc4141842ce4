/** A model's own tokenizer and chat template as the chat of a policy. */

import { readFileSync, existsSync } from "node:fs";
import { HoneError } from "../contract/errors.ts";
import type { ChatMessage, ToolDefinition } from "../contract/chat.ts";
import type { TokenRow } from "../engine/micro-batches.ts";
import { thinkClose, thinkOpen } from "../text/markers.ts";
import { openChat, type Chat as TextLayer, type LossMode } from "../text/chat.ts";
import { openTokenizer, type OpenTokenizerOptions } from "../text/open-tokenizer.ts";
import type { Chat, ReadOptions } from "./policy.ts";

export interface TextChatOptions extends OpenTokenizerOptions {
  /** `chatml`, or a file with a Jinja template, instead of the model's own. */
  template?: string;
  /** Absent: as the template does by itself. */
  thinking?: boolean;
  /** The date that a template may write into a prompt. Default: now, whenever a prompt is rendered. */
  now?: Date;
}

/** Longest tail of a prompt, in tokens, in which an opened `<think>` is looked for. */
const thinkTail = 8;

export class TextChat implements Chat {
  readonly text: TextLayer;
  readonly stopIds: readonly number[];
  readonly #options: Pick<TextChatOptions, "thinking" | "now">;

  constructor(text: TextLayer, options: Pick<TextChatOptions, "thinking" | "now"> = {}) {
    this.text = text;
    this.stopIds = text.stopIds;
    this.#options = options;
  }

  /** Tokens of the vocabulary: ids are below it. */
  get vocabSize(): number {
    return this.text.tokenizer.vocabSize;
  }

  renderPrompt(messages: readonly ChatMessage[], tools: readonly ToolDefinition[]): Int32Array {
    const { ids } = this.text.render({
      messages,
      tools,
      addGenerationPrompt: true,
      loss: "none",
      ...this.#options,
    });
    return Int32Array.from(ids);
  }

  readAnswer(
    promptTokens: Int32Array,
    tokens: Int32Array,
    tools: readonly ToolDefinition[],
    { stopReason, parallel = false }: ReadOptions,
  ) {
    const text = this.text.answerText(tokens);
    const thinkingOpen = this.decode(promptTokens.slice(-thinkTail)).trimEnd().endsWith(thinkOpen);
    const parsed = this.text.parse(text, tools, { stopReason, thinkingOpen, parallel });
    const thinks = parsed.reasoning !== "" || this.text.hasThinkingSwitch;
    return { text, parsed, ...(thinks && { thinkingTokens: this.#thinkingTokens(tokens, parsed.reasoning) }) };
  }

  /** Tokens up to the end of the last thought, tags included, without what was said before the first. */
  #thinkingTokens(tokens: Int32Array, reasoning: string): number {
    if (reasoning === "") return 0;
    const all = this.decode(tokens);
    const open = all.indexOf(thinkOpen);
    const close = all.lastIndexOf(thinkClose);
    const begin = open < 0 || all.slice(0, open).includes(thinkClose) ? 0 : this.#tokensUntil(tokens, open);
    const end =
      close < 0 || all.lastIndexOf(thinkOpen) > close
        ? tokens.length
        : this.#tokensUntil(tokens, close + thinkClose.length);
    return Math.max(0, end - begin);
  }

  /** The fewest first tokens whose text is at least so long. */
  #tokensUntil(tokens: Int32Array, length: number): number {
    let [low, high] = [0, tokens.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.decode(tokens.slice(0, middle)).length >= length) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /**
   * A conversation as tokens, cut where the loss begins, up to the last token that is in it: `mask` is 1 for those. A
   * first token has nothing before it and is never in a loss. `completionFrom`: the message at which a `completion` begins.
   */
  renderTrained(
    messages: readonly ChatMessage[],
    tools: readonly ToolDefinition[],
    loss: LossMode,
    completionFrom?: number,
  ): TokenRow {
    const { ids, trained } = this.text.render({
      messages,
      tools,
      loss,
      ...(completionFrom !== undefined && { completionFrom }),
      ...this.#options,
    });
    const first = trained.indexOf(true);
    const begin = Math.max(1, first < 0 ? ids.length : first);
    const end = trained.lastIndexOf(true) + 1;
    return {
      promptIds: Int32Array.from(ids.slice(0, begin)),
      ids: Int32Array.from(ids.slice(begin, end)),
      mask: Uint8Array.from(trained.slice(begin, end), Number),
    };
  }

  /** Plain text as tokens, with what the tokenizer puts around it, and the end of a text after it. */
  textIds(text: string): Int32Array {
    const ids = this.encodeText(text);
    const { eosId } = this.text.tokenizer;
    return Int32Array.from(eosId === null || ids.at(-1) === eosId ? ids : [...ids, eosId]);
  }

  /** Plain text as a model sees it at the beginning of a document; special tokens in it are ordinary text. */
  encodeText(text: string): number[] {
    return this.text.tokenizer.encode(text, { allowSpecial: false, addSpecial: true });
  }

  decode(tokens: Int32Array): string {
    return this.text.tokenizer.decode(tokens, { continues: true });
  }

  /** Files that make a folder with trained weights usable by other software. */
  files(): Record<string, string> {
    const files = this.text.tokenizer.files();
    return { ...files, "chat_template.jinja": this.text.template };
  }
}

/** Opens tokenizer and chat template of a model folder or .gguf file. */
export async function openTextChat(path: string, options: TextChatOptions = {}): Promise<TextChat> {
  const { template, thinking, now, ...tokenizerOptions } = options;
  const tokenizer = await openTokenizer(path, tokenizerOptions);
  const text = openChat(tokenizer, template === undefined ? {} : { template: readTemplate(template) });
  return new TextChat(text, { ...(thinking !== undefined && { thinking }), ...(now !== undefined && { now }) });
}

function readTemplate(template: string): string {
  if (template === "chatml") return template;
  if (existsSync(template)) return readFileSync(template, "utf8");
  throw new HoneError("no-such-file", `there is no chat template at ${template}`, {
    fix: "give `chatml`, or a file with a Jinja template",
  });
}
