/** What no page may do, whatever it holds: leave Hone's address, open windows, use the machine's devices. */

import { app, session, shell } from "electron";
import { isPage } from "./page.ts";

export function guardPages(): void {
  // The page writes to the clipboard (copy buttons) and asks for nothing else.
  const allowed = new Set(["clipboard-sanitized-write"]);
  session.defaultSession.setPermissionRequestHandler((_contents, permission, answer) => {
    answer(allowed.has(permission));
  });
  session.defaultSession.setPermissionCheckHandler((_contents, permission) => allowed.has(permission));
  app.on("web-contents-created", (_event, contents) => {
    contents.on("will-navigate", (event) => {
      if (!isPage(event.url)) event.preventDefault();
    });
    contents.on("will-redirect", (event) => {
      if (!isPage(event.url)) event.preventDefault();
    });
    contents.on("will-attach-webview", (event) => {
      event.preventDefault();
    });
    contents.setWindowOpenHandler(({ url }) => {
      if (/^https?:\/\//.test(url)) void shell.openExternal(url);
      return { action: "deny" };
    });
  });
}
