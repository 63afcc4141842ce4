/** Calls of the contract from inside a page, and a small real training run on the starter model. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { CallInput, CallName, CallResult } from "../../core/contract/api/api.ts";
import type { RunConfigInput } from "../../core/contract/config.ts";
import { errorFromData, type ErrorData } from "../../core/contract/errors.ts";

/** Any call, as the page's own code would make it: over the desktop's line or the browser's socket. */
export async function callApi<Name extends CallName>(
  page: Page,
  name: Name,
  input: CallInput<Name>,
): Promise<CallResult<Name>> {
  const answer = await page.evaluate(
    async ([call, given]) => {
      type Answer = { id: number; value?: unknown; error?: ErrorData };
      // Far from the ids that the page itself gives out.
      const id = 1_000_000 + Math.floor(Math.random() * 1_000_000_000);
      const message = { kind: "call", id, name: call, input: given };
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      const hear = (heard: unknown) => {
        if ((heard as Answer).id === id) resolve(heard as Answer);
      };
      if (window.hone !== undefined) {
        window.hone.channel.listen(hear, reject);
        window.hone.channel.send(message);
        return promise;
      }
      const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/api`);
      socket.onmessage = ({ data }: MessageEvent<string>) => hear(JSON.parse(data));
      socket.onerror = () => reject(new Error("the socket failed"));
      socket.onopen = () => socket.send(JSON.stringify(message));
      try {
        return await promise;
      } finally {
        socket.close();
      }
    },
    [name as string, input as unknown] as const,
  );
  if (answer.error !== undefined) throw errorFromData(answer.error);
  return answer.value as CallResult<Name>;
}

/** A run of tic-tac-toe in `HONE_HOME/runs/<name>`; returns its name. */
export async function startTraining(
  page: Page,
  home: string,
  name: string,
  config: RunConfigInput = {},
): Promise<string> {
  await callApi(page, "train.start", {
    config: {
      ...{ model: "starter", task: "tic-tac-toe", method: "gspo", output_dir: join(home, "runs", name) },
      ...{ max_steps: 400, prompts_per_step: 4, num_generations: 4, max_completion_length: 32 },
      ...{ eval_steps: 0, eval_on_start: false, save_steps: 5, ...config },
    },
  });
  return name;
}

/** The last step that is written down; 0 before the first. */
export function lastStep(home: string, run: string): number {
  const file = join(home, "runs", run, "metrics.jsonl");
  if (!existsSync(file)) return 0;
  const rows = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return (JSON.parse(rows.at(-1) ?? "{}") as { step?: number }).step ?? 0;
}

export async function waitForStep(home: string, run: string, step: number): Promise<void> {
  const late = Date.now() + 40_000;
  while (lastStep(home, run) < step) {
    if (Date.now() > late) throw new Error(`${run} is at step ${lastStep(home, run)}, and ${step} was waited for`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
