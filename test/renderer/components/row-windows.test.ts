import { expect, test, vi } from "vitest";
import { blockSize, RowWindows } from "../../../renderer/components/row-windows.ts";

/** Rows that come when they are told to. */
function slowRows() {
  const asked: { from: number; signal: AbortSignal; answer: (rows: string[]) => void; fail: (error: Error) => void }[] =
    [];
  const load = (from: number, limit: number, signal: AbortSignal) => {
    expect(limit).toBe(blockSize);
    return new Promise<string[]>((answer, fail) => asked.push({ from, signal, answer, fail }));
  };
  return { asked, load };
}

const block = (from: number, word: string) => Array.from({ length: blockSize }, (_, i) => `${word} ${from + i}`);
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("what comes into sight is fetched once, in blocks", async () => {
  const { asked, load } = slowRows();
  const changed = vi.fn();
  const windows = new RowWindows(load, 1, changed);
  windows.show(90, 120);
  windows.show(90, 121);
  expect(asked.map(({ from }) => from)).toEqual([0, 100]);
  expect(windows.row(95)).toBeUndefined();
  asked[0].answer(block(0, "row"));
  await settled();
  expect(windows.row(95)).toBe("row 95");
  expect(windows.row(100)).toBeUndefined();
  expect(changed).toHaveBeenCalledTimes(1);
});

test("what has gone out of sight is given up, and asked for again when it is back", async () => {
  const { asked, load } = slowRows();
  const windows = new RowWindows(load, 1, () => undefined);
  windows.show(0, 10);
  windows.show(5000, 5010);
  expect(asked[0].signal.aborted).toBe(true);
  asked[0].answer(block(0, "late"));
  await settled();
  expect(windows.row(0)).toBeUndefined();
  windows.show(0, 10);
  expect(asked.map(({ from }) => from)).toEqual([0, 5000, 0]);
});

test("rows of an older version stay until newer ones are there, also when the newer ones were given up once", async () => {
  const { asked, load } = slowRows();
  const windows = new RowWindows(load, 1, () => undefined);
  windows.show(0, 10);
  asked[0].answer(block(0, "old"));
  await settled();
  windows.renew(2);
  windows.show(0, 10);
  expect(windows.row(3)).toBe("old 3");
  windows.show(900, 910);
  windows.show(0, 10);
  expect(asked.map(({ from }) => from)).toEqual([0, 0, 900, 0]);
  asked[3].answer(block(0, "new"));
  await settled();
  expect(windows.row(3)).toBe("new 3");
});

test("a failure is told, nothing is asked for in a circle, and it can be tried again", async () => {
  const { asked, load } = slowRows();
  const windows = new RowWindows(load, 1, () => windows.show(0, 10));
  windows.show(0, 10);
  asked[0].fail(new Error("no disk"));
  await settled();
  expect(windows.error).toEqual(new Error("no disk"));
  expect(asked.length).toBe(1);
  windows.retry();
  expect(asked.length).toBe(2);
  asked[1].answer(block(0, "row"));
  await settled();
  expect(windows.error).toBeUndefined();
  expect(windows.row(1)).toBe("row 1");
});
