/**
 * The one way onto the network for hubs. It honours the proxy settings of the environment, follows redirects itself so
 * that credentials never reach another origin, limits time, redirects and sizes, and says in plain words what failed.
 * Nothing here writes a log, and no error carries a header, a query (where signatures stand) or a password.
 */

import type { Readable } from "node:stream";
import { Agent, EnvHttpProxyAgent, request as send, type Dispatcher } from "undici";
import { CancelledError, HoneError, errorKind, errorMessage } from "../contract/errors.ts";
import { formatBytes, formatSeconds } from "../contract/units.ts";

/** Headers that only one origin may see. Neither JSON nor the inspector shows them. */
export class Credentials {
  readonly origin: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** `url`: anywhere at the origin that may see the headers. */
  constructor(url: string, headers: Record<string, string>) {
    this.origin = new URL(url).origin;
    this.#headers = headers;
  }

  static bearer(url: string, token: string): Credentials {
    // A token with a line break would end the header and begin another.
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw new HoneError("bad-token", "the access token holds characters that no token has", {
        fix: "copy the token again from the hub's settings page, without blanks or line breaks",
      });
    }
    return new Credentials(url, { authorization: `Bearer ${token}` });
  }

  headersFor(url: URL): Readonly<Record<string, string>> {
    return url.origin === this.origin ? this.#headers : {};
  }
}

export interface RequestOptions {
  method?: "GET" | "HEAD" | "POST" | "PUT";
  headers?: Record<string, string>;
  body?: string;
  /** Sent to their own origin only, at whatever redirect. */
  credentials?: Credentials | undefined;
  signal?: AbortSignal | undefined;
  /** Most redirects that are followed. Default 10. */
  maxRedirects?: number;
  /** Longest wait for the head of the answer, and between two pieces of its body, in seconds. Default 30. */
  idleSeconds?: number;
}

export interface HttpReply {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** Where the answer came from, after redirects. */
  url: string;
  /** Headers of the redirects that were followed, first to last. */
  redirects: { url: string; headers: Record<string, string> }[];
  /** Must be read or destroyed. Rejects as `asNetworkError` says, which its reader calls. */
  body: Readable;
}

const connectSeconds = 15;
const userAgent = "hone";

/**
 * One request. Any status is a reply: only a network that fails is an error. Redirects are followed for GET and HEAD.
 * Throws `CancelledError`, or `HoneError` with one of the codes of `asNetworkError`, `redirect-loop`, `bad-redirect`.
 */
export async function request(url: string, options: RequestOptions = {}): Promise<HttpReply> {
  const { method = "GET", maxRedirects = 10, idleSeconds = 30, signal } = options;
  const redirects: HttpReply["redirects"] = [];
  let target = httpUrl(url);
  for (;;) {
    let answer: Dispatcher.ResponseData;
    try {
      answer = await send(target, {
        method,
        headers: {
          "user-agent": userAgent,
          // Ranges count the bytes of what is sent, so it must be sent as it is.
          "accept-encoding": "identity",
          ...options.headers,
          ...options.credentials?.headersFor(target),
        },
        body: options.body ?? null,
        headersTimeout: idleSeconds * 1000,
        bodyTimeout: idleSeconds * 1000,
        dispatcher: dispatcher(),
        ...(signal !== undefined && { signal }),
      });
    } catch (error) {
      throw asNetworkError(error, target.href, signal);
    }
    const headers = plainHeaders(answer.headers);
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.statusCode) && headers["location"] !== undefined;
    if (!isRedirect || (method !== "GET" && method !== "HEAD") || maxRedirects === 0) {
      return { status: answer.statusCode, headers, url: target.href, redirects, body: answer.body };
    }
    await drop(answer.body);
    redirects.push({ url: target.href, headers });
    if (redirects.length > maxRedirects) {
      throw new HoneError(
        "redirect-loop",
        `${showUrl(url)} sends from one address to the next (${maxRedirects} times)`,
        {
          fix: "try again later, or another mirror; a proxy with a login page does this, too",
        },
      );
    }
    target = redirectTarget(target, headers["location"]);
  }
}

/** Reads a body as text. Throws `answer-too-large` beyond `limit` bytes. */
export async function readText(reply: HttpReply, limit: number, signal?: AbortSignal): Promise<string> {
  return (await readBytes(reply, limit, signal)).toString("utf8");
}

