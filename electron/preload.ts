/**
 * What a window gets besides the page itself: a line to the main process, and the path of a dropped file. It runs in the
 * sandbox, so it is built as one CommonJS file and imports nothing of Hone.
 */

import { contextBridge, ipcRenderer, webUtils } from "electron";
import type { DesktopBridge } from "../core/contract/api/desktop-bridge.ts";

const channelName = "hone";
/** Tells this page from the one that was here before a reload. */
const page = crypto.randomUUID();

const bridge: DesktopBridge = {
  channel: {
    send: (message) => {
      ipcRenderer.send(channelName, { page, message });
    },
    listen: (onMessage) => {
      ipcRenderer.on(channelName, (_event, told: { page: string; message: unknown }) => {
        if (told.page === page) onMessage(told.message);
      });
    },
  },
  pathOf: (file) => webUtils.getPathForFile(file),
};

contextBridge.exposeInMainWorld("hone", bridge);
