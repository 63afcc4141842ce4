/** A worker's port, seen from either side, as a channel. */

import type { MessagePort, Worker } from "node:worker_threads";
import type { Channel } from "../../contract/rpc.ts";
import { HoneError } from "../../contract/errors.ts";

/** @param what names the worker in the error that its callers get when it ends. */
export function portChannel(port: MessagePort | Worker, what: string): Channel {
  return {
    send: (message) => {
      port.postMessage(message);
    },
    listen: (onMessage, onClose) => {
      let cause: Error | undefined;
      port.on("message", onMessage);
      port.on("error", (error: Error) => (cause = error));
      const ended = () => {
        onClose(
          new HoneError("worker-ended", `${what} ended${cause === undefined ? "" : `: ${cause.message}`}`, {
            ...(cause !== undefined && { cause }),
            fix: "try again; it is started anew",
          }),
        );
      };
      port.on("exit", ended);
      port.on("close", ended);
    },
  };
}
