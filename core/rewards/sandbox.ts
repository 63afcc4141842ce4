/** The near end of the sandbox thread: one sample at a time, and a new thread when one does not come back. */

import { Worker } from "node:worker_threads";
import type { SandboxOptions, SandboxReply, SandboxRequest } from "./sandbox-worker.ts";

/** Seconds beyond the limit before the thread itself is ended: some built-ins of QuickJS never look at the clock. */
const grace = 2;

export class Sandbox {
  readonly #options: SandboxOptions;
  #worker: Worker | undefined;
  /** Starting a thread takes time that is not the sample's. */
  #started: Promise<unknown> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #next = 1;

  constructor(options: SandboxOptions) {
    this.#options = options;
  }

  /** Without a sample the code is only loaded. A thread that dies or hangs is a fault of this sample, never an exception. */
  run(sample?: SandboxRequest["sample"]): Promise<SandboxReply> {
    const turn = this.#last.then(() => this.#run({ id: this.#next++, ...(sample !== undefined && { sample }) }));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  async #run(request: SandboxRequest): Promise<SandboxReply> {
    const worker = (this.#worker ??= this.#start());
    await this.#started;
    worker.ref();
    let timer: NodeJS.Timeout | undefined;
    try {
      const reply = await new Promise<SandboxReply>((resolve) => {
        const fault = (kind: "late" | "broken", message: string) => {
          this.#worker = undefined;
          void worker.terminate();
          resolve({ id: request.id, log: [], fault: { kind, message } });
        };
        timer = setTimeout(() => fault("late", "interrupted"), (this.#options.seconds + grace) * 1000);
        worker.once("message", resolve);
        worker.once("error", (error: Error) => fault("broken", `the sandbox broke down: ${error.message}`));
        worker.once("exit", () => fault("broken", "the sandbox ended"));
        worker.postMessage(request);
      });
      // Memory that WebAssembly has taken is given back only with the thread.
      if (reply.fault?.kind === "memory") await this.close();
      return reply;
    } finally {
      clearTimeout(timer);
      for (const event of ["message", "error", "exit"]) worker.removeAllListeners(event);
      worker.unref();
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL("./sandbox-worker.ts", import.meta.url), {
      workerData: this.#options,
      env: {},
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    this.#started = new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    return worker;
  }
}
