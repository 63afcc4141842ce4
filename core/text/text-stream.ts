/** Text of a growing list of token ids, a whole number of characters at a time. */

import type { Tokenizer } from "./tokenizer.ts";

/**
 * What `push` and `flush` return, joined, is what `Tokenizer.decode` makes of all ids. A character whose bytes are
 * spread over several tokens comes with its last one; bytes that turn out to be no character come as U+FFFD, as there.
 */
export class TextStream {
  readonly #tokenizer: Tokenizer;
  readonly #skipSpecial: boolean;
  readonly #utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  #atStart: boolean;

  /** Options as of `Tokenizer.decode`. */
  constructor(tokenizer: Tokenizer, options: { skipSpecial?: boolean; continues?: boolean } = {}) {
    this.#tokenizer = tokenizer;
    this.#skipSpecial = options.skipSpecial ?? false;
    this.#atStart = tokenizer.stripsFirstSpace && !(options.continues ?? false);
  }

  /** The characters that this token completes; often none. */
  push(id: number): string {
    if (this.#skipSpecial && this.#tokenizer.specialIds.has(id)) return "";
    return this.#strip(this.#utf8.decode(this.#tokenizer.tokenBytes(id), { stream: true }));
  }

  /** Ends the text: U+FFFD when it stops in the middle of a character, else nothing. */
  flush(): string {
    return this.#strip(this.#utf8.decode());
  }

  #strip(text: string): string {
    if (!this.#atStart || text === "") return text;
    this.#atStart = false;
    return text.startsWith(" ") ? text.slice(1) : text;
  }
}
