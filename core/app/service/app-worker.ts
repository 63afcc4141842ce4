/** A thread of the app: it serves the areas of its place, or does one job. Started by `app-thread.ts` only. */

import { parentPort } from "node:worker_threads";
import type { JobOrder, CallContext } from "./handlers.ts";
import { HoneError } from "../../contract/errors.ts";
import { Rpc } from "../../contract/rpc.ts";
import { areaHandlers, type LoadedArea } from "./area-handlers.ts";
import { portChannel } from "./port-channel.ts";
import { areaOf, serveCall } from "./serve-call.ts";
import { doWork } from "./work.ts";

if (parentPort === null) throw new HoneError("no-parent", "app-worker.ts is a thread of the app, not a program");

const rpc: Rpc = new Rpc(portChannel(parentPort, "the app"), {
  call: async (name, input, signal) => {
    const context: CallContext = {
      signal,
      call: (other, given) => rpc.call(other, given) as never,
      tell: (topic, news, key) => {
        rpc.tell(topic, news, key);
      },
      secret: (secret) => rpc.call("internal.secret", secret) as Promise<string | null>,
      startJob: (order: JobOrder) => rpc.call("internal.startJob", order) as Promise<string>,
    };
    if (name === "internal.work") return doWork(input as { id: string; work: string; input: unknown }, context);
    if (name === "internal.leave") return (await import("../hub/downloads.ts")).closeDownloads();
    return serveCall(await areaHandlers[areaOf(name) as LoadedArea](), name, input, context);
  },
});
