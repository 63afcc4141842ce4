/** Finds the tokens that are matched in the text as they stand, before the vocabulary's own rules: control tokens and markers. */

import type { AddedToken } from "./tokenizer-json.ts";

export interface Match {
  token: AddedToken;
  /** Where its content begins, in UTF-16 units. */
  at: number;
  /** Range of the text with the white space that the token swallows. */
  start: number;
  end: number;
}

interface Node {
  next: Map<string, Node>;
  token?: AddedToken;
}

export class AddedTokens {
  readonly list: readonly AddedToken[];
  readonly #root: Node = { next: new Map() };

  constructor(list: readonly AddedToken[]) {
    this.list = list;
    for (const token of list) {
      let node = this.#root;
      for (const unit of token.content.split("")) {
        let next = node.next.get(unit);
        if (next === undefined) node.next.set(unit, (next = { next: new Map() }));
        node = next;
      }
      node.token = token;
    }
  }

  /** Every match, leftmost first and the longest at each place, without overlaps. */
  find(text: string, allow: (token: AddedToken) => boolean): Match[] {
    const matches: Match[] = [];
    for (let i = 0; i < text.length;) {
      const token = this.#longestAt(text, i, allow);
      if (token === undefined) {
        i++;
        continue;
      }
      const end = i + token.content.length;
      matches.push({
        token,
        at: i,
        start: token.lstrip ? Math.max(matches.at(-1)?.end ?? 0, text.slice(0, i).trimEnd().length) : i,
        end: token.rstrip ? text.length - text.slice(end).trimStart().length : end,
      });
      i = end;
    }
    return matches;
  }

  #longestAt(text: string, start: number, allow: (token: AddedToken) => boolean): AddedToken | undefined {
    let found: AddedToken | undefined;
    let node: Node | undefined = this.#root;
    for (let i = start; node !== undefined; i++) {
      const { token } = node;
      if (token !== undefined && allow(token) && !(token.single_word && touchesWord(text, start, i))) found = token;
      node = i < text.length ? node.next.get(text.charAt(i)) : undefined;
    }
    return found;
  }
}

const wordChar = /[\p{L}\p{N}\p{M}\p{Pc}]/u;

function touchesWord(text: string, start: number, end: number): boolean {
  return wordChar.test(text.slice(0, start).slice(-1)) || wordChar.test(text.slice(end, end + 1));
}