/** Reads a body whole. Throws `answer-too-large` beyond `limit` bytes, which are never held at once. */
export async function readBytes(reply: HttpReply, limit: number, signal?: AbortSignal): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of reply.body as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > limit) {
        throw new HoneError("answer-too-large", `${showUrl(reply.url)} sends more than ${formatBytes(limit)}`, {
          fix: "this is not what a hub sends: check the address of the mirror",
        });
      }
      pieces.push(piece);
    }
  } catch (error) {
    throw asNetworkError(error, reply.url, signal);
  }
  return Buffer.concat(pieces);
}

/** Reads a body as JSON. Throws `bad-answer` when it is none: a login page of a proxy, mostly. */
export async function readJsonBody(reply: HttpReply, limit: number, signal?: AbortSignal): Promise<unknown> {
  const text = await readText(reply, limit, signal);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const isPage = /^\s*</.test(text);
    throw new HoneError("bad-answer", `${showUrl(reply.url)} did not answer with JSON`, {
      cause: error,
      fix: isPage
        ? "it sent a web page: open the address in a browser (a proxy may want a login), and check the endpoint setting"
        : "check the endpoint setting, or try again later",
    });
  }
}

/** Ends a reply that nobody reads. */
export async function drop(body: Readable): Promise<void> {
  body.on("error", () => undefined);
  // A short rest is read so that the connection can be used again.
  if ("dump" in body && typeof body.dump === "function")
    await (body.dump as (o: object) => Promise<void>)({ limit: 65536 }).catch(() => undefined);
  else body.destroy();
}

/** `fetch` as client libraries take it, on top of `request`: the same proxies, redirects and errors. */
export function fetchWith(options: Pick<RequestOptions, "credentials" | "signal">): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = Object.fromEntries(new Headers(init?.headers ?? (input instanceof Request ? input.headers : {})));
    const method = init?.method ?? "GET";
    if (method !== "GET" && method !== "HEAD") throw new Error(`${method} is not for reading`);
    const reply = await request(url, { ...options, method, headers });
    const bytes = await readBytes(reply, maxApiBytes, options.signal ?? undefined);
    const hasBody = ![204, 205, 304].includes(reply.status);
    return new Response(hasBody ? new Uint8Array(bytes) : null, { status: reply.status, headers: reply.headers });
  };
}

/** No page of a hub's lists comes near it. */
export const maxApiBytes = 64 * 1024 ** 2;

/** The other side is there and asks for patience. */
export class RetryLaterError extends HoneError {
  /** Where it said how long. */
  readonly afterSeconds: number | undefined;

  constructor(
    code: string,
    message: string,
    afterSeconds: number | undefined,
    options: { cause?: unknown; fix?: string },
  ) {
    super(code, message, options);
    this.afterSeconds = afterSeconds;
  }
}

const transientCodes = new Set([
  "connection-lost",
  "connection-refused",
  "offline",
  "timed-out",
  "server-error",
  "rate-limited",
]);

/** Whether the same request may succeed later. */
export function isTransient(error: unknown): boolean {
  return error instanceof HoneError && transientCodes.has(error.code);
}

/** An address without what may be secret in it: user, password, query. */
export function showUrl(url: string | URL): string {
  const { origin, host, protocol, pathname } = new URL(url);
  return origin === "null" ? `${protocol}//${host}${pathname}` : origin + pathname;
}

function httpUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new HoneError("bad-address", `${url === null ? JSON.stringify(text) : showUrl(url)} is no http address`, {
      fix: "an endpoint begins with https://, such as https://huggingface.co",
    });
  }
  return url;
}

function redirectTarget(from: URL, location: string): URL {
  const to = URL.parse(location, from.href);
  const problem =
    to === null || (to.protocol !== "http:" && to.protocol !== "https:")
      ? "an address that is none"
      : from.protocol === "https:" && to.protocol === "http:"
        ? `an address without encryption (${showUrl(to)})`
        : undefined;
  if (to !== null && problem === undefined) return to;
  throw new HoneError("bad-redirect", `${showUrl(from)} sends on to ${problem}`, {
    fix: "check the endpoint setting, or use another mirror",
  });
}

function plainHeaders(headers: Dispatcher.ResponseData["headers"]): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return plain;
}

const lost =
  /^(?:ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|UND_ERR_REQ_CONTENT_LENGTH_MISMATCH|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|HPE_\w+)$/;
