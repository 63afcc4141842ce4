/** A window on Hone. */

import { join } from "node:path";
import { BrowserWindow } from "electron";
import { pageUrl } from "./page.ts";
import { keepState, minimumSize, savedBounds } from "./window-state.ts";

/** Crashes within this many milliseconds of each other are no accident: the window is left as it is after a few. */
const crashSpan = 60_000;
const crashLimit = 3;

/** @param path what follows the `#` of the address. */
export function openWindow(path = "/"): BrowserWindow {
  const isFirst = BrowserWindow.getAllWindows().length === 0;
  const window = new BrowserWindow({
    ...(isFirst ? savedBounds() : { width: 1280, height: 820 }),
    ...minimumSize,
    show: false,
    title: "Hone",
    webPreferences: {
      preload: join(import.meta.dirname, "preload.cjs"),
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webviewTag: false,
      spellcheck: false,
      // Charts of a run go on while the window is covered.
      backgroundThrottling: true,
    },
  });
  if (isFirst) keepState(window);
  window.once("ready-to-show", () => {
    window.show();
  });
  reopenAfterCrash(window);
  void window.loadURL(`${pageUrl}#${path}`);
  return window;
}

/** The page is loaded again, where it was; the main process with its work is another process and has not noticed. */
function reopenAfterCrash(window: BrowserWindow): void {
  let crashes: number[] = [];
  window.webContents.on("render-process-gone", (_event, { reason }) => {
    if (reason === "clean-exit" || window.isDestroyed()) return;
    const now = Date.now();
    crashes = [...crashes.filter((time) => now - time < crashSpan), now];
    if (crashes.length < crashLimit) window.webContents.reload();
  });
}

/** The window that a person means: brought to the front, or made when there is none. */
export function showWindow(): BrowserWindow {
  const [window = openWindow()] = BrowserWindow.getAllWindows();
  if (window.isMinimized()) window.restore();
  window.show();
  window.focus();
  return window;
}
