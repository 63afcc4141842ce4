/** Trains a few steps in a process of its own and prints what was predicted and what was taken, in bytes. See memory.test.ts. */

import { readFileSync } from "node:fs";
import { createEngine, createModel } from "../../../core/engine/engine.ts";

const [folder, rows, length] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];

/** The most resident memory that this process has had. */
function peak(): number {
  const line = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"));
  return Number(line?.[1]) * 1024;
}

const config = {
  architectures: ["LlamaForCausalLM"],
  model_type: "llama",
  vocab_size: 512,
  hidden_size: 192,
  intermediate_size: 512,
  num_hidden_layers: 4,
  num_attention_heads: 6,
  num_key_value_heads: 2,
  head_dim: 32,
  hidden_act: "silu",
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  tie_word_embeddings: true,
  max_position_embeddings: 1024,
  torch_dtype: "float32",
};
const engine = await createEngine();
createModel(folder, config, 1);
const before = peak();
const model = await engine.open(folder, { trainable: "full" });
const { total } = await model.estimateMemory({ tokens: rows * length, targets: rows * (length - 1) });
for (let i = 0; i < 2; i++) {
  const tokens = Int32Array.from({ length: rows * length }, (_, t) => (t * 7919 + i) % 512);
  await model.forward({ tokens, segments: Array.from({ length: rows }, () => ({ length })) }, { grad: true });
  await model.backward(new Float32Array(tokens.length).fill(-1 / tokens.length));
  await model.optimStep({ lr: 1e-5 });
}
// eslint-disable-next-line no-console -- a child process answers on its stdout
console.log(JSON.stringify({ predicted: total, measured: peak() - before }));
