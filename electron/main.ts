/** The desktop app's main process: it owns Hone (`core/app`), and the windows are only looks at it. */

import { join } from "node:path";
import { app, dialog } from "electron";
import { createApp } from "../core/app/service/app.ts";
import { readSettings } from "../core/app/service/settings.ts";
import type { Settings } from "../core/contract/api/app-calls.ts";
import { errorMessage, HoneError } from "../core/contract/errors.ts";
import type { Served } from "../core/contract/rpc.ts";
import { honeHome } from "../core/files/hone-home.ts";
import { builtRenderer, requireRenderer } from "../core/host/page-files.ts";
import { followJobs } from "./follow-jobs.ts";
import { guardPages } from "./guard.ts";
import { serveWindows } from "./ipc.ts";
import { setMenu } from "./menu.ts";
import { isPage, registerPageScheme, servePage } from "./page.ts";
import { Quit } from "./quit.ts";
import { safeSecrets } from "./safe-secrets.ts";
import { shellTexts } from "./texts.ts";
import { isShellCall, serveShellCall } from "./window-shell.ts";
import { openWindow, showWindow } from "./window.ts";

// One Hone for each Hone folder: a second start shows the window of the first.
app.setPath("userData", join(honeHome(), "desktop"));
registerPageScheme();
if (app.requestSingleInstanceLock()) {
  void app.whenReady().then(() => {
    try {
      start();
    } catch (error) {
      const fix = error instanceof HoneError && error.fix !== undefined ? `\n\n${error.fix}` : "";
      dialog.showErrorBox("Hone", `${errorMessage(error)}${fix}`);
      app.exit(1);
    }
  });
} else {
  app.exit(0);
}

function start(): void {
  requireRenderer(builtRenderer);
  guardPages();
  servePage(builtRenderer);
  const hone = createApp("electron", safeSecrets());
  const served = (contents: Electron.WebContents): Served => ({
    call: (name, input, signal) =>
      isShellCall(name) ? serveShellCall(name, input, contents) : hone.call(name, input, signal),
    subscribe: (topic, key, listener) => hone.subscribe(topic, key, listener),
  });
  serveWindows(served, isPage);
  const texts = () => shellTexts(readSettings().language, app.getLocale());
  const quit = new Quit(hone, texts);
  followJobs(hone, texts, () => void showWindow());
  app.on("browser-window-created", (_event, window) => {
    quit.guard(window);
  });
  app.on("second-instance", () => void showWindow());
  app.on("activate", () => void showWindow());
  let language: Settings["language"] | undefined;
  hone.subscribe("settings", undefined, (settings) => {
    const chosen = (settings as Settings).language;
    if (chosen !== language) setMenu(shellTexts(chosen, app.getLocale()));
    language = chosen;
  });
  openWindow();
}
