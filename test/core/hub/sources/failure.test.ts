import { describe, expect, test } from "vitest";
import type { RepoRef } from "../../../../core/contract/hub.ts";
import { isTransient, RetryLaterError } from "../../../../core/hub/http.ts";
import { hubFailure, retryAfterSeconds } from "../../../../core/hub/sources/failure.ts";

const ref: RepoRef = { source: "huggingface", kind: "model", id: "meta-llama/Llama-3.2-1B-Instruct", revision: "main" };

function failure(
  status: number,
  {
    code,
    token = false,
    path,
    headers = {},
    url,
  }: { code?: string; token?: boolean; path?: string; headers?: Record<string, string>; url?: string } = {},
) {
  return hubFailure(
    {
      status,
      headers: { ...(code !== undefined && { "x-error-code": code }), ...headers },
      url: url ?? "https://huggingface.co/api/models/x?secret=1",
    },
    {
      ref,
      path,
      page: "https://huggingface.co/meta-llama/Llama-3.2-1B-Instruct",
      tokenPage: "https://huggingface.co/settings/tokens",
      tokenName: "HF_TOKEN",
      hasToken: token,
    },
  );
}

describe("what a refusal means, and the way out", () => {
  test.each([
    [401, { code: "GatedRepo" }, "gated", /no token is set/, /accept the licence.*settings\/tokens.*HF_TOKEN/],
    [401, { code: "GatedRepo", token: true }, "gated", /not been let in/, /sign in with the token's account/],
    [
      403,
      { code: "GatedRepo", token: true },
      "gated",
      /not been let in/,
      /fine-grained token also needs the permission/,
    ],
    [403, {}, "gated", /no token is set/, /Llama-3.2-1B-Instruct/],
    [401, { code: "RepoNotFound" }, "no-such-repo", /or it is private/, /hone search.*HF_TOKEN/],
    [401, {}, "no-such-repo", /or it is private/, /hone search/],
    [401, { token: true }, "not-signed-in", /does not accept the token/, /mistyped or withdrawn/],
    [404, { code: "RepoNotFound", token: true }, "no-such-repo", /there is no model meta-llama/, /hone search/],
    [404, { code: "RevisionNotFound" }, "no-such-revision", /no branch, tag or commit "main"/, /stand on https/],
    [404, { headers: { "x-error-message": "Invalid rev id: v9" } }, "no-such-revision", /v9|main/, /https/],
    [404, { code: "EntryNotFound", path: "a.json" }, "no-such-file", /has no file a.json/, /https/],
    [404, { path: "a.json" }, "no-such-file", /has no file a.json/, /https/],
    [403, { code: "DisabledRepo" }, "repo-disabled", /taken down/, /another/],
    [407, {}, "proxy-refused", /user and a password/, /HTTPS_PROXY/],
    [403, { url: "https://cdn.example/x?X-Amz-Signature=1", path: "a" }, "signature-expired", /has run out/, /new one/],
    [418, {}, "hub-refused", /status 418/, /page/],
  ] as const)("%i %o is %s", (status, about, code, message, fix) => {
    const error = failure(status, about);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(error.fix).toMatch(fix);
    expect(isTransient(error)).toBe(false);
  });

  test("429 and 5xx ask for patience, and say for how long where the hub does", () => {
    const limited = failure(429, { headers: { "retry-after": "90" } });
    expect(limited).toBeInstanceOf(RetryLaterError);
    expect(limited).toMatchObject({
      code: "rate-limited",
      afterSeconds: 90,
      message: expect.stringContaining("1 min 30 s") as string,
    });
    expect(limited.fix).toContain("with a token more requests are allowed");
    expect(failure(429, { token: true })).toMatchObject({ afterSeconds: undefined, fix: "try again then" });
    const broken = failure(503, { headers: { "retry-after": "2" } });
    expect(broken).toMatchObject({ code: "server-error", afterSeconds: 2 });
    expect(isTransient(limited) && isTransient(broken)).toBe(true);
  });

  test("no message repeats a query", () => {
    expect(JSON.stringify([404, 429, 500, 418].map((status) => failure(status).message))).not.toContain("secret");
  });
});

test.each([
  [{ "retry-after": "7" }, 7],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "99999" }, 3600],
  [{ "retry-after": "Mon, 01 Jan 2024 00:01:00 GMT" }, 60],
  [{ "retry-after": "Sun, 31 Dec 2023 23:00:00 GMT" }, 0],
  [{ ratelimit: '"resolvers";r=0;t=55' }, 55],
  [{ "retry-after": "soon" }, undefined],
  [{}, undefined],
] as const)("Retry-After %o is %s seconds", (headers, seconds) => {
  expect(retryAfterSeconds(headers, Date.parse("2024-01-01T00:00:00Z"))).toBe(seconds);
});
