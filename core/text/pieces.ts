/** Tokens for people to look at. */

import type { Tokenizer } from "./tokenizer.ts";

export interface Piece {
  id: number;
  /** The token's text; bytes that are no whole character as `\xE4`. */
  text: string;
  /** A control token or marker, not text. */
  control: boolean;
  /** The token holds only a part of some character. */
  partial: boolean;
}

/** One entry per id. */
export function pieces(tokenizer: Tokenizer, ids: ArrayLike<number>): Piece[] {
  return Array.from(ids, (id) => {
    const bytes = tokenizer.tokenBytes(id);
    const whole = Buffer.from(bytes);
    return {
      id,
      text: tokenizer.piece(id),
      control: tokenizer.controlIds.has(id),
      partial: !Buffer.from(whole.toString("utf8"), "utf8").equals(whole),
    };
  });
}