const late = /^(?:ETIMEDOUT|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/;
const away = /^(?:ENOTFOUND|EAI_AGAIN|EAI_NODATA|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EADDRNOTAVAIL)$/;
const certificate = /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|^ERR_TLS|^ERR_SSL|^EPROTO$/;

/**
 * What went wrong on the way, in words. Codes: `offline`, `connection-refused`, `connection-lost`, `timed-out`,
 * `certificate`, `proxy-refused`, `network-error`. A cancelled request becomes a `CancelledError`.
 */
export function asNetworkError(error: unknown, url: string, signal?: AbortSignal): Error {
  if (error instanceof HoneError || error instanceof CancelledError) return error;
  // undici calls a tunnel that the proxy refuses an abort; the status stands in the words only.
  const isRefusedTunnel = /proxy response \(\d+\)/i.test(errorMessage(error));
  if (signal?.aborted === true || (errorKind(error) === "cancelled" && !isRefusedTunnel)) {
    return new CancelledError("Cancelled", { cause: error });
  }
  const code = codeOf(error);
  const host = new URL(url).host;
  const make = (name: string, message: string, fix: string) => new HoneError(name, message, { cause: error, fix });
  if (away.test(code)) {
    return make(
      "offline",
      `cannot reach ${host}`,
      "check the network and the proxy settings (HTTPS_PROXY); a mirror can be set with HF_ENDPOINT",
    );
  }
  if (code === "ECONNREFUSED") {
    return make(
      "connection-refused",
      `${host} refuses the connection`,
      "check the address and the proxy settings (HTTPS_PROXY, NO_PROXY)",
    );
  }
  if (late.test(code)) {
    const limit = code === "UND_ERR_CONNECT_TIMEOUT" ? ` within ${formatSeconds(connectSeconds)}` : " in time";
    return make("timed-out", `${host} did not answer${limit}`, "check the network, or try again later");
  }
  if (certificate.test(code)) {
    return make(
      "certificate",
      `the certificate of ${host} is not trusted (${code})`,
      "a company's proxy may put its own in between: name its certificate file in NODE_EXTRA_CA_CERTS",
    );
  }
  if (isRefusedTunnel || code === "UND_ERR_PRX_TLS" || code.startsWith("UND_ERR_SOCKS5")) {
    return make(
      "proxy-refused",
      `the proxy does not let ${host} through`,
      "check HTTPS_PROXY (with user and password where the proxy wants them) and NO_PROXY",
    );
  }
  if (lost.test(code) || /other side closed|terminated|premature close|aborted/i.test(errorMessage(error))) {
    return make("connection-lost", `the connection to ${host} broke off`, "try again: what was received is kept");
  }
  return make("network-error", `${host}: ${errorMessage(error)}`, "check the network and try again");
}

function codeOf(error: unknown): string {
  let inner: unknown = error;
  for (let depth = 0; depth < 5 && inner instanceof Error; depth++) {
    // Several addresses of one host were tried.
    if (inner instanceof AggregateError && inner.errors.length > 0) inner = inner.errors[0] as unknown;
    const code = (inner as NodeJS.ErrnoException).code;
    if (typeof code === "string" && code !== "UND_ERR_ABORTED") return code;
    inner = inner instanceof Error ? inner.cause : undefined;
  }
  return "";
}

let agent: { key: string; dispatcher: Dispatcher } | undefined;

/** Connections are kept and shared; other proxy settings make a new set of them. */
function dispatcher(): Dispatcher {
  const { env } = process;
  const all = env["all_proxy"] ?? env["ALL_PROXY"];
  const http = env["http_proxy"] ?? env["HTTP_PROXY"] ?? all ?? "";
  const https = env["https_proxy"] ?? env["HTTPS_PROXY"] ?? all ?? http;
  const no = env["no_proxy"] ?? env["NO_PROXY"] ?? "";
  const key = JSON.stringify([http, https, no]);
  if (agent?.key !== key) agent = { key, dispatcher: openDispatcher(http, https, no) };
  return agent.dispatcher;
}

function openDispatcher(http: string, https: string, no: string): Dispatcher {
  const options = { connect: { timeout: connectSeconds * 1000 } };
  if (http === "" && https === "") return new Agent(options);
  const proxies = { httpProxy: proxyUrl(http), httpsProxy: proxyUrl(https), noProxy: no };
  return new EnvHttpProxyAgent({ ...options, ...proxies });
}

/** `host:port` is what many systems write. The value is not repeated: a password may stand in it. */
function proxyUrl(text: string): string {
  if (text === "") return "";
  const url = text.includes("://") ? text : `http://${text}`;
  if (URL.canParse(url) && /^(?:https?|socks5?):$/.test(new URL(url).protocol)) return url;
  throw new HoneError("bad-proxy", "the proxy setting is no address", {
    fix: "HTTPS_PROXY and HTTP_PROXY hold addresses such as http://proxy.example:3128",
  });
}
