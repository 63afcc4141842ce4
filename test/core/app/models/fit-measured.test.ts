/** The fit's estimates next to the memory that a process really takes. */

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { FitReport } from "../../../../core/contract/hub.ts";
import { itWithShared } from "../../../shared.ts";

const child = fileURLToPath(new URL("fit-child.ts", import.meta.url));
const gguf = ["models", "SmolLM2-135M-Instruct.Q4_1.gguf"];

interface Measured {
  estimate: number;
  grown: number;
  before: number;
  weightBytes: number;
  parameters: number;
  report: FitReport;
}

function measure(reference: string, use: "chat" | "lora" | "full", tokens: number): Measured {
  const args = ["--disable-warning=ExperimentalWarning", child, reference, use, String(tokens)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as Measured;
}

// Only Linux tells a process its highest memory in this way.
describe.runIf(process.platform === "linux")("within 15 % of what is measured", () => {
  test.each([
    ["chat", 1000],
    ["lora", 1024],
    ["full", 1024],
  ] as const)("the starter, %s", (use, tokens) => {
    const { estimate, grown, before, report, weightBytes, parameters } = measure("starter", use, tokens);
    // Its own memory is a few megabytes, as much as threads and their stacks take: the whole process is what a user sees.
    expect((estimate + before) / (grown + before)).toBeGreaterThan(0.85);
    expect((estimate + before) / (grown + before)).toBeLessThan(1.15);
    expect(report).toMatchObject({ weight_bytes: weightBytes, parameters });
  });

  for (const [use, tokens] of [
    ["chat", 1000],
    ["lora", 256],
    ["full", 64],
  ] as const) {
    itWithShared(
      `SmolLM2-135M as Q4_1, ${use} with ${tokens} tokens`,
      gguf,
      (path) => {
        const { estimate, grown, report, weightBytes, parameters } = measure(path, use, tokens);
        expect(estimate / grown).toBeGreaterThan(0.85);
        expect(estimate / grown).toBeLessThan(1.15);
        expect(report).toMatchObject({ weight_bytes: weightBytes, parameters, dtype: "Q4_1", architecture: "llama" });
      },
      60_000,
    );
  }
});
