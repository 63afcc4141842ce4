import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import { combineAdvice, type Advice } from "../../../../core/contract/advice.ts";
import type { LabSample } from "../../../../core/contract/api/reward-calls.ts";
import { completeFrom } from "../../../../renderer/components/code-completion.ts";
import { orderSamples, sharedHistogram } from "../../../../renderer/pages/rewards/lab-figures.ts";
import {
  newPart,
  partFields,
  partTypes,
  readParts,
  withOption,
  writeParts,
} from "../../../../renderer/pages/rewards/part-fields.ts";
import { sampleFields } from "../../../../renderer/pages/rewards/reward-completions.ts";
import { placeOf } from "../../../../renderer/pages/tasks/finding-place.ts";
import { scriptExports, taskKeys } from "../../../../renderer/pages/tasks/task-completions.ts";
import { openReward } from "../../../../core/rewards/open-reward.ts";

const texts = (language: string, area: string) =>
  JSON.parse(
    readFileSync(
      join(import.meta.dirname, "..", "..", "..", "..", "renderer", "i18n", language, `${area}.json`),
      "utf8",
    ),
  ) as Record<string, Record<string, Record<string, string>>>;

test.each(["en", "zh"])("every part, option and field has its words in %s", (language) => {
  const { type, option, field } = texts(language, "rewards");
  for (const one of partTypes) {
    expect(type[one], one).toMatchObject({ name: expect.any(String) as string, what: expect.any(String) as string });
    for (const { name } of partFields(one)) expect(option[name]?.["label"], `${one}.${name}`).toBeTypeOf("string");
  }
  for (const name of Object.keys(sampleFields)) expect(field[name], name).toBeTypeOf("string");
  const tasks = texts(language, "tasks");
  for (const key of taskKeys) expect(tasks["key"][key], key).toBeTypeOf("string");
  for (const key of Object.keys(scriptExports)) expect(tasks["export"][key], key).toBeTypeOf("string");
});

test("a part that was added can be opened at once, and its name is its own", async () => {
  for (const type of partTypes) {
    const part = newPart(type, [{ type }]);
    expect(part["name"]).toBe(`${type}_2`);
    // These need a program, a file or a server beside them.
    if (["script", "command", "judge", "http"].includes(type)) continue;
    const reward = await openReward({ parts: [part] });
    expect(reward.parts[0].name).toBe(`${type}_2`);
    await reward.close();
  }
});

test("the form reads and writes the file, and leaves out what is usual", () => {
  const text = writeParts([{ type: "length", max: 3, soft: 2 }]);
  const [part] = readParts(text) ?? [];
  expect(withOption(part, "soft", undefined)).toEqual({ type: "length", max: 3 });
  expect(readParts("{")).toBeUndefined();
  expect(readParts('{"parts": [{"type": "nothing"}]}')).toBeUndefined();
  expect(partFields("regex").find(({ name }) => name === "pattern")?.required).toBe(true);
});

const sample = (index: number, reward: number | null, before: number | null) =>
  ({ index, reward, before, error: reward === null ? "no" : null }) as LabSample;

test("rewards of now and before share their spans", () => {
  expect(sharedHistogram([sample(0, 1, 0), sample(1, 1, 1), sample(2, null, 0)])).toEqual([
    { from: 0, to: 0, now: 0, before: 2 },
    { from: 1, to: 1, now: 2, before: 1 },
  ]);
  const many = sharedHistogram(Array.from({ length: 100 }, (_, i) => sample(i, i, null)));
  expect(many).toHaveLength(12);
  expect(many.reduce((sum, { now }) => sum + now, 0)).toBe(100);
});

test("samples are ordered by worth and by change", () => {
  const samples = [sample(0, 1, 5), sample(1, 3, 3), sample(2, null, 1), sample(3, 2, 1)];
  const order = (by: Parameters<typeof orderSamples>[1]) => orderSamples(samples, by).map(({ index }) => index);
  expect(order("best")).toEqual([1, 3, 0]);
  expect(order("worst")).toEqual([0, 3, 1]);
  expect(order("changed")).toEqual([0, 3]);
  expect(order("failed")).toEqual([2]);
});

test("completion offers fields behind their owner, and names elsewhere", () => {
  const words = [
    { label: "answer", kind: "property" as const, owner: "sample" },
    { label: "sample", kind: "variable" as const },
  ];
  const at = (text: string, language: "typescript" | "json") =>
    completeFrom(words, language)(new CompletionContext(EditorState.create({ doc: text }), text.length, false));
  expect(at("x = sample.an", "typescript")).toMatchObject({ from: 11, options: [{ label: "answer" }] });
  expect(at("x = sa", "typescript")).toMatchObject({ from: 4, options: [{ label: "sample" }] });
  expect(at("x = other.an", "typescript")).toBeNull();
  expect(at('{ "an', "json")).toMatchObject({ from: 3, options: [{ apply: "answer" }, { apply: "sample" }] });
});

test("a finding finds its place", () => {
  const text = '{\n  "limits": {\n    "turns": 0\n  }\n}';
  expect(placeOf("/t/task.json: limits.turns: it must be at least 1", "/t/task.json", text)).toEqual({ line: 3 });
  expect(placeOf('/t/task.json: there is no key "limits"', "/t/task.json", text)).toEqual({ line: 2 });
  expect(placeOf("/t/env.ts:4:2: no", "/t/env.ts", "")).toEqual({ line: 4, column: 2 });
  expect(placeOf("/t/env.ts:4:2: no", "/t/task.json", text)).toBeUndefined();
});

test("figures settle what a person does not know, and never overrule their no", () => {
  const none = { rules: null, reproducible: null, judged: null, recurs: null, behaviour: null };
  const measured = {
    conditions: [
      { name: "rules", verdict: "yes" },
      { name: "reproducible", verdict: "unclear" },
      { name: "recurs", verdict: "no" },
    ],
  } as unknown as Advice;
  expect(combineAdvice(none, null).verdict).toBe("not_yet");
  expect(combineAdvice(none, measured).verdict).toBe("do_not_train");
  const said = { ...none, rules: "no" as const, reproducible: "yes" as const, recurs: "yes" as const };
  const { conditions } = combineAdvice(said, measured);
  expect(conditions.map(({ verdict }) => verdict)).toEqual(["no", "yes", "unclear", "no", "unclear"]);
  expect(conditions.map(({ contradicts }) => contradicts)).toEqual([true, false, false, true, false]);
  const all = { rules: "yes", reproducible: "yes", judged: "yes", recurs: "yes", behaviour: "yes" } as const;
  expect(combineAdvice(all, null).verdict).toBe("train");
});
