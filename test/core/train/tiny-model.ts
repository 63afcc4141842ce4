/**
 * A model folder small enough for tests with the real engine: a two-layer Llama that has been shown how a call looks,
 * with squares drawn at random. Made once per machine and recipe, in a few seconds, and shared by all test files.
 */

import { messageText } from "../../../core/contract/chat.ts";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Random } from "../../../core/contract/random.ts";
import { createEngine, createModel } from "../../../core/engine/engine.ts";
import { TextChat } from "../../../core/evaluate/text-chat.ts";
import { openChat } from "../../../core/text/chat.ts";
import { Tokenizer } from "../../../core/text/tokenizer.ts";
import { trainBpe } from "../../../core/text/train-bpe.ts";
import { packMicroBatches } from "../../../core/engine/micro-batches.ts";
import { ticTacToe } from "../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";

const template = [
  "{% if tools %}{{ tools[0].function.name }} <tool_call>{json}</tool_call>{% endif %}",
  "{% for message in messages %}{% if message.role != 'system' %}<|im_start|>{{ message.role }}\n",
  "{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>",
  "{{ {'name': call.function.name, 'arguments': call.function.arguments} | tojson }}</tool_call>{% endfor %}",
  "<|im_end|>\n{% endif %}{% endfor %}",
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
].join("");

const config = {
  model_type: "llama",
  hidden_size: 48,
  intermediate_size: 96,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 256,
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  tie_word_embeddings: true,
};

const lessons = 60;
const lessonSize = 32;

function answer(square: number): string {
  return `<tool_call>{"name": "choose_square", "arguments": {"square": ${square}}}</tool_call>`;
}

/** Path of the folder. Do not write into it. */
export async function tinyModel(): Promise<string> {
  const recipe = createHash("sha256")
    .update(readFileSync(import.meta.filename))
    .digest("hex")
    .slice(0, 16);
  const path = join(tmpdir(), `hone-tiny-model-${recipe}`);
  if (existsSync(path)) return path;
  const making = mkdtempSync(`${path}-`);
  await makeModel(making);
  try {
    renameSync(making, path);
  } catch (error) {
    // Another test file was quicker.
    if (!existsSync(path)) throw error;
    rmSync(making, { recursive: true });
  }
  return path;
}

async function makeModel(folder: string): Promise<void> {
  const rows = ticTacToe.rows("train");
  const json = trainBpe(
    rows.slice(0, 200).flatMap((row) => [...ticTacToe.prompt(row).map(messageText), answer(5)]),
    {
      vocabSize: 340,
      specialTokens: [
        "<|im_start|>",
        "<|im_end|>",
        { content: "<tool_call>", special: false },
        { content: "</tool_call>", special: false },
      ],
    },
  );
  const tokenizer = new Tokenizer(json, { eosToken: "<|im_end|>", chatTemplates: { default: template } });
  const chat = new TextChat(openChat(tokenizer));
  mkdirSync(folder, { recursive: true });
  createModel(folder, { ...config, vocab_size: tokenizer.vocabSize }, 7);
  for (const [name, text] of Object.entries(chat.files())) writeFileSync(join(folder, name), text);

  const engine = await createEngine();
  const model = await engine.open(folder, { trainable: "full", threads: 2 });
  const random = new Random("tiny model");
  const end = tokenizer.eosId;
  if (end === null) throw new Error("the tiny tokenizer has no end");
  for (let lesson = 0; lesson < lessons; lesson++) {
    const bundles = Array.from({ length: lessonSize }, () => {
      const row = random.pick(rows);
      const text = answer(1 + random.integer(9));
      const ids = Int32Array.from([...tokenizer.encode(text, { allowSpecial: true }), end]);
      const promptIds = chat.renderPrompt(ticTacToe.prompt(row), ticTacToe.tools);
      return [{ promptIds, ids, mask: new Uint8Array(ids.length).fill(1) }];
    });
    const total = bundles.reduce((sum, [{ ids }]) => sum + ids.length, 0);
    for (const { batch } of packMicroBatches(bundles, 1e6)) {
      await model.forward(batch, { grad: true });
      await model.backward(Float32Array.from(batch.mask ?? [], (trained) => -trained / total));
    }
    await model.optimStep({ lr: 0.01, maxGradNorm: 1 });
  }
  await model.saveWeights(folder);
  await model.close();
}
