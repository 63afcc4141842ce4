import { expect, test } from "vitest";
import { optionNames, type Method } from "../../../core/contract/config.ts";
import { defaultsFor } from "../../../core/contract/defaults.ts";
import { optionLabels } from "../../../core/contract/option-labels.ts";
import { trainCommand } from "../../../core/contract/train-command.ts";
import { presetOf, presetValues, trainPresets } from "../../../core/contract/train-presets.ts";
import options from "../../../renderer/i18n/zh/options.json" with { type: "json" };

test("a command has a flag for what was given, quoted where a shell needs it", () => {
  expect(
    trainCommand({
      model: "starter",
      task: "my data.jsonl",
      learning_rate: 3e-4,
      eval_on_start: false,
      map: ["prompt=q", "completion=a"],
      reward: null,
    }),
  ).toBe(
    "hone train --model starter --task 'my data.jsonl' --map prompt=q,completion=a --learning-rate 0.0003 --eval-on-start false",
  );
});

const cases = (["gspo", "grpo", "ppo", "sft", "dpo"] as const satisfies Method[]).flatMap((method) =>
  ["tic-tac-toe", "extraction"].map((task) => ({ method, task })),
);

test.each(cases)("presets of $method on $task differ, and are known again by their values", ({ method, task }) => {
  const usual = defaultsFor({ model: "starter", task, method });
  for (const preset of trainPresets) expect(presetOf(presetValues(preset, usual), usual)).toBe(preset);
  expect(presetOf({ max_steps: 12345 }, usual)).toBeUndefined();
});

test("every option has a plain name, and a Chinese one with its sentence", () => {
  expect(Object.keys(optionLabels).sort()).toEqual([...optionNames].sort());
  expect(new Set(Object.values(optionLabels)).size).toBe(optionNames.length);
  expect(Object.keys(options).sort()).toEqual([...optionNames].sort());
  for (const { label, help } of Object.values(options)) expect(label.length * help.length).toBeGreaterThan(0);
});
