/**
 * llama.cpp doing the work of the `smollm2_q4_1` figures of `npm run bench`, through node-llama-cpp.
 *
 *     mkdir peer && cd peer && npm init -y && npm install --ignore-scripts node-llama-cpp && cp ../test/peers/llamacpp-peer.mjs .
 *     node llamacpp-peer.mjs SmolLM2-135M-Instruct.Q4_1.gguf [threads]
 *
 * Prints one JSON document: medians of three runs after one warm-up.
 */

import { getLlama, LlamaLogLevel } from "node-llama-cpp";

const [gguf, threads = "2"] = process.argv.slice(2);
const llama = await getLlama({
  gpu: false,
  build: "never",
  maxThreads: Number(threads),
  logLevel: LlamaLogLevel.error,
});
const model = await llama.loadModel({ modelPath: gguf, gpuLayers: 0 });
const context = await model.createContext({
  contextSize: 1024,
  batchSize: 512,
  sequences: 1,
  threads: Number(threads),
});
const sequence = context.getSequence();
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

async function decode() {
  await sequence.clearHistory();
  const start = performance.now();
  let n = 0;
  for await (const token of sequence.evaluate([1], { temperature: 0, yieldEogToken: true })) {
    void token;
    if (++n === 64) break;
  }
  return (n / (performance.now() - start)) * 1000;
}

async function prefill() {
  await sequence.clearHistory();
  const tokens = Array.from({ length: 512 }, (_, i) => (i * 7919) % 49152);
  const start = performance.now();
  await sequence.evaluateWithoutGeneratingNewTokens(tokens);
  return (512 / (performance.now() - start)) * 1000;
}

async function rate(work) {
  await work();
  return Number(median([await work(), await work(), await work()]).toFixed(1));
}

console.log(JSON.stringify({ decode_tok_s: await rate(decode), prefill_512_tok_s: await rate(prefill) }));
process.exit(0);
