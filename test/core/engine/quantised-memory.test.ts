/** A quantised model is read as it is stored, and never stands in memory at its full size first (D9). */

import { execFileSync } from "node:child_process";
import { expect } from "vitest";
import { itWithShared } from "../../shared.ts";

const engine = new URL("../../../core/engine/engine.ts", import.meta.url).href;

/** In a process of its own, which no other test's memory adds to. */
const child = `
import { readFileSync } from "node:fs";
import { createEngine } from ${JSON.stringify(engine)};
const peak = () => 1024 * Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
const engine = await createEngine();
const before = peak();
const model = await engine.open(process.argv[1]);
const opened = peak() - before;
await model.sample([{ prompt: Int32Array.of(1, 2, 3), maxTokens: 3, seed: 1 }]);
console.log(JSON.stringify({ opened, sampled: peak() - before, ...model.info() }));
`;

itWithShared(
  "opening and sampling take the size of the file, not that of 16-bit weights",
  ["models", "SmolLM2-135M-Instruct.Q4_1.gguf"],
  (path) => {
    // Only Linux tells a process its highest memory in this way.
    if (process.platform !== "linux") return;
    const args = ["--input-type=module", "-e", child, path];
    const { opened, sampled, parameters, weightBytes } = JSON.parse(
      execFileSync(process.execPath, args, { encoding: "utf8" }),
    ) as Record<"opened" | "sampled" | "parameters" | "weightBytes", number>;
    expect(weightBytes).toBeLessThan(parameters);
    expect(opened).toBeLessThan(1.3 * weightBytes);
    expect(sampled).toBeLessThan(2 * parameters);
  },
  60_000,
);
