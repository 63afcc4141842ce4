/** What the parts of a reward share: the text they judge, what is right, and how a sample is named in an error. */

import { HoneError } from "../contract/errors.ts";
import type { RewardSample } from "../contract/reward.ts";
import { brief } from "../contract/units.ts";

/** `the answer "The colour is…" to row test-17`. */
function sampleName({ row_id, completion }: RewardSample): string {
  return `the answer ${JSON.stringify(brief(completion))} to row ${row_id}`;
}

export function badSample(part: string, sample: RewardSample, why: string, fix?: string, cause?: unknown): HoneError {
  return new HoneError("bad-reward", `the reward part ${part} cannot score ${sampleName(sample)}: ${why}`, {
    ...(fix !== undefined && { fix }),
    ...(cause !== undefined && { cause }),
  });
}

interface Expected {
  name: string;
  column?: string | undefined;
  value?: unknown;
}

/** What is right for this sample: the part's own `value`, or the row's column. Throws `bad-reward`. */
export function expectedOf({ name, column = "answer", value }: Expected, sample: RewardSample): unknown {
  return value === undefined ? columnOf(name, column, sample) : value;
}

export function columnOf(part: string, column: string, sample: RewardSample): unknown {
  if (Object.hasOwn(sample.row, column)) return sample.row[column];
  const columns = Object.keys(sample.row);
  throw badSample(
    part,
    sample,
    `its row has no column ${JSON.stringify(column)}`,
    columns.length === 0 ? "the rows have no columns" : `the row has the columns ${columns.join(", ")}`,
  );
}

/** A column's value as text: numbers and booleans as JSON has them. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A column may hold one right answer or a list of them. */
export function alternatives(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [value];
}
