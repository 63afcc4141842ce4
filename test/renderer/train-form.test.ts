import { expect, test } from "vitest";
import { checkForm, createTrainForm, type TrainForm } from "../../renderer/stores/train-form.ts";

function checked(form: TrainForm) {
  return checkForm(form.getState());
}

test("what is there at first can be started, and nothing is changed", () => {
  const { config, errors, problem, changed, input } = checked(createTrainForm());
  expect(config).toMatchObject({ model: "starter", task: "tic-tac-toe", method: "gspo", max_steps: 400 });
  expect({ errors, problem, changed }).toEqual({ errors: {}, problem: null, changed: [] });
  expect(input).toEqual({ model: "starter", task: "tic-tac-toe", method: "gspo" });
});

test("each wrong value is told at its field, with the bound", () => {
  const form = createTrainForm();
  form.set("learning_rate", 0);
  form.set("num_generations", 2.5);
  form.set("top_p", 3);
  form.set("seed", "many");
  form.set("loss_type", "best");
  const { errors, config } = checked(form);
  expect(config).toBeNull();
  expect(errors).toEqual({
    learning_rate: { kind: "above", bound: 0 },
    num_generations: { kind: "whole" },
    top_p: { kind: "most", bound: 1 },
    seed: { kind: "number" },
    loss_type: { kind: "choice" },
  });
});

test("a contradiction is told at the option that it is about, with the way out", () => {
  const form = createTrainForm();
  form.set("num_generations", 1);
  expect(checked(form).errors.num_generations).toEqual({
    kind: "other",
    text: "with num_generations 1 every advantage is 0 and nothing can be learnt",
    fix: "compare at least 2 answers, better 8",
  });
  form.set("num_generations", undefined);
  expect(checked(form).config).not.toBeNull();
});

test("options of other methods stay for when one comes back to them, and are not sent", () => {
  const form = createTrainForm();
  form.set("num_generations", 4);
  form.set("method", "sft");
  form.set("batch_size", 16);
  expect(checked(form).input).toEqual({ model: "starter", task: "tic-tac-toe", method: "sft", batch_size: 16 });
  form.set("method", "gspo");
  expect(checked(form).input).toMatchObject({ num_generations: 4 });
  expect(checked(form).input).not.toHaveProperty("batch_size");
});

test("the later of two lengths wins", () => {
  const form = createTrainForm();
  form.set("max_steps", 10);
  form.set("num_train_epochs", 2);
  expect(checked(form).config).toMatchObject({ max_steps: null, num_train_epochs: 2 });
  form.set("max_steps", 7);
  expect(checked(form).config).toMatchObject({ max_steps: 7, num_train_epochs: null });
});

test("what has its default's value is no change", () => {
  const form = createTrainForm();
  form.set("max_steps", 400);
  form.set("learning_rate", 1e-4);
  expect(checked(form).changed).toEqual(["learning_rate"]);
});

test("a preset changes what it says, and the next one takes that back", () => {
  const form = createTrainForm();
  form.set("learning_rate", 1e-4);
  form.usePreset("quick");
  expect(checked(form).config).toMatchObject({ max_steps: 100, save_steps: 25, learning_rate: 1e-4 });
  form.usePreset("thorough");
  expect(checked(form).config).toMatchObject({
    max_steps: 800,
    save_steps: 50,
    num_generations: 16,
    learning_rate: 1e-4,
  });
  form.usePreset("balanced");
  expect(checked(form).changed).toEqual(["learning_rate"]);
});

test("a checkpoint brings defaults of its own", () => {
  const form = createTrainForm();
  form.set("model", "my-run:50");
  form.setOrigin({ model: "starter", defaults: { finetuning_type: "lora", lora_r: 4 } });
  expect(checked(form)).toMatchObject({ changed: [], config: { model: "my-run:50", lora_r: 4, max_steps: 400 } });
});
