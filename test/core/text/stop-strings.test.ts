import { describe, expect, test } from "vitest";
import { Random } from "../../../core/contract/random.ts";
import { StopStrings } from "../../../core/text/stop-strings.ts";

function run(stops: string[], pieces: string[]): { text: string; met: string | undefined } {
  const stream = new StopStrings(stops);
  const text = pieces.map((piece) => stream.push(piece)).join("") + stream.flush();
  return { text, met: stream.met };
}

describe("stop strings", () => {
  test("are found across pieces and cut off with what follows", () => {
    expect(run(["END"], ["one E", "N", "D two"])).toEqual({ text: "one ", met: "END" });
    expect(run(["\n\n", "END"], ["a\n", "\nEND"])).toEqual({ text: "a", met: "\n\n" });
  });

  test("give out what only looked like one", () => {
    expect(run(["END"], ["one E", "N", "G"])).toEqual({ text: "one ENG", met: undefined });
    expect(run(["aab"], ["a", "a", "a", "b"])).toEqual({ text: "a", met: "aab" });
    expect(run(["END"], ["EN"])).toEqual({ text: "EN", met: undefined });
  });

  test("hold back no more than needed", () => {
    const stream = new StopStrings(["stop"]);
    expect(stream.push("do not st")).toBe("do not ");
    expect(stream.push("and")).toBe("stand");
  });

  test("an empty one stops nothing", () => {
    expect(run([""], ["text"])).toEqual({ text: "text", met: undefined });
  });

  test("the cut does not depend on how the text was split", () => {
    const random = new Random("splits");
    for (let i = 0; i < 300; i++) {
      const text = Array.from({ length: 30 }, () => random.pick(["a", "b", "c"])).join("");
      const stops = Array.from({ length: 1 + random.integer(3) }, () =>
        Array.from({ length: 1 + random.integer(4) }, () => random.pick(["a", "b", "c"])).join(""),
      );
      const cut = Math.min(...stops.map((stop) => (text.includes(stop) ? text.indexOf(stop) : text.length)));
      // Letter by letter a shorter stop string can end first: compare with the first one to be complete.
      const ends = stops.map((stop) => (text.includes(stop) ? text.indexOf(stop) + stop.length : Infinity));
      const first = Math.min(...ends);
      const letters = run(stops, [...text]).text;
      if (first === Infinity) expect(letters).toBe(text);
      else
        expect(stops.some((stop, k) => ends[k] === first && letters === text.slice(0, first - stop.length))).toBe(true);
      expect(run(stops, [text]).text).toBe(text.slice(0, cut));
    }
  });
});
