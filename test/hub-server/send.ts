/** How the test hub answers: JSON, a status, a file's bytes by range, and every way to do it wrong. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import type { Fault } from "./faults.ts";
import type { Content } from "./repository.ts";

export function sendJson(
  response: ServerResponse,
  value: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": body.length,
    ...headers,
  });
  response.end(response.req.method === "HEAD" ? undefined : body);
}

export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
  response.end(response.req.method === "HEAD" ? undefined : text);
}

const loopPath = "/redirect-loop";

/** Answers the address to which the fault of that name sends: it leads to itself. */
export function sendRedirectLoop(response: ServerResponse, url: URL): boolean {
  if (url.pathname !== loopPath) return false;
  response.writeHead(302, { location: loopPath, "content-length": 0 });
  response.end();
  return true;
}

/** The faults that need nothing of the request. Returns false when it is none of them. */
export function sendFault(response: ServerResponse, fault: Fault): boolean {
  switch (fault.name) {
    case "reset":
      response.req.socket.destroy();
      return true;
    case "hang":
      return true;
    case "redirect-loop":
      response.writeHead(302, { location: loopPath, "content-length": 0 });
      response.end();
      return true;
    case "status-429": {
      // Both forms that a hub sends; one in ten waits a second.
      const seconds = fault.at < 0.1 ? 1 : 0;
      sendJson(
        response,
        { error: "We had to rate limit your IP. To continue using our service, create a HF account or login." },
        {
          status: 429,
          headers: {
            "retry-after": String(seconds),
            ratelimit: `"resolvers";r=0;t=${seconds}`,
            "ratelimit-policy": '"fixed window";"resolvers";q=3000;w=300',
          },
        },
      );
      return true;
    }
    case "status-500":
      sendJson(
        response,
        { error: "Internal Error - We're working hard to fix this as soon as possible!" },
        { status: 500 },
      );
      return true;
    case "status-502":
    case "status-504":
      sendText(response, Number(fault.name.slice(-3)), "<html><body>Bad Gateway</body></html>", {
        "content-type": "text/html",
      });
      return true;
    case "status-503":
      sendText(response, 503, "Service Unavailable", {
        "retry-after": new Date(Date.now() + Math.round(fault.at * 500)).toUTCString(),
      });
      return true;
    default:
      return false;
  }
}

/** First and one past the last byte of a `Range` header; undefined without one; null when it cannot be met. */
export function parseRange(header: string | undefined, size: number): [number, number] | null | undefined {
  if (header === undefined) return undefined;
  const match = /^bytes=(\d*)-(\d*)$/.exec(header.trim());
  if (match === null || (match[1] === "" && match[2] === "")) return undefined;
  if (match[1] === "") {
    const length = Math.min(Number(match[2]), size);
    return length === 0 ? null : [size - length, size];
  }
  const start = Number(match[1]);
  const end = match[2] === "" ? size : Math.min(Number(match[2]) + 1, size);
  return start >= size || end <= start ? null : [start, end];
}

export interface SendOptions {
  etag: string;
  headers?: Record<string, string>;
  fault?: Fault | undefined;
  /** To one client. Default: as fast as they go. */
  bytesPerSecond?: number | undefined;
  /** Told of all bytes that are sent. */
  onBytes?: (bytes: number) => void;
}

