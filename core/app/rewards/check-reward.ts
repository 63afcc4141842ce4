/** Checks a reward before anything is trained or stored: it is opened and scores a few made answers. */

import { copyFileSync, constants, existsSync } from "node:fs";
import { extname, join } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import {
  rewardSampleSchema,
  type RewardCheck,
  type RewardFile,
  type RewardPartType,
  type RewardSample,
} from "../../contract/reward.ts";
import { requireFilePlace } from "../../files/system-error.ts";
import { openReward } from "../../rewards/open-reward.ts";

/** What made answers answer. */
const question = "What is 2 + 2?";
const answers = ["4", "The answer is 4.", "Five, I think.", ""];

/** A value that a column may have, by the part that looks at it. */
const madeValues: Partial<Record<RewardPartType, unknown>> = {
  exact_match: "4",
  numeric: 4,
  fields: { result: 4 },
  tool_call: { name: "calculate", arguments: { sum: "2 + 2" } },
  similarity: "The answer is 4.",
  words: ["answer"],
};

/** `sample`: a sample of the user's own instead of the made ones; what it leaves out is filled in. Throws the signal's reason. */
export async function checkReward(
  path: string,
  content: unknown,
  sample?: unknown,
  signal?: AbortSignal,
): Promise<RewardCheck> {
  const reward = await openReward(path, { signal });
  try {
    const samples =
      sample === undefined
        ? answers.map((answer) => madeSample({ answer, row: madeRow(content) }))
        : [madeSample(sample)];
    const scored: RewardCheck["samples"] = [];
    for (const one of samples) scored.push({ completion: one.completion, row: one.row, ...(await reward.score(one)) });
    return { reward: path, parts: [...reward.parts], samples: scored, usage: reward.usage() ?? null };
  } catch (error) {
    if (sample !== undefined || !(error instanceof HoneError) || error.code !== "bad-reward") throw error;
    throw new HoneError(error.code, error.message, {
      cause: error,
      fix: `${error.fix === undefined ? "" : `${error.fix}; `}if it needs other columns, give a row with --sample FILE`,
    });
  } finally {
    await reward.close();
  }
}

/** A row with every column that a reward file names. */
function madeRow(content: unknown): Record<string, unknown> {
  const row: Record<string, unknown> = { question, answer: "4" };
  const parts = (content as RewardFile | undefined)?.parts ?? [];
  for (const { type, column } of parts) if (typeof column === "string") row[column] = madeValues[type] ?? "4";
  for (const { type, column, value } of parts) {
    // The usual column, when nothing else was said.
    if (column === undefined && value === undefined && madeValues[type] !== undefined && type !== "words") {
      row["answer"] = madeValues[type];
    }
  }
  return row;
}

function madeSample(given: unknown): RewardSample {
  const known = typeof given === "object" && given !== null ? (given as Partial<RewardSample>) : {};
  const completion = known.completion ?? known.answer ?? "";
  const answer = known.answer ?? completion;
  const prompt = known.prompt ?? [{ role: "user", content: question }];
  const ids = known.completion_ids ?? Array.from(String(completion).matchAll(/\S+/g), (_, i) => i);
  const sample = {
    prompt,
    completion,
    answer,
    reasoning: "",
    messages: [...prompt, { role: "assistant", content: answer }],
    tool_calls: [],
    problems: [],
    stop_reason: completion === "" ? "length" : "eos",
    completion_ids: ids,
    logprobs: ids.map(() => -1),
    loss_mask: ids.map(() => 1),
    row_id: "made-1",
    row: {},
    prompt_index: 0,
    sample_index: 0,
    ...known,
  };
  const result = rewardSampleSchema.strict().safeParse(sample);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue.path.join(".");
  throw new HoneError("bad-sample", `the sample is wrong: ${place === "" ? "" : `${place}: `}${issue.message}`, {
    fix: 'a sample needs little: {"answer": "4", "row": {"answer": "4"}}',
  });
}

const examples = join(import.meta.dirname, "..", "..", "..", "examples", "rewards");
const kinds = [".ts", ".json", ".py"];

/** Writes a reward that works at once, of the kind that the file's ending says. Throws `file-exists`, `usage`. */
export function newReward(out: string): void {
  const kind = extname(out).toLowerCase();
  if (!kinds.includes(kind)) {
    throw new HoneError("usage", `${out}: a reward file ends in ${kinds.join(", ")}`, {
      fix: kind === ".js" ? "a .ts file may be plain JavaScript" : "choose one of them",
    });
  }
  if (existsSync(out)) throw new HoneError("file-exists", `${out} exists already`, { fix: "choose another --out" });
  requireFilePlace(out, "choose another --out");
  copyFileSync(join(examples, `reward${kind}`), out, constants.COPYFILE_EXCL);
}
