/** `hone score`: log-probs of every token of a text. */

import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { scoreTokens } from "../app/score.ts";
import { Session } from "../app/session.ts";
import { textTable } from "../contract/text-table.ts";
import { mean } from "../contract/numbers.ts";
import { findModel } from "../train/model-ref.ts";
import { addModelFlags, modelChoices, runs } from "./command.ts";
import { print, printJson, usageError } from "./terminal.ts";

export function addScoreCommand(program: Command): void {
  const command = program
    .command("score")
    .summary("log-probs of a text or of token ids")
    .description("Natural-log probability and entropy of every token given all before it, and the perplexity.");
  addModelFlags(command)
    .optionsGroup("What to score:")
    .option("--ids <list>", 'token ids, "1,2,3"; needs no tokenizer')
    .option("--text <text>", "text, encoded as the model's tokenizer does; - reads stdin");
  runs(command, async (cli, flags) => {
    const { ids, text } = flags as { ids?: string; text?: string };
    if ((ids === undefined) === (text === undefined)) {
      throw usageError("what is to be scored?", "give either --ids or --text");
    }
    const session = await Session.open();
    const reference = flags["model"] as string;
    const files = await findModel(reference);
    const tokenizer = text === undefined ? undefined : await session.openTokenizer(files);
    const tokens =
      tokenizer === undefined || text === undefined
        ? parseIds(ids ?? "")
        : tokenizer.encode(text === "-" ? readFileSync(0, "utf8") : text, { allowSpecial: true, addSpecial: true });
    if (tokens.length < 2) {
      throw usageError(`there is nothing to predict in ${tokens.length} token(s)`, "give at least two tokens");
    }
    const { model } = await session.openModel(reference, modelChoices(flags));
    try {
      const scored = await scoreTokens(model, tokens);
      if (cli.json) return printJson(scored);
      const name = (id: number) => (tokenizer === undefined ? String(id) : JSON.stringify(tokenizer.piece(id)));
      const rows = tokens
        .slice(1)
        .map((id, i) => [name(id), scored.logprobs[i].toFixed(4), scored.entropy[i].toFixed(4)]);
      const average = mean(scored.logprobs);
      print(textTable([["token", "logprob", "entropy"], ...rows]));
      print(
        `\n${tokens.length} tokens, mean logprob ${average.toFixed(4)}, perplexity ${Math.exp(-average).toFixed(3)}`,
      );
    } finally {
      await model.close();
    }
  });
}

function parseIds(list: string): number[] {
  return list
    .split(/[\s,]+/)
    .filter((part) => part !== "")
    .map((part) => {
      const id = Number(part);
      if (Number.isInteger(id) && id >= 0) return id;
      throw usageError(`${JSON.stringify(part)} is no token id`, 'ids are whole numbers: --ids "1,2,3"');
    });
}
