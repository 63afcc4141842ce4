/** The browser's way to Hone: a WebSocket that is opened again when it was lost. */

import { HoneError } from "../../core/contract/errors.ts";
import type { Channel } from "../../core/contract/rpc.ts";

const retryAfter = [250, 500, 1000, 2000, 4000];

/** `gone`: the Hone that this page belonged to has ended; another one answers at its address. */
export type Connection = "connecting" | "open" | "lost" | "gone";

/** `onOpen` gets a new channel each time the connection stands: what was subscribed has to be asked for again. */
export function connectSocket(onOpen: (channel: Channel) => void, onState: (state: Connection) => void): void {
  let failures = 0;
  const open = () => {
    onState(failures === 0 ? "connecting" : "lost");
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/api`);
    let receive: (message: unknown) => void = () => undefined;
    let close: (why: Error) => void = () => undefined;
    socket.onopen = () => {
      failures = 0;
      onState("open");
      onOpen({
        send: (message) => {
          socket.send(JSON.stringify(message));
        },
        listen: (onMessage, onClose) => {
          receive = onMessage;
          close = onClose;
        },
      });
    };
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      receive(JSON.parse(data));
    };
    socket.onclose = () => {
      close(
        new HoneError("connection-lost", "the connection to Hone was lost", { fix: "it is tried again by itself" }),
      );
      onState("lost");
      setTimeout(() => void openAgain(), retryAfter[Math.min(failures++, retryAfter.length - 1)]);
    };
  };
  const openAgain = async () => {
    if (await isRefused()) onState("gone");
    else open();
  };
  open();
}

/** Whether a server is there and does not know this page. A socket does not tell why it was not opened. */
async function isRefused(): Promise<boolean> {
  try {
    return (await fetch("/", { method: "HEAD" })).status === 403;
  } catch {
    return false;
  }
}
