/** What a hub's refusal means, and the way out. */

import { HoneError } from "../../contract/errors.ts";
import { hubSourceLabels, type RepoRef } from "../../contract/hub.ts";
import { formatSeconds } from "../../contract/units.ts";
import { RetryLaterError, showUrl, type HttpReply } from "../http.ts";
import { showRef } from "./parse-reference.ts";

export interface FailureContext {
  ref?: RepoRef;
  path?: string | undefined;
  /** The repository's page. */
  page: string;
  /** Where a token is made. */
  tokenPage: string;
  /** The variable that holds it. */
  tokenName: string;
  hasToken: boolean;
}

/**
 * A status that is no success, as an error: `no-such-repo`, `no-such-revision`, `no-such-file`, `gated`, `not-signed-in`,
 * `no-permission`, `repo-disabled`, `signature-expired`, `rate-limited` and `server-error` (both `RetryLaterError`s),
 * `hub-refused`. Nothing that the hub wrote is repeated except its one-line error message.
 */
export function hubFailure(reply: Pick<HttpReply, "status" | "headers" | "url">, context: FailureContext): HoneError {
  const { status, headers, url } = reply;
  const { ref, path, page, tokenPage, tokenName, hasToken } = context;
  const label = ref === undefined ? showUrl(url) : hubSourceLabels[ref.source];
  const name = ref === undefined ? label : `the ${ref.kind} ${showRef(ref)}`;
  const make = (code: string, message: string, fix: string) => new HoneError(code, message, { fix });
  const token = `make a token at ${tokenPage} and set it in Hone's settings or as ${tokenName}`;
  const hubCode = headers["x-error-code"];

  if (status === 429) {
    const after = retryAfterSeconds(headers);
    const wait = after === undefined ? "a few minutes" : formatSeconds(after);
    return new RetryLaterError(
      "rate-limited",
      `${label} gets too many requests from here and asks to wait ${wait}`,
      after,
      {
        fix: hasToken ? "try again then" : `try again then; with a token more requests are allowed: ${token}`,
      },
    );
  }
  if (status >= 500) {
    return new RetryLaterError(
      "server-error",
      `${label} is out of order (status ${status})`,
      retryAfterSeconds(headers),
      {
        fix: "try again later, or use another mirror or source",
      },
    );
  }
  if (hubCode === "RevisionNotFound" || (status === 404 && isRevisionMessage(headers["x-error-message"]))) {
    const revision = ref === undefined ? "" : ` ${JSON.stringify(ref.revision)}`;
    return make(
      "no-such-revision",
      `${name} has no branch, tag or commit${revision}`,
      `its revisions stand on ${page}`,
    );
  }
  if (hubCode === "EntryNotFound") {
    return make("no-such-file", `${name} has no file ${path ?? showUrl(url)}`, `its files stand on ${page}`);
  }
  if (hubCode === "DisabledRepo") {
    return make("repo-disabled", `${name} was taken down by ${label}`, "choose another model or a copy of it");
  }
  // Answers of a storage host, not of the hub: signed addresses run out.
  if (ref !== undefined && status === 403 && new URL(url).search.includes("X-Amz-")) {
    return make(
      "signature-expired",
      `the signed address of ${path ?? name} has run out`,
      "try again: a new one is made",
    );
  }
  if (hubCode === "GatedRepo" || status === 403) {
    return make(
      "gated",
      `${name} is given out only to those who accept its licence, and ${hasToken ? "the token's account has not been let in" : "no token is set"}`,
      hasToken
        ? `open ${page}, sign in with the token's account and accept the licence (some authors answer by hand, which takes a while); a fine-grained token also needs the permission to read gated repositories`
        : `open ${page}, sign in and accept the licence; then ${token}`,
    );
  }
  if (status === 401) {
    return hasToken
      ? make(
          "not-signed-in",
          `${label} does not accept the token for ${name}`,
          `the token may be mistyped or withdrawn, or the name misspelt (private and missing repositories look alike): ${token}`,
        )
      : make(
          "no-such-repo",
          `there is no ${nameOf(ref, name)} on ${label}, or it is private`,
          `check the name with \`hone search\`; for a private one, ${token}`,
        );
  }
  if (status === 404 && path !== undefined) {
    return make("no-such-file", `${name} has no file ${path}`, `its files stand on ${page}`);
  }
  if (status === 404 || status === 410) {
    return make(
      "no-such-repo",
      `there is no ${nameOf(ref, name)} on ${label}`,
      "check the name with `hone search`, or try the other source",
    );
  }
  if (status === 407) {
    return make(
      "proxy-refused",
      "the proxy wants a user and a password",
      "write them into HTTPS_PROXY: http://user:password@host:port",
    );
  }
  return make(
    "hub-refused",
    `${label} refuses the request for ${name} (status ${status})`,
    "try again later, or look at its page: " + page,
  );
}

function nameOf(ref: RepoRef | undefined, name: string): string {
  return ref === undefined ? name : `${ref.kind} ${ref.id}`;
}

function isRevisionMessage(message: string | undefined): boolean {
  return message !== undefined && /invalid rev|revision/i.test(message);
}

/** Seconds of `Retry-After` (a number or a date), or of Hugging Face's `RateLimit: …;t=`. At most an hour. */
export function retryAfterSeconds(headers: Record<string, string>, now = Date.now()): number | undefined {
  const text = headers["retry-after"];
  const plain = text === undefined ? Number.NaN : Number(text);
  const date = text === undefined ? Number.NaN : (Date.parse(text) - now) / 1000;
  const limit = Number(/;\s*t=(\d+)/.exec(headers["ratelimit"] ?? "")?.[1] ?? Number.NaN);
  const seconds = [plain, date, limit].find((value) => Number.isFinite(value));
  return seconds === undefined ? undefined : Math.min(3600, Math.max(0, seconds));
}
