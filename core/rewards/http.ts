/** A reward behind a local address: the body of a POST is one request line, its answer one reply line. */

import { HoneError } from "../contract/errors.ts";
import type { RewardAnswer, RewardSample } from "../contract/reward.ts";
import { post, requireAllowed } from "./endpoint.ts";
import { badSample } from "./expected.ts";
import { Limiter } from "./limiter.ts";
import type { OpenPart, PartContext, PartOptions } from "./part.ts";
import { readReply, requestLine } from "./reply.ts";

export function openHttp(options: PartOptions<"http">, { signal }: PartContext): OpenPart {
  const { name, url, timeout_seconds: seconds, concurrency, retries } = options;
  requireAllowed(options);
  const limiter = new Limiter(concurrency);
  let next = 1;

  async function score(sample: RewardSample): Promise<RewardAnswer> {
    const id = next++;
    const headers = { "content-type": "application/jsonl" };
    const result = await post(url, requestLine(id, sample), { headers, seconds, retries, signal });
    if ("failed" in result) {
      if (result.failed !== "away") throw badSample(name, sample, `${url}: ${result.why}`);
      throw new HoneError("reward-unavailable", `the reward part ${name} gets no answer from ${url}: ${result.why}`, {
        fix: "start the program that listens there",
      });
    }
    const reply = readReply(result.text, id);
    if ("wrong" in reply) throw badSample(name, sample, `${url}: ${reply.wrong}`);
    if ("error" in reply) throw badSample(name, sample, reply.error);
    return reply.answer;
  }

  return { description: `what ${url} gives`, score: (sample) => limiter.run(() => score(sample)) };
}
