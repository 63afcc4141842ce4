/** How a download looks while it goes on. */

import { expect, test } from "vitest";
import { progressLines } from "../../../core/cli/get-progress.ts";
import type { DownloadProgress } from "../../../core/hub/download/download-options.ts";

const file = (path: string, done: number, state: DownloadProgress["files"][number]["state"]) => ({
  path,
  size: 1000,
  done,
  state,
});

const progress: DownloadProgress = {
  source: "huggingface",
  bytes: 4000,
  bytes_done: 2500,
  fetched_bytes: 2500,
  bytes_per_second: 500,
  seconds_left: 3,
  files: [
    file("config.json", 1000, "done"),
    file("model-00001-of-00002.safetensors", 500, "downloading"),
    file("model-00002-of-00002.safetensors", 1000, "checking"),
    file("tokenizer.json", 0, "waiting"),
  ],
  retries: 0,
  note: null,
};

test("files that move, the whole, and what waits", () => {
  expect(progressLines(progress, () => 250)).toEqual([
    `model-00001-of-00002.safetensors  ${"━".repeat(6)}${"─".repeat(6)}  500 B of 1 kB  250 B/s  2 s`,
    `model-00002-of-00002.safetensors  ${"━".repeat(12)}  checking`,
    `${"━".repeat(18)}${"─".repeat(10)}  62 %  2.5 kB of 4 kB, 500 B/s, 3 s left`,
    "1 file done · 1 waiting · from Hugging Face",
  ]);
});

test("many files and long names stay few lines; a wait is told", () => {
  const files = Array.from({ length: 9 }, (_, i) => file(`${"deep/".repeat(12)}part-${i}.bin`, 10, "downloading"));
  const lines = progressLines(
    {
      ...progress,
      files,
      note: "the hub asks to wait; next attempt in 3 s",
      seconds_left: null,
    },
    () => 0,
  );
  expect(lines).toHaveLength(9);
  expect(lines[0]).toMatch(/^….{31} {2}─/);
  expect(lines[7]).toBe("0 files done · 3 more under way · from Hugging Face");
  expect(lines[8]).toBe("the hub asks to wait; next attempt in 3 s");
  expect(lines[6]).not.toContain("left");
});
