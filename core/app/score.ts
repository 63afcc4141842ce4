/** Log-probs of given tokens. */

import type { ScoreOutput } from "../contract/cli-json.ts";
import { HoneError } from "../contract/errors.ts";
import type { Model } from "../engine/types.ts";

/** Index t of the results is about token t + 1 given all before it. Throws `bad-token` and `too-long` with numbers. */
export async function scoreTokens(model: Model, tokens: readonly number[]): Promise<ScoreOutput> {
  const { vocabSize, contextLength } = model.info();
  const unknown = tokens.find((id) => id >= vocabSize);
  if (unknown !== undefined) {
    throw new HoneError("bad-token", `the model has no token ${unknown}: its vocabulary ends at ${vocabSize - 1}`);
  }
  if (tokens.length > contextLength) {
    throw new HoneError("too-long", `${tokens.length} tokens are more than the model's context of ${contextLength}`);
  }
  const { logprobs, entropy } = await model.forward({
    tokens: Int32Array.from(tokens),
    segments: [{ length: tokens.length }],
  });
  return { tokens: [...tokens], logprobs: [...logprobs.subarray(1)], entropy: [...entropy.subarray(1)] };
}
