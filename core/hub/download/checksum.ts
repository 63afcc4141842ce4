/**
 * The hash of a file, made while the file is still coming: it follows the part that is there from the beginning without
 * a gap. Large files are hashed on a thread of their own, which every checksum shares.
 */

import { createHash, type Hash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { HoneError } from "../../contract/errors.ts";
import type { RepoFile } from "../../contract/hub.ts";

/** `sha256`: the hub's SHA-256; `git`: SHA-1 of a git blob; `size`: there is nothing else to compare. */
export type CheckKind = "sha256" | "git" | "size";

export function checkKind(file: RepoFile): CheckKind {
  if (file.sha256 !== null) return "sha256";
  return file.etag === null ? "size" : "git";
}

export interface HashOrder {
  path: string;
  size: number;
  kind: "sha256" | "git";
}

/** Reads a file and hashes as far as it is told. */
export class FollowingHash {
  readonly #order: HashOrder;
  readonly #hash: Hash;
  readonly #buffer: Buffer;
  #at = 0;

  constructor(order: HashOrder) {
    this.#order = order;
    this.#hash = createHash(order.kind === "sha256" ? "sha256" : "sha1");
    if (order.kind === "git") this.#hash.update(`blob ${order.size}\0`);
    this.#buffer = Buffer.allocUnsafe(Math.min(order.size, 1024 ** 2));
  }

  /** Hashes up to byte `end`. Throws when the file is shorter. */
  advance(end: number): void {
    if (end <= this.#at) return;
    const handle = openSync(this.#order.path, "r");
    try {
      while (this.#at < end) {
        const read = readSync(handle, this.#buffer, 0, Math.min(this.#buffer.length, end - this.#at), this.#at);
        if (read === 0) throw new Error(`${this.#order.path} ends at byte ${this.#at}`);
        this.#hash.update(this.#buffer.subarray(0, read));
        this.#at += read;
      }
    } finally {
      closeSync(handle);
    }
  }

  digest(): string {
    return this.#hash.digest("hex");
  }
}

/** To the thread: begin, go on to a byte (at the file's end the digest comes back), forget. */
export type HashMessage = { id: number; order: HashOrder } | { id: number; end: number } | { id: number; forget: true };
export type HashReply = { id: number; digest: string } | { id: number; error: string };

/** Smaller files are hashed at once, where they are. */
const threadBytes = 8 * 1024 ** 2;

export interface Checksum {
  /** So many bytes from the beginning are there. */
  advance(end: number): void;
  /** Hex digest of the whole file. */
  digest(): Promise<string>;
  /** The file will not be finished, or not like this. */
  forget(): void;
}

export class Checksums {
  #worker: Worker | undefined;
  #next = 1;
  readonly #waiting = new Map<number, PromiseWithResolvers<string>>();

  start(order: HashOrder): Checksum {
    if (order.size < threadBytes) {
      return {
        advance: () => undefined,
        digest: async () => {
          const hash = new FollowingHash(order);
          hash.advance(order.size);
          return Promise.resolve(hash.digest());
        },
        forget: () => undefined,
      };
    }
    const id = this.#next++;
    const result = Promise.withResolvers<string>();
    // Nobody may be waiting yet when it fails.
    result.promise.catch(() => undefined);
    this.#waiting.set(id, result);
    this.#send({ id, order });
    return {
      advance: (end) => this.#send({ id, end }),
      digest: () => {
        this.#send({ id, end: order.size });
        return result.promise;
      },
      forget: () => {
        if (this.#waiting.delete(id)) this.#send({ id, forget: true });
      },
    };
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #send(message: HashMessage): void {
    this.#worker ??= this.#open();
    this.#worker.postMessage(message);
  }

  #open(): Worker {
    const worker = new Worker(new URL("./hash-worker.ts", import.meta.url), { name: "checksums" });
    const failAll = (error: unknown) => {
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    };
    worker.on("message", (reply: HashReply) => {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ("digest" in reply) waiting?.resolve(reply.digest);
      else waiting?.reject(new HoneError("file-error", reply.error));
    });
    worker.on("error", failAll);
    worker.on("exit", () => failAll(new Error("the checksum thread ended")));
    return worker;
  }
}
