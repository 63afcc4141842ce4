/** Addresses that a reward talks to: on this machine unless the file allows more, with retries. */

import { setTimeout as sleep } from "node:timers/promises";
import { HoneError } from "../contract/errors.ts";

/** Refuses (`bad-reward-file`) an address beyond this machine that was not allowed in so many words. */
export function requireAllowed({
  name,
  url,
  allow_remote,
}: {
  name: string;
  url: string;
  allow_remote: boolean;
}): void {
  const { hostname, username, password } = new URL(url);
  if (username !== "" || password !== "") {
    throw new HoneError("bad-reward-file", `reward part ${name}: a password does not belong into an address`, {
      fix: "a judge's key goes into an environment variable: api_key_env",
    });
  }
  if (allow_remote || hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname)) return;
  throw new HoneError("bad-reward-file", `reward part ${name}: ${hostname} is not on this machine`, {
    fix: 'prompts and answers would be sent there; if that is meant, add "allow_remote": true',
  });
}

export interface PostOptions {
  headers?: Record<string, string>;
  seconds: number;
  retries: number;
  signal?: AbortSignal | undefined;
}

export type PostResult =
  | { text: string }
  /** `late`: no answer in time. `away`: nobody there, too busy, or broken. `refused`: it will not answer this request. */
  | { failed: "late" | "away" | "refused"; why: string };

/** Seconds before the first retry; it doubles each time. A server's own `Retry-After` goes before, up to a minute. */
const firstPause = 0.25;

/** Posts a text and returns the text of the answer. Only what may pass by itself is tried again. Throws the signal's reason. */
export async function post(url: string, body: string, options: PostOptions): Promise<PostResult> {
  for (let attempt = 0; ; attempt++) {
    const { result, pause } = await postOnce(url, body, options);
    if ("text" in result || result.failed === "refused" || attempt >= options.retries) return result;
    await sleep(1000 * Math.min(60, pause ?? firstPause * 2 ** attempt), undefined, { signal: options.signal });
  }
}

async function postOnce(
  url: string,
  body: string,
  { headers = {}, seconds, signal }: PostOptions,
): Promise<{ result: PostResult; pause?: number }> {
  try {
    const response = await fetch(url, {
      method: "POST",
      body,
      headers,
      // A redirect could lead away from this machine.
      redirect: "error",
      signal: AbortSignal.any([AbortSignal.timeout(seconds * 1000), ...(signal === undefined ? [] : [signal])]),
    });
    const text = await response.text();
    if (response.ok) return { result: { text } };
    const why = `${response.status} ${response.statusText}: ${text.slice(0, 300)}`;
    const passing = response.status === 429 || response.status === 408 || response.status >= 500;
    const after = Number(response.headers.get("retry-after") ?? NaN);
    return { result: { failed: passing ? "away" : "refused", why }, ...(Number.isFinite(after) && { pause: after }) };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof Error && error.name === "TimeoutError") {
      return { result: { failed: "late", why: `no answer within ${seconds} s` } };
    }
    const cause = error instanceof Error ? error.cause : undefined;
    const why = cause instanceof Error && cause.message !== "" ? cause.message : String(error);
    return { result: { failed: "away", why } };
  }
}
