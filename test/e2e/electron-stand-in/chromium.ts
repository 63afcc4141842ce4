/** The Chromium behind the stand-in's windows: one profile, and Hone's own scheme led over an https address. */

import {
  chromium,
  type BrowserContext,
  type Frame,
  type Page,
  type Request as PageRequest,
  type Route,
} from "playwright-core";
import { browserOptions } from "../browser.ts";

/** Chromium knows no `hone://`: the pages are at this address, which leads nowhere outside of here. */
const mask = "https://hone-app.invalid";

export const toReal = (url: string) => url.replace(/^hone:\/\/app/, mask);
export const fromReal = (url: string) => url.replace(mask, "hone://app");

export interface Windows {
  context: BrowserContext;
  /** Serves `hone://`. */
  serve: (request: Request) => Promise<Response>;
  /** A message from a page; `frame` sent it. */
  receive: (page: Page, frame: Frame, channel: string, message: unknown) => void;
  /** Whether a page may go there. */
  mayGo: (page: Page, url: string) => boolean;
}

export const windows: Windows = {
  context: undefined as unknown as BrowserContext,
  serve: () => Promise.resolve(new Response("", { status: 404 })),
  receive: () => undefined,
  mayGo: () => true,
};

export async function launchWindows(port: number): Promise<void> {
  const options = await browserOptions();
  const args = [...options.args, `--remote-debugging-port=${port}`];
  windows.context = await chromium.launchPersistentContext("", { ...options, args, viewport: null });
  await windows.context.exposeBinding("__toMain", ({ page, frame }, channel: string, text: string) => {
    windows.receive(page, frame, channel, JSON.parse(text));
  });
  await windows.context.route("**/*", handle);
}

async function handle(route: Route): Promise<void> {
  const request = route.request();
  const url = fromReal(request.url());
  const page = request.isNavigationRequest() ? pageOf(request) : undefined;
  if (page !== undefined && !windows.mayGo(page, url)) return route.abort("aborted");
  if (!url.startsWith("hone:")) return route.continue();
  const response = await windows.serve(new Request(url, { method: request.method() }));
  const body = Buffer.from(await response.arrayBuffer());
  return route.fulfill({ status: response.status, headers: Object.fromEntries(response.headers), body });
}

/** The page that a navigation is of, unless it is of a frame within, or of a page that is only being opened. */
function pageOf(request: PageRequest): Page | undefined {
  try {
    return request.frame().parentFrame() === null ? request.frame().page() : undefined;
  } catch {
    return undefined;
  }
}

/** What a preload script finds: `require("electron")`, in the page. */
export function preloadScript(code: string): string {
  return `(() => {
    const listeners = [];
    globalThis.__fromMain = (channel, message) => {
      for (const [name, listener] of listeners) if (name === channel) listener({}, message);
    };
    const electron = {
      contextBridge: { exposeInMainWorld: (name, value) => Object.defineProperty(globalThis, name, { value }) },
      ipcRenderer: {
        send: (channel, message) => void globalThis.__toMain(channel, JSON.stringify(message)),
        on: (channel, listener) => listeners.push([channel, listener]),
      },
      webUtils: { getPathForFile: () => "" },
    };
    globalThis.open = (url) => {
      void globalThis.__toMain("open window", JSON.stringify(new URL(url, location.href).href));
      return null;
    };
    const exports = {};
    const require = () => electron;
    ${code}
  })();`;
}
