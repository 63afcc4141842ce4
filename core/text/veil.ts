/**
 * Keeps what a message says apart from what the template says. Before a template runs, control tokens that stand in a
 * message are replaced by single private-use characters, which no template looks for; after the control tokens of the
 * template itself have been found in the rendered text, they are put back as ordinary characters.
 */

import { escapePattern } from "./exact-components.ts";

export class Veil {
  readonly #stands = new Map<string, string>();
  readonly #behind = new Map<string, string>();
  readonly #used: string;

  /** `inputs`: everything that will be hidden in or rendered, so that the stand-ins occur nowhere in it. */
  constructor(inputs: unknown) {
    this.#used = JSON.stringify(inputs);
  }

  /** A copy of `value` in which every string, keys included, has the given tokens hidden. */
  hide<T>(value: T, tokens: readonly string[]): T {
    if (tokens.length === 0) return value;
    const longestFirst = [...tokens].sort((a, b) => b.length - a.length);
    const pattern = new RegExp(longestFirst.map(escapePattern).join("|"), "g");
    const walk = (node: unknown): unknown => {
      if (typeof node === "string") return node.replace(pattern, (token) => this.#standIn(token));
      if (Array.isArray(node)) return node.map(walk);
      if (typeof node !== "object" || node === null) return node;
      return Object.fromEntries(Object.entries(node).map(([key, item]) => [walk(key), walk(item)]));
    };
    return walk(value) as T;
  }

  readonly restore = (text: string): string => {
    if (this.#behind.size === 0) return text;
    return text.replace(/[\uE000-\uF8FF]/g, (char) => this.#behind.get(char) ?? char);
  };

  /** A private-use character that occurs in no input. */
  fresh(): string {
    for (let code = 0xe000 + this.#behind.size; code <= 0xf8ff; code++) {
      const char = String.fromCharCode(code);
      if (!this.#used.includes(char) && !this.#behind.has(char)) return char;
    }
    throw new Error("every private-use character is taken");
  }

  #standIn(token: string): string {
    let char = this.#stands.get(token);
    if (char === undefined) {
      char = this.fresh();
      this.#stands.set(token, char);
      this.#behind.set(char, token);
    }
    return char;
  }
}
