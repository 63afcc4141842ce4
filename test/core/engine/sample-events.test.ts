import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine } from "../../../core/engine/engine.ts";
import type { Model, Sample } from "../../../core/engine/types.ts";
import { starterFolder } from "../../../core/train/model-ref.ts";

let model: Model;
beforeAll(async () => {
  model = await (await createEngine()).open(starterFolder);
});
afterAll(() => model.close());

const request = (seed: number, maxTokens: number) => ({ prompt: Int32Array.of(5, 6, seed), n: 2, maxTokens, seed });

test("samples arrive as they end, after their tokens, and are those of the result", async () => {
  const events: (string | Sample)[] = [];
  const requests = [request(1, 400), request(2, 3), request(3, 60)];
  const samples = await model.sample(requests, {
    onToken: ({ request, index }) => events.push(`${request}.${index}`),
    onSample: (sample) => events.push(sample),
  });
  expect(samples.map(({ request, index }) => [request, index])).toEqual(
    [0, 1, 2].flatMap((r) => [
      [r, 0],
      [r, 1],
    ]),
  );
  expect(samples).toEqual(await model.sample(requests));
  const ended = events.filter((event) => typeof event !== "string");
  expect(ended).toHaveLength(6);
  expect(new Set(ended)).toEqual(new Set(samples));
  expect(ended.map(({ tokens }) => tokens.length)).toEqual(
    samples.map(({ tokens }) => tokens.length).sort((a, b) => a - b),
  );
  for (const sample of samples) {
    expect(ended.some((one) => one === sample)).toBe(true);
    const at = events.indexOf(sample);
    const own = events.flatMap((event, i) => (event === `${sample.request}.${sample.index}` ? [i] : []));
    expect(own).toHaveLength(sample.tokens.length);
    expect(Math.max(...own)).toBeLessThan(at);
  }
});

test("a call made while another runs joins its batch", async () => {
  let later: Promise<Sample[]> | undefined;
  const order: string[] = [];
  const long = model.sample([{ ...request(1, 900), n: 1 }], {
    onToken: () => {
      later ??= model.sample([request(2, 3)]).then((samples) => {
        order.push("later");
        return samples;
      });
    },
  });
  void long.then(() => order.push("long"));
  await long;
  expect((await later)?.length).toBe(2);
  expect(order).toEqual(["later", "long"]);
});

test("aborting ends what runs, and tells it", async () => {
  const abort = new AbortController();
  const told: Sample[] = [];
  const samples = await model.sample([request(1, 900), request(2, 2)], {
    signal: abort.signal,
    onSample: (sample) => {
      told.push(sample);
      if (told.length === 2) abort.abort();
    },
  });
  expect(samples.map(({ stopReason }) => stopReason)).toEqual(["cancelled", "cancelled", "length", "length"]);
  expect(told).toHaveLength(4);
});

test.each(["onToken", "onSample"])("what %s throws ends the call with it", async (name) => {
  let calls = 0;
  const listener = () => {
    calls++;
    throw new RangeError("made up");
  };
  await expect(model.sample([request(1, 900), request(2, 2)], { [name]: listener })).rejects.toThrow(RangeError);
  expect(calls).toBe(1);
  expect(await model.sample([request(2, 2)])).toHaveLength(2);
});
