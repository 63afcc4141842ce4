/** A reward as it stands in an editor: opened without being saved, and its errors told with their place in the text. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { RewardFault } from "../../contract/api/reward-calls.ts";
import { errorToData, HoneError } from "../../contract/errors.ts";
import { openReward } from "../../rewards/open-reward.ts";
import type { Reward } from "../../rewards/reward.ts";

export interface RewardDraft {
  /** Where it is, or would be, saved: says its kind, and what its paths are relative to. */
  path: string;
  text: string;
}

/** Opens the text, uses it, and closes it. Errors name `path`. */
export async function withDraft<T>(
  { path, text }: RewardDraft,
  signal: AbortSignal | undefined,
  use: (reward: Reward) => Promise<T>,
): Promise<T> {
  const whole = resolve(path);
  const folder = mkdtempSync(join(tmpdir(), "hone-reward-"));
  const draft = join(folder, basename(whole));
  try {
    writeFileSync(draft, text);
    const reward = await openReward(draft, { folder: dirname(whole), signal });
    try {
      return await use({
        get parts() {
          return reward.parts;
        },
        score: (sample) =>
          reward.score(sample).catch((error: unknown) => {
            throw inPlace(error, draft, whole);
          }),
        usage: () => reward.usage(),
        close: () => reward.close(),
      });
    } finally {
      await reward.close();
    }
  } catch (error) {
    throw inPlace(error, draft, whole);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The error with the path of the file that a person knows. */
function inPlace(error: unknown, draft: string, path: string): unknown {
  if (!(error instanceof HoneError) || !error.message.includes(draft)) return error;
  return new HoneError(error.code, error.message.replaceAll(draft, path), {
    cause: error.cause,
    ...(error.fix !== undefined && { fix: error.fix.replaceAll(draft, path) }),
  });
}

/** Where in the text an error is: `FILE:LINE:COLUMN`, `last seen at line N`, or what a JSON parser says. */
export function faultOf(error: HoneError, { path, text }: RewardDraft): RewardFault {
  const { cause: _, ...data } = errorToData(error);
  const { message } = error;
  const place = (line: number | null, column: number | null): RewardFault => ({ error: data, line, column });
  const name = basename(path).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const named = new RegExp(`${name}:(\\d+)(?::(\\d+))?`).exec(message);
  if (named !== null) return place(Number(named[1]), named[2] === undefined ? null : Number(named[2]));
  const seen = /last seen at line (\d+)/.exec(message)?.[1];
  if (seen !== undefined) return place(Number(seen), null);
  const jsonLine = /line (\d+) column (\d+)/.exec(message);
  if (jsonLine !== null) return place(Number(jsonLine[1]), Number(jsonLine[2]));
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position !== undefined) {
    const before = text.slice(0, Number(position)).split("\n");
    return place(before.length, (before.at(-1)?.length ?? 0) + 1);
  }
  if (message.includes("Unexpected end of JSON")) return place(text.trimEnd().split("\n").length, null);
  const part = /, part (\d+)/.exec(message)?.[1];
  return place(part === undefined ? null : lineOfPart(text, Number(part)), null);
}

/** The line on which a part of a JSON reward begins, counted by its braces. */
function lineOfPart(text: string, number: number): number | null {
  const begin = text.indexOf("[", text.indexOf('"parts"'));
  let depth = 0;
  let count = 0;
  let quoted = false;
  for (let i = begin + 1; begin >= 0 && i < text.length; i++) {
    const sign = text[i];
    if (quoted) {
      if (sign === "\\") i++;
      else if (sign === '"') quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === "{" || sign === "[") {
      if (depth === 0 && ++count === number) return text.slice(0, i).split("\n").length;
      depth += 1;
    } else if (sign === "}" || sign === "]") depth -= 1;
  }
  return null;
}
