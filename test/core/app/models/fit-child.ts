/** Uses a model in a process of its own and prints what the fit said and what was taken, in bytes. See fit-model.test.ts. */

import { readFileSync } from "node:fs";
import { fitLocal, thisMachine } from "../../../../core/app/models/fit-model.ts";
import { createEngine } from "../../../../core/engine/engine.ts";
import { findModel } from "../../../../core/train/model-ref.ts";

const [reference, use, count] = [process.argv[2], process.argv[3] as "chat" | "lora" | "full", Number(process.argv[4])];

/** The most resident memory that this process has had. */
function peak(): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
}

const engine = await createEngine();
const files = await findModel(reference);
const report = await fitLocal(files, thisMachine(engine));
const before = peak();
const model = await engine.open(files.weights, { trainable: use === "full" ? "full" : "none" });
const tokens = Int32Array.from({ length: count }, (_, i) => 3 + ((i * 7919) % 600));
let plan;
if (use === "chat") {
  plan = { sequences: 1, length: count, prefill: count };
  await model.sample([{ prompt: tokens.subarray(0, count - 8), maxTokens: 8, seed: 1 }]);
} else {
  plan = { tokens: count, targets: count };
  if (use === "lora") await model.attachLora({ r: 16, lora_alpha: 32, seed: 1 });
  for (let step = 0; step < 2; step++) {
    await model.forward({ tokens, segments: [{ length: count }] }, { grad: true });
    await model.backward(new Float32Array(count).fill(-1 / count));
    await model.optimStep({ lr: 1e-5 });
  }
}
const estimate = await model.estimateMemory(plan);
const { weightBytes, parameters } = model.info();
const grown = peak() - before;
// eslint-disable-next-line no-console -- a child process answers on its stdout
console.log(JSON.stringify({ estimate: estimate.total, grown, before, weightBytes, parameters, report }));
