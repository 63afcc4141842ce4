import { describe, expect, it } from "vitest";
import { TextStream } from "../../../core/text/text-stream.ts";
import type { Tokenizer } from "../../../core/text/tokenizer.ts";
import { randomText, seededRandom, smallTokenizer } from "./small-tokenizer.ts";

const tokenizer = smallTokenizer(["<s>", "</s>"]);

function pushAll(stream: TextStream, ids: readonly number[]): string[] {
  return [...ids.map((id) => stream.push(id)), stream.flush()];
}

/** What a stream may give out so far: whole characters only, never a guess. */
function expectWholeCharacters(of: Tokenizer, ids: readonly number[], chunks: readonly string[]): void {
  let text = "";
  chunks.forEach((chunk, i) => {
    text += chunk;
    const soFar = of.decode(ids.slice(0, i + 1));
    expect(soFar.startsWith(text)).toBe(true);
    // Only bytes that may still become a character are held back.
    expect(soFar.length - text.length).toBeLessThanOrEqual(1);
  });
}

describe("TextStream", () => {
  it("equals the full decode for texts of every kind", () => {
    const random = seededRandom(7);
    for (let i = 0; i < 400; i++) {
      const text = randomText(random, 10);
      const ids = tokenizer.encode(text, { allowSpecial: true });
      const chunks = pushAll(new TextStream(tokenizer), ids);
      expect(chunks.join("")).toBe(text);
      expect(chunks.join("")).not.toContain("\ufffd");
      expectWholeCharacters(tokenizer, ids, chunks.slice(0, -1));
    }
  });

  it("equals the full decode for ids that are no text", () => {
    const random = seededRandom(8);
    for (let i = 0; i < 400; i++) {
      const ids = Array.from({ length: 12 }, () => Math.floor(random() * (tokenizer.vocabSize + 3)));
      const chunks = pushAll(new TextStream(tokenizer), ids);
      expect(chunks.join("")).toBe(tokenizer.decode(ids));
      expect(pushAll(new TextStream(tokenizer, { skipSpecial: true }), ids).join("")).toBe(
        tokenizer.decode(ids, { skipSpecial: true }),
      );
    }
  });

  it("gives a character with its last byte", () => {
    const ids = tokenizer.encode("𓀀!", { allowSpecial: false });
    expect(ids).toHaveLength(5);
    expect(pushAll(new TextStream(tokenizer), ids)).toEqual(["", "", "", "𓀀", "!", ""]);
  });

  it("ends a text that stops inside a character as the full decode does", () => {
    const ids = tokenizer.encode("a𓀀", { allowSpecial: false }).slice(0, -1);
    expect(pushAll(new TextStream(tokenizer), ids)).toEqual(["a", "", "", "", "\ufffd"]);
    expect(tokenizer.decode(ids)).toBe("a\ufffd");
  });

  it("keeps a byte order mark", () => {
    const ids = tokenizer.encode("\ufeffa", { allowSpecial: false });
    expect(pushAll(new TextStream(tokenizer), ids).join("")).toBe("\ufeffa");
  });
});
