/**
 * Models that are open for play and chat: each is opened once for all windows, kept a while in case it is asked again, and
 * closed when the memory is needed or nobody has asked for some minutes.
 */

import { readdirSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import { EnginePolicy } from "../../evaluate/policy.ts";
import type { TextChat } from "../../evaluate/text-chat.ts";
import { findModel, openModel, type ModelFiles } from "../../train/model-ref.ts";
import type { CallContext } from "../service/handlers.ts";
import { Session, type OpenPolicy } from "../session.ts";

/** What the models may take of the machine at this moment. */
export interface Limits {
  threads: number;
  /** Bytes of weights that may be open at a time; one model may always try. */
  memory: number;
}

export interface OpenModelsOptions {
  /** Milliseconds without use after which a model is closed. Default 5 minutes. */
  idle?: number;
  /** Most models open at a time: each has threads of its own. Default 6. */
  most?: number;
}

interface Entry {
  readonly files: ModelFiles;
  readonly bytes: number;
  readonly opened: Promise<OpenPolicy>;
  users: number;
  lastUse: number;
  timer: NodeJS.Timeout | undefined;
}

export class OpenModels {
  readonly #idle: number;
  readonly #most: number;
  readonly #entries = new Map<string, Entry>();
  readonly #chats = new Map<string, Promise<TextChat>>();
  #session: Promise<Session> | undefined;
  /** Models are opened one after the other, so that each knows what memory the others took. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ idle = 5 * 60_000, most = 6 }: OpenModelsOptions = {}) {
    this.#idle = idle;
    this.#most = most;
  }

  /** References of the models that are open now, the least recently used first. */
  list(): string[] {
    return [...this.#entries.values()].sort((a, b) => a.lastUse - b.lastUse).map(({ files }) => files.name);
  }

  /**
   * Runs `work` with the model, which stays open until it has ended. Throws what `findModel` throws when the model is no
   * longer there, even if it is still open.
   */
  async use<T>(
    reference: string,
    limits: Limits,
    work: (model: OpenPolicy) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const files = await findModel(reference);
    const entry = await this.#take(files, limits);
    try {
      const opened = await entry.opened;
      signal?.throwIfAborted();
      return await work({ ...opened, files });
    } finally {
      this.#release(entry);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => this.#drop(entry)));
  }

  async #take(files: ModelFiles, limits: Limits): Promise<Entry> {
    const { key, bytes } = identify(files);
    const whole = `${key} ${limits.threads}`;
    const inTurn = this.#turn.then(async () => {
      const known = this.#entries.get(whole);
      if (known !== undefined) {
        known.users++;
        clearTimeout(known.timer);
        return known;
      }
      await this.#makeRoom(bytes, limits.memory);
      const entry: Entry = {
        files,
        bytes,
        opened: this.#open(files, limits),
        users: 1,
        lastUse: performance.now(),
        timer: undefined,
      };
      this.#entries.set(whole, entry);
      await entry.opened.catch(() => this.#entries.delete(whole));
      return entry;
    });
    this.#turn = inTurn.catch(() => undefined);
    return inTurn;
  }

  #release(entry: Entry): void {
    entry.users--;
    entry.lastUse = performance.now();
    if (entry.users > 0) return;
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => void this.#drop(entry), this.#idle).unref();
  }

  async #open(files: ModelFiles, limits: Limits): Promise<OpenPolicy> {
    this.#session ??= Session.open();
    const session = await this.#session;
    const chat = await this.#chat(session, files);
    const open = () => openModel(session.engine, files, { threads: limits.threads });
    const model = await open().catch(async (error: unknown) => {
      if (!(error instanceof HoneError) || error.code !== "out-of-memory") throw error;
      // What is only kept in case it is asked again gives way.
      if (!(await this.#makeRoom(Infinity, 0))) throw error;
      return open();
    });
    return { files, model, chat, policy: new EnginePolicy(model, chat), close: () => model.close() };
  }

  /** The checkpoints of a run share one tokenizer, which for a large vocabulary takes longer to open than the weights. */
  #chat(session: Session, files: ModelFiles): Promise<TextChat> {
    const key = `${files.text} ${stamp(files.text)}`;
    let chat = this.#chats.get(key);
    if (chat === undefined) {
      chat = session.openChat(files);
      chat.catch(() => this.#chats.delete(key));
      this.#chats.set(key, chat);
      const [oldest] = this.#chats.keys();
      if (this.#chats.size > this.#most) this.#chats.delete(oldest);
    }
    return chat;
  }

  /** Closes unused models, the longest unused first, until `bytes` more fit. Tells whether any was closed. */
  async #makeRoom(bytes: number, memory: number): Promise<boolean> {
    const unused = [...this.#entries.values()].filter(({ users }) => users === 0).sort((a, b) => a.lastUse - b.lastUse);
    let closed = false;
    for (const entry of unused) {
      const used = [...this.#entries.values()].reduce((sum, one) => sum + one.bytes, 0);
      if (used + bytes <= memory && this.#entries.size < this.#most) break;
      await this.#drop(entry);
      closed = true;
    }
    return closed;
  }

  async #drop(entry: Entry): Promise<void> {
    clearTimeout(entry.timer);
    for (const [key, one] of this.#entries) if (one === entry) this.#entries.delete(key);
    const opened = await entry.opened.catch(() => undefined);
    await opened?.close();
  }
}

/** Changes with the files of the model. Throws what `findModel` throws. */
export async function modelKey(reference: string): Promise<string> {
  return identify(await findModel(reference)).key;
}

/** Which files these are, as they are now, and the bytes of their weights. */
function identify({ weights, adapter, text }: ModelFiles): { key: string; bytes: number } {
  const paths = [weights, ...(adapter === undefined ? [] : [adapter])];
  return {
    key: [...paths, text].map((path) => `${path} ${stamp(path)}`).join("\n"),
    bytes: paths.flatMap(weightFiles).reduce((sum, { size }) => sum + size, 0),
  };
}

function stamp(path: string): string {
  const files = weightFiles(path);
  return files.length === 0
    ? String(statSync(path).mtimeMs)
    : files.map(({ size, mtimeMs }) => `${size} ${mtimeMs}`).join(" ");
}

function weightFiles(path: string) {
  const found = statSync(path);
  if (found.isFile()) return [found];
  return readdirSync(path)
    .filter((name) => name.endsWith(".safetensors") && name !== "optimizer.safetensors")
    .map((name) => statSync(join(path, name)));
}

/** The models of this thread, for every window. */
const models = new OpenModels();

/**
 * Runs `work` with a model that is opened as the settings allow. While a run is trained the models have half of the
 * threads and a quarter of the free memory: neither starves the other.
 */
export async function useModel<T>(
  context: CallContext,
  reference: string,
  work: (model: OpenPolicy) => Promise<T>,
): Promise<T> {
  return models.use(reference, await presentLimits(context), work, context.signal);
}

async function presentLimits(context: CallContext): Promise<Limits> {
  const [settings, jobs] = await Promise.all([context.call("settings.get", {}), context.call("jobs.list", {})]);
  const isBusy = jobs.some(({ kind, ended }) => ended === null && (kind === "train" || kind === "evaluate"));
  const threads = settings.threads ?? availableParallelism();
  const free = settings.memory_limit ?? process.availableMemory();
  return {
    threads: isBusy ? Math.max(1, Math.floor(threads / 2)) : threads,
    memory: free * (isBusy ? 0.25 : 0.5),
  };
}
