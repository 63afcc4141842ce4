/** The JSON lines that reward programs and endpoints are asked with and answer with. */

import { z } from "zod";
import { rewardReplySchema, type RewardAnswer, type RewardRequest, type RewardSample } from "../contract/reward.ts";

export function requestLine(id: number, sample: RewardSample): string {
  return `${JSON.stringify({ id, sample } satisfies RewardRequest)}\n`;
}

/** What a reply line says: an answer, an `error` of the program's own, or what is `wrong` with the line. */
export function readReply(line: string, id: number): { answer: RewardAnswer } | { error: string } | { wrong: string } {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return { wrong: `it wrote a line that is no JSON: ${JSON.stringify(line.slice(0, 200))}` };
  }
  const parsed = rewardReplySchema.safeParse(json);
  if (!parsed.success) return { wrong: `its reply is wrong: ${z.prettifyError(parsed.error).replaceAll(/\s+/g, " ")}` };
  const { reward, parts, info, error } = parsed.data;
  if (parsed.data.id !== id) return { wrong: `its reply is to ${parsed.data.id}, the sample is ${id}` };
  if (error !== undefined) return { error };
  const values = parts ?? (reward === undefined ? {} : { "": reward });
  return {
    answer: {
      parts: values,
      ...(reward !== undefined && parts !== undefined && { total: reward }),
      ...(info !== undefined && { info }),
    },
  };
}
