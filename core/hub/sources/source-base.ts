/** What both hubs have in common: requests with retries and the right errors, ranges, cards. */

import { HoneError } from "../../contract/errors.ts";
import { z } from "zod";
import type { RepoFile, RepoSnapshot } from "../../contract/hub.ts";
import {
  drop,
  maxApiBytes,
  readBytes,
  readJsonBody,
  request,
  showUrl,
  type Credentials,
  type HttpReply,
} from "../http.ts";
import { withRetry } from "../retry.ts";
import { readCard } from "./card.ts";
import type { Cancellable, FileLocation } from "./source.ts";

/** Facts that a hub may leave out, or tell in another form: they are then unknown, and the rest stands. */
export const text = z.string().nullish().catch(null);
export const amount = z.number().min(0).nullish().catch(null);

/** Turns a reply that is no success into its error. */
export type Refuse = (reply: Pick<HttpReply, "status" | "headers" | "url">) => Error;

/** JSON of an address, checked. Throws what `refuse` makes, `bad-answer`, and what `request` throws. */
export async function getJson<T>(
  url: string,
  schema: z.ZodType<T>,
  refuse: Refuse,
  options: Cancellable & { credentials?: Credentials | undefined },
): Promise<{ data: T; headers: Record<string, string> }> {
  return withRetry(async () => {
    const reply = await request(url, { ...options, headers: { accept: "application/json" } });
    if (reply.status !== 200) {
      await drop(reply.body);
      throw refuse(reply);
    }
    const data = checkAnswer(await readJsonBody(reply, maxApiBytes, options.signal), schema, url);
    return { data, headers: reply.headers };
  }, options);
}

/** An answer as its schema wants it. Throws `bad-answer`. */
export function checkAnswer<T>(data: unknown, schema: z.ZodType<T>, url: string): T {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const [{ path, message }] = result.error.issues;
  throw new HoneError("bad-answer", `${showUrl(url)} answers in an unknown form (${path.join(".")}: ${message})`, {
    fix: "check the endpoint setting; a mirror may be out of date",
  });
}

/** Most bytes of one ranged read: headers, never weights. */
const maxRange = 256 * 1024 ** 2;

/**
 * Bytes [start, end) of a file, fewer when it ends before. A server that ignores ranges is read up to `end` and no
 * further. ModelScope keeps to a range and says 200 all the same: its Content-Range tells.
 */
export async function readRange(
  { url, credentials }: FileLocation,
  start: number,
  end: number,
  refuse: Refuse,
  { signal }: Cancellable = {},
): Promise<Buffer> {
  if (end <= start) return Buffer.alloc(0);
  if (end - start > maxRange) throw new Error(`a range of ${end - start} bytes is no header`);
  return withRetry(
    async () => {
      const headers = { range: `bytes=${start}-${end - 1}` };
      const reply = await request(url, { headers, credentials, signal });
      if (reply.status === 416) {
        await drop(reply.body);
        return Buffer.alloc(0);
      }
      if (reply.status !== 200 && reply.status !== 206) {
        await drop(reply.body);
        throw refuse(reply);
      }
      const from = rangeStart(reply);
      if (from === start) return readBytes(reply, end - start, signal);
      if (from === 0 && reply.status === 200) return readUpTo(reply, start, end);
      await drop(reply.body);
      throw new HoneError("bad-answer", `${showUrl(reply.url)} sends other bytes than were asked for`, {
        fix: "try again, or use another mirror",
      });
    },
    { signal },
  );
}

/** First byte of the body within the file. */
function rangeStart({ headers, status }: HttpReply): number {
  const range = /^bytes (\d+)-/.exec(headers["content-range"] ?? "");
  if (range !== null) return Number(range[1]);
  return status === 200 ? 0 : Number.NaN;
}

async function readUpTo(reply: HttpReply, start: number, end: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of reply.body as AsyncIterable<Buffer>) {
    pieces.push(piece);
    size += piece.length;
    if (size >= end) break;
  }
  reply.body.destroy();
  return Buffer.concat(pieces).subarray(start, end);
}

/** Cards beyond it are cut. */
const maxCardBytes = 256 * 1024;

/** The README of a snapshot, safe to show. Null where there is none. */
export async function cardOf(
  snapshot: RepoSnapshot,
  read: (file: RepoFile, end: number) => Promise<Buffer>,
): Promise<ReturnType<typeof readCard> | null> {
  const file = snapshot.files.find(({ path }) => path.toLowerCase() === "readme.md");
  if (file === undefined) return null;
  const bytes = await read(file, Math.min(file.size, maxCardBytes));
  const card = readCard(bytes.toString("utf8"), { page: snapshot.page });
  return { ...card, cut: file.size > maxCardBytes };
}

/** Refuses (`hostile-file-name`) a listing in which a name would leave its folder; `too-many-files` beyond a hundred thousand. */
export function checkNames(paths: readonly string[], isSafe: (path: string) => boolean, name: string): void {
  const hostile = paths.find((path) => !isSafe(path));
  if (hostile !== undefined) {
    throw new HoneError(
      "hostile-file-name",
      `${name} lists a file that would leave its folder: ${JSON.stringify(hostile.slice(0, 200))}`,
      {
        fix: "do not use this repository; nothing of it was downloaded",
      },
    );
  }
  if (new Set(paths).size !== paths.length) {
    throw new HoneError("hostile-file-name", `${name} lists a file twice`, { fix: "do not use this repository" });
  }
}

/** `a b/c` → `a%20b/c`. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
