/** A worker thread of the app, with calls and news through its port. It is started by its first call, and again after it ended. */

import { Worker } from "node:worker_threads";
import { Rpc, type Served } from "../../contract/rpc.ts";
import { portChannel } from "./port-channel.ts";

export class AppThread {
  #worker: Worker | undefined;
  #rpc: Rpc | undefined;
  readonly #what: string;
  readonly #served: Served;

  constructor(what: string, served: Served) {
    this.#what = what;
    this.#served = served;
  }

  call(name: string, input: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.#open().call(name, input, signal);
  }

  #open(): Rpc {
    if (this.#rpc !== undefined) return this.#rpc;
    const worker = new Worker(new URL("./app-worker.ts", import.meta.url), { name: this.#what });
    worker.on("exit", () => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#rpc = undefined;
    });
    this.#worker = worker;
    this.#rpc = new Rpc(portChannel(worker, this.#what), this.#served);
    return this.#rpc;
  }

  /** Lets it put its things away, where it was started at all. It is to be ended afterwards. */
  async leave(): Promise<void> {
    await this.#rpc?.call("internal.leave", null);
  }

  /** Ends it at once, in the middle of whatever it does. */
  async end(): Promise<void> {
    await this.#worker?.terminate();
  }
}
