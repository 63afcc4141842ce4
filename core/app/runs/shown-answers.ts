/** A few answers of one step of a run, with their tokens: what is looked at while a run trains. */

import type { CallResult, CheckedInput } from "../../contract/api/api.ts";
import { requireRun } from "../../store/library.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import { findModel } from "../../train/model-ref.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";
import { pieces } from "../../text/pieces.ts";
import type { Session } from "../session.ts";
import { readRollouts } from "./run-rollouts.ts";

/** The tokenizer of the run that is looked at; another run takes its place. */
let kept: { run: string; tokenizer: Promise<Tokenizer> } | undefined;

/** Throws `no-rollouts` when that step's answers were not kept. */
export async function shownAnswers(
  session: () => Promise<Session>,
  { run, step, prompt, limit }: CheckedInput<"train.answers">,
): Promise<CallResult<"train.answers">> {
  const folder = RunFolder.open(requireRun(run));
  const lines = readRollouts(folder, step);
  const wanted = lines.filter((line) => (prompt === null ? line.sample_index === 0 : line.prompt_index === prompt));
  const tokenizer = await tokenizerOf(session, folder);
  return {
    prompts: new Set(lines.map((line) => line.prompt_index)).size,
    answers: wanted.slice(0, limit).map(({ prompt_ids: _, completion_ids: ids, logprobs, ...line }) => ({
      ...line,
      tokens: pieces(tokenizer, Int32Array.from(ids)).map(({ text }, i) => ({ text, logprob: logprobs[i] ?? 0 })),
    })),
  };
}

function tokenizerOf(session: () => Promise<Session>, folder: RunFolder): Promise<Tokenizer> {
  if (kept?.run === folder.path) return kept.tokenizer;
  const open = async () => (await session()).openTokenizer(await findModel(folder.readConfig().config.model));
  const tokenizer = open();
  kept = { run: folder.path, tokenizer };
  tokenizer.catch(() => (kept = undefined));
  return tokenizer;
}
