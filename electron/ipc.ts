/**
 * The contract over one IPC channel. Each page that a window loads has a line of its own: after a reload the old page's
 * calls are cancelled and its subscriptions end. Only the main frame of Hone's own page is heard.
 */

import { ipcMain, type IpcMainEvent, type WebContents } from "electron";
import { HoneError } from "../core/contract/errors.ts";
import { isRecord } from "../core/contract/is-record.ts";
import { Rpc, type Served } from "../core/contract/rpc.ts";

/** The preload script uses the same word; it cannot import it. */
const channelName = "hone";

interface Line {
  page: string;
  receive: (message: unknown) => void;
  close: () => void;
}

/** @param isOurs tells Hone's page by its address. */
export function serveWindows(serve: (contents: WebContents) => Served, isOurs: (url: string) => boolean): void {
  const lines = new WeakMap<WebContents, Line>();
  ipcMain.on(channelName, (event: IpcMainEvent, told: unknown) => {
    const { sender, senderFrame } = event;
    const fromPage = senderFrame !== null && senderFrame.parent === null && isOurs(senderFrame.url);
    if (!fromPage || !isRecord(told) || typeof told["page"] !== "string") return;
    let line = lines.get(sender);
    if (line?.page !== told["page"]) {
      if (line === undefined) endWithWindow(sender, lines);
      line?.close();
      line = openLine(sender, told["page"], serve(sender));
      lines.set(sender, line);
    }
    line.receive(told["message"]);
  });
}

function endWithWindow(contents: WebContents, lines: WeakMap<WebContents, Line>): void {
  const end = () => {
    lines.get(contents)?.close();
  };
  contents.on("render-process-gone", end);
  contents.on("destroyed", end);
}

function openLine(contents: WebContents, page: string, served: Served): Line {
  const line: Line = { page, receive: () => undefined, close: () => undefined };
  let open = true;
  const channel = {
    send: (message: unknown) => {
      if (open && !contents.isDestroyed() && !contents.isCrashed()) contents.send(channelName, { page, message });
    },
    listen: (onMessage: (message: unknown) => void, onClose: (why: Error) => void) => {
      line.receive = onMessage;
      line.close = () => {
        open = false;
        onClose(new HoneError("window-closed", "the window was closed"));
      };
    },
  };
  new Rpc(channel, served);
  return line;
}
