import { expect, it } from "vitest";
import { pieces } from "../../../core/text/pieces.ts";
import { smallTokenizer } from "./small-tokenizer.ts";

it("shows every token, and which of them are control tokens or parts of a character", () => {
  const tokenizer = smallTokenizer(["<s>"]);
  const ids = tokenizer.encode("<s> 𓀀", { allowSpecial: true });
  const shown = pieces(tokenizer, Int32Array.from(ids));
  expect(shown[0]).toEqual({ id: 0, text: "<s>", control: true, partial: false });
  expect(
    shown
      .slice(1)
      .map(({ text }) => text)
      .join(""),
  ).toBe(" \\xF0\\x93\\x80\\x80");
  expect(shown.filter(({ partial }) => partial)).toHaveLength(4);
});
