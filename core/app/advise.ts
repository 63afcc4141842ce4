/** Gathers what is needed to say whether a task should be trained: a check of it, its answers, a baseline. */

import type { Advice } from "../contract/advice.ts";
import { deriveSeed } from "../contract/random.ts";
import { shellWord } from "../contract/units.ts";
import { conditionsOf, methodOf, verdictOf, type AdviceEvidence } from "../evaluate/advice.ts";
import { baselineOf, type Baseline } from "../evaluate/baseline.ts";
import { isRewarded, pickRows } from "../evaluate/evaluate-task.ts";
import { unseenFacts } from "../evaluate/unseen-facts.ts";
import { checkTask } from "../tasks/check/check-task.ts";
import { dataOptions, openTask, type DataChoices } from "../tasks/open-task.ts";
import type { Task } from "../tasks/task.ts";
import { evaluatePolicy, type EvaluateHooks } from "./evaluation/evaluate-model.ts";
import type { OpenChoices, Session } from "./session.ts";

export interface AdviseRequest extends DataChoices {
  task: string;
  /** A baseline is measured with it. */
  model?: string;
  /** Rows of the baseline. Default 32. */
  rows?: number;
  /** Answers per row. Default 4. */
  samples?: number;
  seed?: number;
  /** New tokens per turn. Default: as in training. */
  maxTokens?: number;
}

/** Rows whose right answers are looked at. */
const factRows = 500;

export async function advise(
  session: () => Promise<Session>,
  request: AdviseRequest,
  choices: OpenChoices,
  hooks: EvaluateHooks,
): Promise<Advice> {
  const task = await openTask(request.task, dataOptions(request));
  try {
    const train = task.rows("train");
    const facts = unseenFacts(task, pickRows(task, train, factRows, deriveSeed("advise")));
    const check = await checkTask(task, hooks.signal === undefined ? {} : { signal: hooks.signal });
    const baseline =
      request.model === undefined || !isRewarded(task)
        ? undefined
        : await measureBaseline(
            await session(),
            task,
            { ...request, model: request.model },
            choices,
            hooks,
            check.rewards.solution,
          );
    const evidence: AdviceEvidence = {
      check,
      judgedByModel: task.rewardParts.filter(isJudge).length,
      trainProblems: new Set(train.map((row) => task.problem(row))).size,
      ...(facts !== undefined && { facts }),
      ...(baseline !== undefined && { baseline }),
    };
    const conditions = conditionsOf(evidence);
    const method = methodOf(evidence);
    return {
      task: task.name,
      model: request.model ?? null,
      ...verdictOf(conditions),
      conditions,
      method,
      command: method === null ? null : commandOf(request, method.name),
    };
  } finally {
    await task.close?.();
  }
}

/** On rows that choices may be made on, never on held-out ones. */
async function measureBaseline(
  session: Session,
  task: Task,
  { model, task: reference, rows = 32, samples = 4, seed = 42, maxTokens }: AdviseRequest & { model: string },
  choices: OpenChoices,
  hooks: EvaluateHooks,
  best: number | null,
): Promise<Baseline | undefined> {
  const split = task.rows("validation").length > 0 ? ("validation" as const) : ("train" as const);
  const opened = await session.openPolicy(model, choices);
  try {
    const limits = maxTokens === undefined ? {} : { maxTokens };
    const request = { model, task: reference, split, limit: rows, samples, seed, games: 0, ...limits };
    const { items } = await evaluatePolicy(task, opened, request, {}, hooks);
    return baselineOf(items, best);
  } finally {
    await opened.close();
  }
}

/** A part says itself how it comes about (`core/rewards/judge.ts`). */
function isJudge({ description }: Task["rewardParts"][number]): boolean {
  return /\bthe judge\b/.test(description);
}

function commandOf({ task, reward, map, group, model = "MODEL" }: AdviseRequest, method: string): string {
  const given = (flag: string, value: string | undefined) => (value === undefined ? [] : [flag, value]);
  const words = [
    ...["--task", task],
    ...given("--reward", reward ?? undefined),
    ...given("--map", map?.join()),
    ...given("--group", group?.join()),
    ...["--model", model],
  ];
  return `hone demo ${words.map(shellWord).join(" ")} --method ${method} --max-steps 100`;
}
