/** Reads test/fixtures/text. */

import { readFileSync } from "node:fs";

export function textFixture<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../fixtures/text/${name}`, import.meta.url), "utf8")) as T;
}

export interface SmolLm2Golden {
  template: string;
  cases: { text: string; ids: number[]; ids_specials_as_text?: number[] }[];
  chat: {
    messages: { role: string; content: string }[];
    with_generation_prompt: { text: string; ids: number[] };
    without_generation_prompt: { text: string; ids: number[] };
  }[];
  greedy_ids: number[];
  greedy_text: string;
}
