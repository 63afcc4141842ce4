import type { DataMethod } from "../../contract/api/data-calls.ts";
import type { DataShape } from "../../contract/data.ts";

/** What can train on rows of a shape, the usual one first. */
export function methodsOf(shape: DataShape | undefined): DataMethod[] {
  switch (shape) {
    case "messages":
    case "completion":
      return ["sft", "grpo"];
    case "text":
    case "tokens":
      return ["sft"];
    case "prompt":
      return ["grpo"];
    case "preference":
      return ["dpo"];
    case "label":
    case undefined:
      return [];
  }
}
