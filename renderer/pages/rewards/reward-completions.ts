/** What the editor of a reward offers: the fields of a sample with their types; in JSON the types and options of parts. */

import type { TFunction } from "i18next";
import type { RewardKind } from "../../../core/contract/api/reward-calls.ts";
import { rewardPartSchemas } from "../../../core/contract/reward.ts";
import type { CodeCompletion } from "../../components/code-editor.tsx";

/** Field of a sample → its type. Each has a text `rewards.field.<name>`. */
export const sampleFields = {
  prompt: "{ role, content }[]",
  completion: "string",
  answer: "string",
  reasoning: "string",
  messages: "{ role, content }[]",
  tool_calls: "{ name, arguments, result? }[]",
  problems: "{ code, message }[]",
  stop_reason: "string",
  completion_ids: "number[]",
  logprobs: "number[]",
  loss_mask: "number[]",
  row_id: "string",
  row: "Record<string, unknown>",
  prompt_index: "number",
  sample_index: "number",
} as const;

/** Fields of what stands in a sample's lists, behind the names that people give to one of them. */
const inner: Readonly<Record<string, readonly [owner: string, fields: Readonly<Record<string, string>>]>> = {
  tool_calls: ["call", { name: "string", arguments: "Record<string, unknown>", result: "string | undefined" }],
  problems: ["problem", { code: "string", message: "string" }],
  messages: ["message", { role: "string", content: "string" }],
};

export function rewardCompletions(kind: RewardKind, columns: readonly string[], t: TFunction): CodeCompletion[] {
  if (kind === "parts") return partWords(t);
  if (kind === "program") return [];
  const fields = Object.entries(sampleFields).map(([label, detail]) => ({
    label,
    detail,
    info: t(`rewards.field.${label}`),
  }));
  return [
    ...fields.map((field): CodeCompletion => ({ ...field, kind: "property", owner: "sample" })),
    ...fields.map((field): CodeCompletion => ({ ...field, kind: "variable" })),
    ...Object.entries(inner).flatMap(([list, [one, members]]) =>
      Object.entries(members).flatMap(([label, detail]) =>
        [list, one].map((owner): CodeCompletion => ({ label, detail, kind: "property", owner })),
      ),
    ),
    ...columns.map((label): CodeCompletion => ({
      label,
      kind: "property",
      owner: "row",
      info: t("rewards.field.column"),
    })),
    { label: "sample", kind: "variable", detail: "Sample", info: t("rewards.field.sample") },
    { label: "parts", kind: "constant", info: t("rewards.field.parts") },
  ];
}

function partWords(t: TFunction): CodeCompletion[] {
  const types = Object.keys(rewardPartSchemas).map((label): CodeCompletion => ({
    label,
    kind: "constant",
    info: t(`rewards.type.${label}.what`),
  }));
  const options = new Set(Object.values(rewardPartSchemas).flatMap((schema) => Object.keys(schema.shape)));
  return [
    ...types,
    ...[...options].map((label): CodeCompletion => ({
      label,
      kind: "property",
      info: t(`rewards.option.${label}.hint`),
    })),
  ];
}
