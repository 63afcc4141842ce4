/** Opens everything that a run needs, and checks what can be checked before it begins. */

import { isRl, rlMethods, type Method, type RunConfig } from "../contract/config.ts";
import { HoneError } from "../contract/errors.ts";
import type { Split } from "../contract/eval.ts";
import { plural } from "../contract/units.ts";
import type { Engine, Model, OpenProgress } from "../engine/types.ts";
import { hasSameIds, type TokenRow } from "../engine/micro-batches.ts";
import { pickRows } from "../evaluate/evaluate-task.ts";
import { EnginePolicy, type Chat } from "../evaluate/policy.ts";
import type { TokenPair } from "../evaluate/preference-accuracy.ts";
import { hasSolutions, type RowChat } from "../evaluate/trained-row.ts";
import { rowsFor, type RowUse, type Task, type TaskRow } from "../tasks/task.ts";
import { dataOptions, openTask } from "../tasks/open-task.ts";
import type { TrainListener } from "./events.ts";
import { dpoExamples, sftExamples, skipReasons, type Examples } from "./examples/examples.ts";
import type { ReadyConfig } from "./loop.ts";
import { findModel, type ModelFiles } from "./model-ref.ts";
import { chooseMicroBatchTokens, openTrainable } from "./open-trainable.ts";

/** A chat that makes rows to train on, and can write the files a model folder needs beside its weights. */
export interface TrainChat extends Chat, RowChat {
  /** File name → text: tokenizer, chat template, stop ids. */
  files(): Record<string, string>;
}

export interface ChatOptions {
  /** `chatml` or a file, instead of the model's own; null: the model's own. */
  template: string | null;
  /** Null: as the template does by itself. */
  thinking: boolean | null;
  /** The date that a template may write into a prompt; a resumed run keeps that of its beginning, so that its prompts stay the same. */
  now: Date;
}

export interface TrainContext {
  engine: Engine;
  openChat: (files: ModelFiles, options: ChatOptions) => Promise<TrainChat>;
  honeVersion: string;
  /** What asked for the run, for its record. */
  command: readonly string[];
  listen: TrainListener;
  onOpen?: (progress: OpenProgress) => void;
  signal: AbortSignal;
}

/** A configuration whose open questions (memory, threads, steps) have been answered on this machine. */
export interface PreparedRun {
  begun: Date;
  config: ReadyConfig;
  totalSteps: number;
  files: ModelFiles;
  task: Task;
  rows: { train: TaskRow[]; validation: TaskRow[] };
  heldOutRows: number;
  /** Training rows as tokens, for the methods that learn from given answers. */
  examples: { sft?: Examples<TokenRow>; dpo?: Examples<TokenPair> };
  /** Tokens of prompt and answer at most. */
  maxLength: number;
  /** Something is compared with a frozen model: a KL term, or DPO. */
  hasReference: boolean;
  model: Model;
  policy: EnginePolicy;
  chat: TrainChat;
  /** Ends the model and what the task has started. */
  close(): Promise<void>;
}

