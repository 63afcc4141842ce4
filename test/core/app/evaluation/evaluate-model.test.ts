import { join } from "node:path";
import { expect, test } from "vitest";
import { evaluateModel } from "../../../../core/app/evaluation/evaluate-model.ts";
import { Session } from "../../../../core/app/session.ts";
import { folderWith } from "../../tasks/user/user-files.ts";
import { tinyModel } from "../../train/tiny-model.ts";

test("rows of plain text cannot be answered, and the error says what they are for", async () => {
  const texts = Array.from({ length: 30 }, (_, i) => ({ text: `Text number ${i}.` }));
  const task = join(folderWith({ "texts.jsonl": texts }), "texts.jsonl");
  const evaluation = evaluateModel(await Session.open(), { model: await tinyModel(), task }, {});
  await expect(evaluation).rejects.toMatchObject({
    code: "no-prompts",
    message: expect.stringContaining("task texts"),
    fix: expect.stringContaining("SFT"),
  });
});
