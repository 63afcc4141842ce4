/** `BrowserWindow`, `ipcMain` and `protocol` over pages of Chromium. */

import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { fromReal, preloadScript, toReal, windows } from "./chromium.ts";

export const ipcMain = new EventEmitter();

export const protocol = {
  registerSchemesAsPrivileged: () => undefined,
  handle(_scheme: string, serve: (request: Request) => Promise<Response>): void {
    windows.serve = serve;
  },
};

interface Options {
  width?: number;
  height?: number;
  x?: number;
  y?: number;
  webPreferences: { preload: string };
}

class WebContents extends EventEmitter {
  page: Page | undefined;
  #crashed = false;
  #url = "";
  openHandler: (details: { url: string }) => { action: string } = () => ({ action: "allow" });
  /** Set while the main process itself loads: that is no navigation of the page's own. */
  loading = false;
  readonly #preload: string;
  readonly #window: BrowserWindow;

  constructor(window: BrowserWindow, preload: string) {
    super();
    this.#window = window;
    this.#preload = preloadScript(readFileSync(preload, "utf8"));
  }

  async load(url: string): Promise<void> {
    this.#url = url;
    const page = await windows.context.newPage();
    this.page = page;
    this.#crashed = false;
    await page.addInitScript({ content: this.#preload });
    page.on("crash", () => {
      this.#crashed = true;
      this.emit("render-process-gone", {}, { reason: "crashed", exitCode: 1 });
    });
    this.loading = true;
    await page.goto(toReal(url));
    this.loading = false;
    this.#window.emit("ready-to-show");
  }

  /** A page of playwright does not come back from a crash: another one takes its place. */
  reload(): void {
    const old = this.page;
    void this.load(fromReal(this.#crashed ? this.#url : (old?.url() ?? this.#url))).then(() => old?.close());
  }

  send(channel: string, message: unknown): void {
    const text = JSON.stringify(message);
    void this.page
      ?.evaluate(
        ([name, told]) => {
          const page = globalThis as unknown as { __fromMain?: (name: string, message: unknown) => void };
          page.__fromMain?.(name, JSON.parse(told));
        },
        [channel, text] as const,
      )
      .catch(() => undefined);
  }

  forcefullyCrashRenderer(): void {
    void this.page?.goto("chrome://crash").catch(() => undefined);
  }

  executeJavaScript(code: string): Promise<unknown> {
    return this.page?.evaluate(code) ?? Promise.resolve();
  }

  setWindowOpenHandler(handler: (details: { url: string }) => { action: string }): void {
    this.openHandler = handler;
  }

  isCrashed(): boolean {
    return this.#crashed;
  }

  isDestroyed(): boolean {
    return this.#window.isDestroyed();
  }
}

export class BrowserWindow extends EventEmitter {
  static readonly events = new EventEmitter();
  static readonly #all: BrowserWindow[] = [];
  readonly webContents: WebContents;
  #visible = false;
  #destroyed = false;
  readonly #bounds: { x: number; y: number; width: number; height: number };

  static getAllWindows(): BrowserWindow[] {
    return [...BrowserWindow.#all];
  }

  static fromWebContents(contents: WebContents): BrowserWindow | null {
    return BrowserWindow.#all.find((window) => window.webContents === contents) ?? null;
  }

  static getFocusedWindow(): BrowserWindow | null {
    return BrowserWindow.#all.find((window) => window.isVisible()) ?? null;
  }

  static ofPage(page: Page): BrowserWindow | undefined {
    return BrowserWindow.#all.find((window) => window.webContents.page === page);
  }

  constructor({ x = 0, y = 0, width = 800, height = 600, webPreferences }: Options) {
    super();
    this.#bounds = { x, y, width, height };
    this.webContents = new WebContents(this, webPreferences.preload);
    BrowserWindow.#all.push(this);
    BrowserWindow.events.emit("created", this);
  }

  loadURL(url: string): Promise<void> {
    return this.webContents.load(url);
  }

  show(): void {
    this.#visible = true;
    this.emit("show");
  }

  hide(): void {
    this.#visible = false;
    this.emit("hide");
  }

  close(): void {
    let prevented = false;
    this.emit("close", { preventDefault: () => (prevented = true) });
    if (prevented) return;
    this.#destroyed = true;
    BrowserWindow.#all.splice(BrowserWindow.#all.indexOf(this), 1);
    void this.webContents.page?.close();
    this.webContents.emit("destroyed");
    this.emit("closed");
    if (BrowserWindow.#all.length === 0) BrowserWindow.events.emit("all-closed");
  }

  isVisible = () => this.#visible;
  isFocused = () => this.#visible;
  isDestroyed = () => this.#destroyed;
  isMinimized = () => false;
  isMaximized = () => false;
  maximize = () => undefined;
  restore = () => undefined;
  focus = () => undefined;
  getNormalBounds = () => this.#bounds;
}

windows.receive = (page, frame, channel, message) => {
  const window = BrowserWindow.ofPage(page);
  if (window === undefined) return;
  if (channel === "open window") {
    window.webContents.openHandler({ url: message as string });
    return;
  }
  const senderFrame = { url: fromReal(frame.url()), parent: frame.parentFrame() };
  ipcMain.emit(channel, { sender: window.webContents, senderFrame }, message);
};

windows.mayGo = (page, url) => {
  const contents = BrowserWindow.ofPage(page)?.webContents;
  if (contents === undefined || contents.loading) return true;
  let prevented = false;
  contents.emit("will-navigate", { url, preventDefault: () => (prevented = true) });
  return !prevented;
};
