/**
 * How Hone ends. While it works, closing the last window or quitting asks: go on in the background, stop and save, or
 * stay. Whatever way it ends, runs get their checkpoint first.
 */

import { app, BrowserWindow, dialog } from "electron";
import type { App } from "../core/app/service/app.ts";
import type { ShellTexts } from "./texts.ts";

type Answer = "go-on" | "stop" | "cancel";

export class Quit {
  readonly #hone: App;
  readonly #texts: () => ShellTexts;
  #asking = false;
  /** Windows are gone, the work goes on, and Hone ends with it. */
  #inBackground = false;
  #ending: Promise<void> | undefined;

  constructor(hone: App, texts: () => ShellTexts) {
    this.#hone = hone;
    this.#texts = texts;
    app.on("before-quit", (event) => {
      event.preventDefault();
      void this.#mayQuit();
    });
    app.on("window-all-closed", () => {
      if (process.platform !== "darwin" && !this.#inBackground) void this.#end();
    });
    hone.onJobs(() => {
      const unseen = BrowserWindow.getAllWindows().every((window) => !window.isVisible());
      if (this.#inBackground && unseen && hone.active().length === 0) void this.#end();
    });
  }

  guard(window: BrowserWindow): void {
    window.on("close", (event) => {
      const isLast = BrowserWindow.getAllWindows().length === 1;
      if (this.#ending !== undefined || !isLast || this.#hone.active().length === 0) return;
      // On a Mac an app without windows is at home in the dock.
      if (process.platform === "darwin") return;
      event.preventDefault();
      void this.#mayQuit();
    });
    window.on("show", () => {
      this.#inBackground = false;
    });
  }

  async #mayQuit(): Promise<void> {
    if (this.#asking || this.#ending !== undefined) return;
    if (this.#hone.active().length > 0) {
      this.#asking = true;
      const answer = await this.#ask();
      this.#asking = false;
      if (answer === "cancel") return;
      if (answer === "go-on") {
        this.#inBackground = true;
        for (const window of BrowserWindow.getAllWindows()) window.hide();
        return;
      }
    }
    await this.#end();
  }

  async #ask(): Promise<Answer> {
    const texts = this.#texts();
    const options = {
      type: "question" as const,
      message: texts.working,
      detail: texts.workingOn(
        this.#hone
          .active()
          .map(({ title }) => title)
          .join("\n"),
      ),
      buttons: [texts.goOn, texts.stop, texts.cancel],
      defaultId: 0,
      cancelId: 2,
      noLink: true,
    };
    const [window] = BrowserWindow.getAllWindows();
    const { response } = await (window === undefined
      ? dialog.showMessageBox(options)
      : dialog.showMessageBox(window, options));
    return (["go-on", "stop", "cancel"] as const)[response] ?? "cancel";
  }

  /** The windows go at once; the process when all is saved. */
  #end(): Promise<void> {
    this.#ending ??= (async () => {
      for (const window of BrowserWindow.getAllWindows()) window.hide();
      try {
        await this.#hone.close();
      } finally {
        app.exit(0);
      }
    })();
    return this.#ending;
  }
}
