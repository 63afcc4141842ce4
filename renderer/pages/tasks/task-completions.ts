/** What the editor of a task's files offers: the keys of `task.json`, and what an environment and a generator export. */

import type { TFunction } from "i18next";
import { rewardPartSchemas } from "../../../core/contract/reward.ts";
import { taskFileName, taskFileSchema } from "../../../core/contract/task.ts";
import type { CodeCompletion } from "../../components/code-editor.tsx";

/** Each has a text `tasks.key.<name>`. */
export const taskKeys = Object.keys(taskFileSchema.shape);

/** What a script of a task may export; each has a text `tasks.export.<name>`. */
export const scriptExports = {
  rows: "rows(count, seed)",
  start: "start(row, seed)",
  step: "step(state, action)",
  end: "end(state, reason)",
  solve: "solve(row)",
} as const;

export function taskCompletions(file: string, t: TFunction): CodeCompletion[] {
  if (file === taskFileName) {
    return taskKeys.map((label) => ({ label, kind: "property", info: t(`tasks.key.${label}`) }));
  }
  if (file.endsWith(".json")) {
    return Object.keys(rewardPartSchemas).map((label) => ({
      label,
      kind: "constant",
      info: t(`rewards.type.${label}.what`),
    }));
  }
  return Object.entries(scriptExports).map(([label, detail]) => ({
    label,
    kind: "function",
    detail,
    info: t(`tasks.export.${label}`),
  }));
}