export async function prepareRun(
  context: TrainContext,
  input: RunConfig,
  resume?: { checkpoint: string | undefined; begun: Date },
): Promise<PreparedRun> {
  const { engine, listen, signal } = context;
  const task = await openTask(input.task, dataOptions(input));
  let model: Model | undefined;
  const close = async () => {
    await model?.close();
    await task.close?.();
  };
  try {
    requireAbility(task, input.method);
    for (const message of task.notes ?? []) listen({ type: "note", message });
    const use = useOf(input.method);
    const allRows = (split: Split) => task.rows(split, { seed: input.split_seed });
    const rows = (split: Split) => rowsFor(task, allRows(split), use);
    const allTrain = allRows("train");
    const train = rowsFor(task, allTrain, use);
    tellOthers(allTrain.length - train.length, input.method, listen);
    if (train.length === 0) throw new HoneError("no-rows", `task ${task.name} has no training rows`);
    const begun = resume?.begun ?? new Date();
    const files = await findModel(input.model);
    const chat = await context.openChat(files, {
      template: input.chat_template_path,
      thinking: input.thinking,
      now: begun,
    });
    const [device] = engine.devices();
    const config = { ...input, threads: input.threads ?? device.threads };
    model = await openTrainable(engine, config, files, resume?.checkpoint, context.onOpen);
    const maxLength = Math.min(config.max_length, model.info().contextLength);

    const examples: PreparedRun["examples"] = {};
    const options = { config, maxLength, signal };
    if (config.method === "sft" || config.method === "dpo") listen({ type: "phase", phase: "preparing", step: 0 });
    if (config.method === "sft") examples.sft = await sftExamples(task, train, chat, options);
    if (config.method === "dpo") examples.dpo = await dpoExamples(task, train, chat, options);
    const made = examples.sft ?? examples.dpo;
    if (made !== undefined) tellSkipped(made, listen);
    const answers: readonly TokenRow[] = examples.sft?.items ?? examples.dpo?.items.map(({ chosen }) => chosen) ?? [];
    if (areAlike(answers)) {
      const message = `all ${answers.length} rows have the same answer, so nothing but that answer can be learnt`;
      listen({ type: "note", message });
    }
    const perStep = isRl(config.method) ? config.prompts_per_step : config.batch_size;
    const epochSteps = (made?.items.length ?? train.length) / perStep;
    return {
      begun,
      config: { ...config, micro_batch_tokens: await chooseMicroBatchTokens(config, model, device.memoryFree) },
      totalSteps: config.max_steps ?? Math.max(1, Math.round((config.num_train_epochs ?? 1) * epochSteps)),
      files,
      task,
      rows: { train, validation: pickRows(task, rows("validation"), config.eval_size, config.split_seed) },
      heldOutRows: rows("held-out").length,
      examples,
      maxLength,
      hasReference: config.method === "dpo" || (isRl(config.method) && config.beta > 0),
      model,
      policy: new EnginePolicy(model, chat),
      chat,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What each method needs of a task, in words. */
const needs: Record<
  "rewards" | "solutions" | "pairs",
  { methods: readonly Method[]; lacks: string; has: (task: Task) => boolean }
> = {
  rewards: {
    methods: rlMethods,
    lacks: "no reward to learn from",
    has: ({ rewardParts }) => rewardParts.length > 0,
  },
  solutions: { methods: ["sft"], lacks: "no right answers to imitate", has: hasSolutions },
  pairs: {
    methods: ["dpo"],
    lacks: "no pairs of a better and a worse answer",
    has: (task) => task.preference !== undefined,
  },
};

/** Refuses a method that the task has nothing for, before anything is opened: `method-needs`. */
function requireAbility(task: Task, method: Method): void {
  const wanted = Object.values(needs).find(({ methods }) => methods.includes(method));
  if (wanted === undefined || wanted.has(task)) return;
  const able = Object.values(needs).flatMap(({ methods, has }) => (has(task) ? methods : []));
  const others = able.length > 0 ? `train it with --method ${able.join(", ")}` : "";
  const reward = wanted === needs.rewards ? "give a reward with --reward FILE" : "";
  throw new HoneError("method-needs", `task ${task.name} has ${wanted.lacks}, which method ${method} needs`, {
    fix: [others, reward].filter((part) => part !== "").join(", or ") || "`hone data check` shows what its rows hold",
  });
}

/** What a method makes of a row. */
function useOf(method: Method): RowUse {
  return method === "sft" ? "solution" : method === "dpo" ? "preference" : "prompt";
}

function tellOthers(count: number, method: Method, listen: TrainListener): void {
  if (count === 0) return;
  const lack = { solution: "an answer to imitate", preference: "a pair of answers", prompt: "a prompt" }[useOf(method)];
  listen({ type: "note", message: `${plural(count, "row")} left out: without ${lack}, which method ${method} needs` });
}

function tellSkipped({ items, skipped }: Examples<unknown>, listen: TrainListener): void {
  for (const [reason, count] of Object.entries(skipped)) {
    if (count === 0) continue;
    const left = `${plural(items.length, "row")} ${items.length === 1 ? "is" : "are"} trained on`;
    listen({ type: "note", message: `${plural(count, "row")} skipped, ${skipReasons[reason]}; ${left}` });
  }
}

function areAlike(answers: readonly TokenRow[]): boolean {
  const [first, ...others] = answers;
  return others.length > 0 && others.every(({ ids }) => hasSameIds(first.ids, ids));
}
