/**
 * A stand-in of the `electron` module, of the parts that Hone uses: Node runs the main process, and its windows are pages
 * of a real Chromium. `HONE_STAND_IN_PORT`: the browser's debugging port, through which a test reaches the windows.
 * The process that started it may send `{id, fn, arg}`: `fn(electron, arg)` is answered, as playwright does on the real one.
 */

import { EventEmitter } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { launchWindows } from "./chromium.ts";
import { BrowserWindow } from "./windows.ts";

export { BrowserWindow };
export { ipcMain, protocol } from "./windows.ts";

class App extends EventEmitter {
  readonly #paths = new Map<string, string>();
  readonly isPackaged = false;

  setPath(name: string, path: string): void {
    mkdirSync(path, { recursive: true });
    this.#paths.set(name, path);
  }

  getLocale(): string {
    return "en-US";
  }

  /** The lock is the owner's process id; a second process knocks with a signal. */
  requestSingleInstanceLock(): boolean {
    const file = join(this.#paths.get("userData") ?? "", "instance.pid");
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
    } catch {
      const owner = Number(readFileSync(file, "utf8"));
      if (isAlive(owner)) {
        process.kill(owner, "SIGUSR2");
        return false;
      }
      writeFileSync(file, String(process.pid));
    }
    process.on("SIGUSR2", () => this.emit("second-instance", {}, [], ""));
    process.on("exit", () => rmSync(file, { force: true }));
    return true;
  }

  async whenReady(): Promise<void> {
    await launchWindows(Number(process.env["HONE_STAND_IN_PORT"]));
    process.on("SIGTERM", () => this.quit());
    listenToTest();
    process.send?.({ ready: true });
  }

  quit(): void {
    let prevented = false;
    this.emit("before-quit", { preventDefault: () => (prevented = true) });
    if (prevented) return;
    for (const window of BrowserWindow.getAllWindows()) window.close();
    if (BrowserWindow.getAllWindows().length === 0) this.exit(0);
  }

  exit(code: number): void {
    process.exit(code);
  }
}

export const app = new App();
BrowserWindow.events.on("created", (window: BrowserWindow) => {
  app.emit("web-contents-created", {}, window.webContents);
  app.emit("browser-window-created", {}, window);
});
BrowserWindow.events.on("all-closed", () => app.emit("window-all-closed"));

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Tests put their own answers in, as on the real one: `dialog.showMessageBox = …`. */
export const dialog = {
  showMessageBox: () => Promise.resolve({ response: 0 }),
  showOpenDialog: () => Promise.resolve({ canceled: true, filePaths: [] }),
  showErrorBox: (title: string, text: string) => process.stderr.write(`${title}: ${text}\n`),
  showSaveDialog: () => Promise.resolve({ canceled: true, filePath: "" }),
};

export const shell = {
  opened: [] as string[],
  openExternal(url: string): Promise<void> {
    shell.opened.push(url);
    return Promise.resolve();
  },
  showItemInFolder(path: string): void {
    shell.opened.push(path);
  },
};

interface MenuLike {
  items: unknown[];
}
let menu: MenuLike | null = null;

export const Menu = {
  /** As the real one does, a list of entries becomes a menu at every level. */
  buildFromTemplate: (template: { submenu?: [] }[]): MenuLike => ({
    items: template.map((entry) =>
      entry.submenu === undefined ? entry : { ...entry, submenu: Menu.buildFromTemplate(entry.submenu) },
    ),
  }),
  setApplicationMenu(given: MenuLike): void {
    menu = given;
  },
  getApplicationMenu: () => menu,
};

const blockers = new Set<number>();
export const powerSaveBlocker = {
  start(): number {
    blockers.add(blockers.size + 1);
    return blockers.size;
  },
  stop: (id: number) => blockers.delete(id),
  isStarted: (id: number) => blockers.has(id),
};

export class Notification extends EventEmitter {
  static readonly shown: { title: string; body: string }[] = [];
  static isSupported = () => true;
  readonly #options: { title: string; body: string };

  constructor(options: { title: string; body: string }) {
    super();
    this.#options = options;
  }

  show(): void {
    Notification.shown.push(this.#options);
  }
}

export const safeStorage = {
  isEncryptionAvailable: () => true,
  getSelectedStorageBackend: () => "gnome_libsecret",
  encryptString: (text: string) => Buffer.from(`locked ${[...text].reverse().join("")}`),
  decryptString: (data: Buffer) => [...data.toString().slice("locked ".length)].reverse().join(""),
};

export const screen = {
  getAllDisplays: () => [{ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }],
};

export const session = {
  defaultSession: {
    permissionRequest: undefined as unknown,
    permissionCheck: undefined as unknown,
    setPermissionRequestHandler(handler: unknown): void {
      session.defaultSession.permissionRequest = handler;
    },
    setPermissionCheckHandler(handler: unknown): void {
      session.defaultSession.permissionCheck = handler;
    },
  },
};

function listenToTest(): void {
  const electron = { app, BrowserWindow, dialog, shell, Menu, powerSaveBlocker, Notification, safeStorage, session };
  process.on("message", ({ id, fn, arg }: { id: number; fn: string; arg: unknown }) => {
    void (async () => {
      try {
        const work = runInThisContext(`(${fn})`) as (all: typeof electron, arg: unknown) => unknown;
        process.send?.({ id, value: await work(electron, arg) });
      } catch (error) {
        process.send?.({ id, error: String(error) });
      }
    })();
  });
}
