/** The queue on disk: `downloads/queue.json` in Hone's folder. Written when a state changes, not for every byte. */

import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { HoneError } from "../../contract/errors.ts";
import { downloadSchema, repoSnapshotSchema } from "../../contract/hub.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { readJson } from "../../files/json.ts";
import { honeHome } from "../../files/hone-home.ts";
import { lockFolder } from "../../files/lock.ts";
import { downloadOrderSchema } from "./plan-download.ts";

const entrySchema = z.object({
  order: downloadOrderSchema,
  download: downloadSchema,
  /** With the files that are fetched, once the hub has answered: a start without network goes on from here. */
  snapshot: repoSnapshotSchema.nullable(),
});
export type QueueEntry = z.infer<typeof entrySchema>;

const queueSchema = z.object({ version: z.literal(1), entries: z.array(entrySchema) });

/** Of Hone's own queue, in this folder. */
export function queueFolder(): string {
  return join(honeHome(), "downloads");
}

export function queueFile(folder = queueFolder()): string {
  return join(folder, "queue.json");
}

export class QueueStore {
  readonly #path: string;
  readonly #release: () => void;

  /** Takes the folder for this process. Throws `downloads-busy`. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.#path = queueFile(folder);
    try {
      this.#release = lockFolder(folder);
    } catch (error) {
      if (!(error instanceof HoneError) || error.code !== "run-busy") throw error;
      throw new HoneError("downloads-busy", `another Hone manages the downloads: ${error.message}`, {
        cause: error,
        fix: "use the downloads of the Hone that is open, or close it; `hone get` works beside it",
      });
    }
  }

  /** A file that cannot be read is put aside: what was downloaded is safe, only the list begins anew. */
  read(): QueueEntry[] {
    if (!existsSync(this.#path)) return [];
    try {
      return readJson(this.#path, queueSchema).entries;
    } catch (error) {
      if (!(error instanceof HoneError)) throw error;
      renameSync(this.#path, `${this.#path}.damaged`);
      return [];
    }
  }

  write(entries: readonly QueueEntry[]): void {
    writeFileAtomic(this.#path, JSON.stringify({ version: 1, entries }, undefined, 1) + "\n");
  }

  close(): void {
    this.#release();
  }
}
