/**
 * Calls, their cancellation and news over any channel that carries messages: the desktop's IPC, the browser's socket,
 * the port of a worker. Both ends may call. Everything that crosses is JSON.
 *
 * Messages: `call` {id, name, input} is answered by `result` {id, value} or `error` {id, error}; `cancel` {id} aborts it.
 * `subscribe` {id, topic, key} is followed by any number of `news` {id, news} until `unsubscribe` {id}. `tell` {topic,
 * key, news} is news that nobody asked for: from a worker to the thread that knows who listens.
 */

import { isRecord } from "./is-record.ts";
import { CancelledError, errorFromData, errorToData, HoneError, type ErrorData } from "./errors.ts";

export interface Channel {
  send(message: unknown): void;
  /** Set once. `onClose` is called when nothing more can come. */
  listen(onMessage: (message: unknown) => void, onClose: (why: Error) => void): void;
}

/** What one end does for the other. */
export interface Served {
  call(name: string, input: unknown, signal: AbortSignal): Promise<unknown>;
  subscribe?(topic: string, key: string | undefined, listener: (news: unknown) => void): () => void;
  tell?(topic: string, news: unknown, key: string | undefined): void;
}

type Message =
  | { kind: "call"; id: number; name: string; input: unknown }
  | { kind: "cancel"; id: number }
  | { kind: "result"; id: number; value: unknown }
  | { kind: "error"; id: number; error: ErrorData }
  | { kind: "subscribe"; id: number; topic: string; key?: string }
  | { kind: "unsubscribe"; id: number }
  | { kind: "news"; id: number; news: unknown }
  | { kind: "tell"; topic: string; key?: string; news: unknown };

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class Rpc {
  #nextId = 1;
  #closed: Error | undefined;
  readonly #channel: Channel;
  readonly #served: Served;
  readonly #waiting = new Map<number, Waiting>();
  readonly #working = new Map<number, AbortController>();
  readonly #listeners = new Map<number, (news: unknown) => void>();
  readonly #subscribed = new Map<number, () => void>();

  constructor(channel: Channel, served: Served) {
    this.#channel = channel;
    this.#served = served;
    channel.listen(
      (message) => {
        // A page of another version, or one that was tampered with: what is no message is not heard.
        if (isMessage(message)) this.#receive(message);
      },
      (why) => this.#end(why),
    );
  }

  call(name: string, input: unknown, signal?: AbortSignal): Promise<unknown> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (signal?.aborted === true) return Promise.reject(new CancelledError());
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // The other end answers a cancelled call too: the promise settles when the work has really ended.
      const cancel = () => this.#send({ kind: "cancel", id });
      const done = () => {
        this.#waiting.delete(id);
        signal?.removeEventListener("abort", cancel);
      };
      this.#waiting.set(id, {
        resolve: (value) => (done(), resolve(value)),
        reject: (error) => (done(), reject(error)),
      });
      signal?.addEventListener("abort", cancel);
      this.#send({ kind: "call", id, name, input });
    });
  }

  subscribe(topic: string, key: string | undefined, listener: (news: unknown) => void): () => void {
    const id = this.#nextId++;
    this.#listeners.set(id, listener);
    this.#send({ kind: "subscribe", id, topic, ...(key !== undefined && { key }) });
    return () => {
      if (this.#listeners.delete(id)) this.#send({ kind: "unsubscribe", id });
    };
  }

  tell(topic: string, news: unknown, key?: string): void {
    this.#send({ kind: "tell", topic, news, ...(key !== undefined && { key }) });
  }

  #send(message: Message): void {
    if (this.#closed === undefined) this.#channel.send(message);
  }

  #receive(message: Message): void {
    switch (message.kind) {
      case "call":
        void this.#serve(message.id, message.name, message.input);
        return;
      case "cancel":
        this.#working.get(message.id)?.abort();
        return;
      case "result":
        this.#waiting.get(message.id)?.resolve(message.value);
        return;
      case "error":
        this.#waiting.get(message.id)?.reject(errorFromData(message.error));
        return;
      case "subscribe": {
        const { id, topic, key } = message;
        this.#subscribed.get(id)?.();
        const end = this.#served.subscribe?.(topic, key, (news) => this.#send({ kind: "news", id, news }));
        if (end !== undefined) this.#subscribed.set(id, end);
        return;
      }
      case "unsubscribe":
        this.#subscribed.get(message.id)?.();
        this.#subscribed.delete(message.id);
        return;
      case "news":
        this.#listeners.get(message.id)?.(message.news);
        return;
      case "tell":
        this.#served.tell?.(message.topic, message.news, message.key);
    }
  }

  async #serve(id: number, name: string, input: unknown): Promise<void> {
    const controller = new AbortController();
    this.#working.set(id, controller);
    try {
      const value = await this.#served.call(name, input, controller.signal);
      this.#send({ kind: "result", id, value });
    } catch (error) {
      this.#send({ kind: "error", id, error: errorToData(error, name) });
    } finally {
      this.#working.delete(id);
    }
  }

  #end(why: Error): void {
    if (this.#closed !== undefined) return;
    this.#closed = why;
    for (const controller of this.#working.values()) controller.abort();
    for (const end of this.#subscribed.values()) end();
    this.#subscribed.clear();
    for (const waiting of [...this.#waiting.values()]) waiting.reject(why);
  }
}

function isMessage(message: unknown): message is Message {
  if (!isRecord(message)) return false;
  const { kind, id, name, topic, key } = message;
  switch (kind) {
    case "tell":
      return typeof topic === "string" && (key === undefined || typeof key === "string");
    case "subscribe":
      return Number.isInteger(id) && typeof topic === "string" && (key === undefined || typeof key === "string");
    case "call":
      return Number.isInteger(id) && typeof name === "string";
    case "error":
      return Number.isInteger(id) && isRecord(message["error"]);
    default:
      return ["cancel", "result", "unsubscribe", "news"].includes(kind as string) && Number.isInteger(id);
  }
}

/** A call that the other end does not know. */
export function unknownCall(name: string): HoneError {
  return new HoneError("unknown-call", `there is no call ${JSON.stringify(name)}`, {
    fix: "this window and Hone are of different versions: close both and start Hone again",
  });
}
