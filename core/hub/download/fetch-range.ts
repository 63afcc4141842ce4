/** One answer of a hub or a CDN, checked in every way before and while its bytes are kept. */

import type { Readable } from "node:stream";
import { HoneError } from "../../contract/errors.ts";
import type { RepoFile } from "../../contract/hub.ts";
import { formatBytes, formatSeconds } from "../../contract/units.ts";
import { asNetworkError, drop, request, showUrl, type HttpReply } from "../http.ts";
import type { FileLocation } from "../sources/source.ts";
import type { Throttle } from "./throttle.ts";

export interface RangeRequest {
  location: FileLocation;
  file: RepoFile;
  start: number;
  end: number;
  /** The server does not know ranges: all of the file comes at once. */
  whole: boolean;
  /** Makes the error of a status that is no success. */
  refuse: (reply: HttpReply) => Error;
  /** Called in order; bytes of the file from `position` on. Afterwards the pieces are gone: nothing may keep them. */
  write: (pieces: readonly Buffer[], position: number) => Promise<void>;
  throttle: Throttle;
  signal: AbortSignal;
  /** See `RequestOptions.idleSeconds`. */
  idleSeconds: number;
  /** A connection that brings less than `slowBytes` in `slowSeconds` is given up. */
  slowSeconds: number;
  slowBytes: number;
}

/** Pieces are gathered to so many bytes, or for so long, before they are written. */
const writeBytes = 4 * 1024 ** 2;
const writeSeconds = 0.5;
/** As many where a limit is kept to: it should not come in bursts. */
const limitedBytes = 64 * 1024;

/** Where the next range of the same file can be asked for directly. */
export interface RangeResult {
  url: string;
}

/**
 * Fetches bytes [start, end) of a file, or a first part of them when the server gives no more: what was written counts.
 * Throws `range-ignored` (only all of the file is to be had), `wrong-range`, `wrong-size`, `wrong-encoding`,
 * `answer-too-long` (nothing of it can be trusted), `too-slow`, `connection-lost`, and what `request` and `refuse` make.
 */
export async function fetchRange(options: RangeRequest): Promise<RangeResult> {
  const { location, start, end, whole, signal, idleSeconds } = options;
  const reply = await request(location.url, {
    headers: whole ? {} : { range: `bytes=${start}-${end - 1}` },
    credentials: location.credentials,
    signal,
    idleSeconds,
  });
  let span: { from: number; to: number; isPart: boolean };
  try {
    span = readSpan(reply, options);
  } catch (error) {
    await drop(reply.body);
    throw error;
  }
  await readBody(reply, span, options);
  return { url: reply.url };
}

/** Which bytes of the file the body holds. */
function readSpan(reply: HttpReply, options: RangeRequest): { from: number; to: number; isPart: boolean } {
  const { file, start, end, whole, refuse } = options;
  const { status, headers } = reply;
  const bad = (code: string, what: string) =>
    new HoneError(code, `${showUrl(reply.url)} ${what}`, { fix: "try again, or use another mirror or source" });
  if (status === 416) throw bad("wrong-range", `says that bytes ${start} to ${end - 1} of ${file.path} are not there`);
  if (status !== 200 && status !== 206) throw refuse(reply);
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity")
    throw bad("wrong-encoding", `sends ${file.path} packed (${encoding}), which was not asked for`);
  const length = headers["content-length"] === undefined ? undefined : Number(headers["content-length"]);
  const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers["content-range"] ?? "");
  if (range === null) {
    if (status === 206) throw bad("wrong-range", `does not say which part of ${file.path} it sends`);
    if (length !== undefined && length !== file.size) {
      const type = headers["content-type"]?.split(";")[0] ?? "";
      const page = type === "text/html" ? " (a web page: a network may want a login)" : "";
      throw bad(
        "wrong-size",
        `sends ${formatBytes(length)} for ${file.path}, which has ${formatBytes(file.size)}${page}`,
      );
    }
    if (start > 0 && !whole) throw bad("range-ignored", `does not send parts of ${file.path}`);
    return { from: 0, to: Math.min(end, file.size), isPart: false };
  }
  // Also with status 200: ModelScope keeps to a range and does not say so in the status.
  const [from, last, total] = [Number(range[1]), Number(range[2]), range[3]];
  if (total !== "*" && Number(total) !== file.size) {
    throw bad("wrong-size", `has ${total} bytes for ${file.path}, the hub's list says ${file.size}`);
  }
  if (from !== start || last < from || last >= end) {
    throw bad("wrong-range", `sends bytes ${from} to ${last} of ${file.path} instead of ${start} to ${end - 1}`);
  }
  return { from, to: last + 1, isPart: true };
}

