/** What the system does with Hone's work: it stays awake while there is some, and says when it has ended unseen. */

import { BrowserWindow, Notification, powerSaveBlocker } from "electron";
import type { App } from "../core/app/service/app.ts";
import type { ShellTexts } from "./texts.ts";

export function followJobs(hone: App, texts: () => ShellTexts, show: () => void): void {
  let blocker: number | undefined;
  let before = new Set<string>();
  hone.onJobs((jobs) => {
    const active = jobs.filter(({ ended }) => ended === null);
    if (active.length > 0) blocker ??= powerSaveBlocker.start("prevent-app-suspension");
    else if (blocker !== undefined) {
      powerSaveBlocker.stop(blocker);
      blocker = undefined;
    }
    const seen = BrowserWindow.getAllWindows().some((window) => window.isVisible() && window.isFocused());
    if (!seen && Notification.isSupported()) {
      for (const { id, title, state } of jobs) {
        if (!before.has(id) || !(state === "done" || state === "stopped" || state === "failed")) continue;
        const notification = new Notification({ title: texts().ended[state], body: title });
        notification.on("click", show);
        notification.show();
      }
    }
    before = new Set(active.map(({ id }) => id));
  });
}