export async function sendContent(
  request: IncomingMessage,
  response: ServerResponse,
  content: Content,
  options: SendOptions,
): Promise<void> {
  const { fault } = options;
  const asked = parseRange(request.headers.range, content.size);
  const fits = request.headers["if-range"] === undefined || request.headers["if-range"] === options.etag;
  const headers: Record<string, string | number> = {
    "accept-ranges": "bytes",
    "content-type": "application/octet-stream",
    etag: options.etag,
    ...options.headers,
  };
  if (fault?.name === "status-416" || asked === null) {
    response.writeHead(416, { ...headers, "content-range": `bytes */${content.size}`, "content-length": 0 });
    response.end();
    return;
  }
  if (fault?.name === "login-page") {
    sendText(response, 200, "<!doctype html><title>Sign in to the guest network</title>", {
      "content-type": "text/html",
    });
    return;
  }
  if (fault?.name === "gzip") {
    const [start, end] = asked ?? [0, content.size];
    const packed = gzipSync(await collect(content, start, end));
    response.writeHead(200, { ...headers, "content-encoding": "gzip", "content-length": packed.length });
    response.end(packed);
    return;
  }
  const isRange = asked !== undefined && fits && fault?.name !== "range-ignored";
  let [start, end] = isRange ? asked : [0, content.size];
  let total = content.size;
  if (isRange && fault?.name === "wrong-content-range") {
    const shift = 1 + Math.floor(fault.at * 100);
    start = start >= shift ? start - shift : Math.min(start + shift, content.size - 1);
    end = Math.max(start + 1, Math.min(end, content.size));
  }
  if (isRange && fault?.name === "shorter-range") end = start + Math.max(1, Math.floor((end - start) * fault.at));
  if (isRange && fault?.name === "wrong-total") total += 1 + Math.floor(fault.at * 1000);
  if (isRange) headers["content-range"] = `bytes ${start}-${end - 1}/${total}`;
  if (fault?.name === "longer-range") headers["transfer-encoding"] = "chunked";
  else headers["content-length"] = fault?.name === "empty-body" ? 0 : end - start;
  response.writeHead(isRange ? 206 : 200, headers);
  if (request.method === "HEAD" || fault?.name === "empty-body") {
    response.end();
    return;
  }
  await sendBody(response, content, start, end, options);
}

async function sendBody(
  response: ServerResponse,
  content: Content,
  start: number,
  end: number,
  { fault, bytesPerSecond, onBytes }: SendOptions,
): Promise<void> {
  const length = end - start;
  const cutAt = fault?.name === "cut" ? Math.floor(fault.at * length) : undefined;
  const slowAt = fault?.name === "trickle" ? Math.floor(fault.at * length * 0.5) : undefined;
  const wrongAt = fault?.name === "corrupt" ? Math.floor(fault.at * length) : undefined;
  const began = Date.now();
  let sent = 0;
  for await (const piece of content.read(start, end) as AsyncIterable<Buffer>) {
    if (response.destroyed) return;
    let bytes = piece;
    if (slowAt !== undefined && slowAt < sent + bytes.length) {
      response.write(bytes.subarray(0, slowAt - sent));
      await trickle(response, bytes.subarray(slowAt - sent));
      return;
    }
    if (wrongAt !== undefined && wrongAt >= sent && wrongAt < sent + bytes.length) {
      bytes = Buffer.from(bytes);
      bytes[wrongAt - sent] ^= 0x40;
    }
    if (cutAt !== undefined && cutAt < sent + bytes.length) {
      response.write(bytes.subarray(0, cutAt - sent), () => response.socket?.destroy());
      return;
    }
    sent += bytes.length;
    onBytes?.(bytes.length);
    if (!response.write(bytes)) await drained(response);
    if (bytesPerSecond !== undefined) await sleep(began + (sent / bytesPerSecond) * 1000 - Date.now());
  }
  if (fault?.name === "longer-range") {
    // At first a little, then without end: a client must stop reading by itself.
    const filler = Buffer.alloc(1 + Math.floor(fault.at * 65536), 0x2a);
    for (let i = 0; i < 1024 && !response.destroyed; i++) if (!response.write(filler)) await drained(response);
  }
  response.end();
}

async function trickle(response: ServerResponse, bytes: Buffer): Promise<void> {
  for (let i = 0; i < bytes.length && !response.destroyed; i++) {
    response.write(bytes.subarray(i, i + 1));
    await sleep(25);
  }
  response.end();
}

async function drained(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const go = () => {
      response.off("drain", go).off("close", go);
      resolve();
    };
    response.on("drain", go).on("close", go);
  });
}

async function sleep(milliseconds: number): Promise<void> {
  if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function collect(content: Content, start: number, end: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of content.read(start, end) as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}