async function readBody(
  reply: HttpReply,
  { from, to, isPart }: { from: number; to: number; isPart: boolean },
  { file, write, throttle, signal, slowSeconds, slowBytes }: RangeRequest,
): Promise<void> {
  let position = from;
  let pieces: Buffer[] = [];
  let gathered = 0;
  let windowBytes = 0;
  let windowStart = performance.now();
  let failedWrite: { error: unknown } | undefined;
  const flush = async () => {
    const [ready, at] = [pieces, position];
    pieces = [];
    position += gathered;
    gathered = 0;
    if (ready.length === 0) return;
    await write(ready, at).catch((error: unknown) => {
      failedWrite = { error };
      throw error;
    });
    for (const piece of ready) giveBack(piece);
  };
  const batchBytes = () => (throttle.bytesPerSecond === null ? writeBytes : limitedBytes);
  try {
    for await (const batch of inBatches(reply.body, batchBytes)) {
      let isOver = false;
      const before = gathered;
      for (const piece of batch) {
        const room = to - position - gathered;
        if (piece.length > room && isPart) {
          pieces = [];
          throw new HoneError("answer-too-long", `${showUrl(reply.url)} sends more of ${file.path} than it announced`, {
            fix: "this is not what a hub sends: check the address of the mirror",
          });
        }
        const used = piece.length > room ? piece.subarray(0, room) : piece;
        pieces.push(used);
        gathered += used.length;
        // All was asked for and only a part is wanted.
        isOver ||= used.length < piece.length;
      }
      const began = performance.now();
      windowBytes += gathered - before;
      await throttle.take(gathered - before, signal);
      await flush();
      // Waiting for the own limit and the own disk is not the server's fault.
      windowStart += performance.now() - began;
      if (isOver) break;
      const seconds = (performance.now() - windowStart) / 1000;
      if (seconds < slowSeconds) continue;
      if (windowBytes < slowBytes) {
        throw new HoneError(
          "too-slow",
          `${new URL(reply.url).host} sent ${formatBytes(windowBytes)} in ${formatSeconds(seconds)}`,
          { fix: "check the network, or use another mirror or source" },
        );
      }
      windowBytes = 0;
      windowStart = performance.now();
    }
  } catch (error) {
    reply.body.destroy();
    if (failedWrite !== undefined) throw failedWrite.error;
    await flush();
    throw asNetworkError(error, reply.url, signal);
  }
  await flush();
  reply.body.destroy();
  if (position < to) {
    throw new HoneError("connection-lost", `${new URL(reply.url).host} ended the answer before all of it was there`, {
      fix: "try again: what was received is kept",
    });
  }
}

/**
 * The pieces of a body, many at a time: a promise for each of them costs more than its bytes. What came before a failure
 * is given out before the failure is thrown.
 */
async function* inBatches(body: Readable, batchBytes: () => number): AsyncGenerator<Buffer[]> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let began = performance.now();
  let isEnded = false;
  let failure: { error: unknown } | undefined;
  let ready = Promise.withResolvers<void>();
  const end = () => {
    isEnded = true;
    ready.resolve();
  };
  // Whoever ends a body early hears of it as an error, and nobody else must.
  body.on("error", (error) => {
    failure ??= { error };
    end();
  });
  body.on("end", end).on("close", end);
  body.on("data", (piece: Buffer) => {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes < batchBytes() && performance.now() - began < writeSeconds * 1000) return;
    body.pause();
    ready.resolve();
  });
  for (;;) {
    await ready.promise;
    ready = Promise.withResolvers();
    const batch = pieces;
    pieces = [];
    bytes = 0;
    if (batch.length > 0) yield batch;
    else if (isEnded) break;
    began = performance.now();
    if (isEnded) ready.resolve();
    else body.resume();
  }
  if (failure !== undefined) throw failure.error;
}

/**
 * Frees a piece's memory at once. Left to the garbage collector, pieces pile up to tens of megabytes outside of its heap,
 * and each time it searches the whole heap for them: a quarter of all processor time of a download.
 */
function giveBack({ buffer, byteLength }: Buffer): void {
  // Only what nobody else can have a part of.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
