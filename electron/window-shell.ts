/** The calls that only the desktop can serve: dialogs of the system, its browser and its file manager. */

import { existsSync } from "node:fs";
import { BrowserWindow, dialog, shell, type WebContents } from "electron";
import type { z } from "zod";
import { shellCalls, type ShellCallName } from "../core/contract/api/shell-calls.ts";
import { HoneError } from "../core/contract/errors.ts";
import { parseInput } from "../core/app/service/serve-call.ts";

type Input<Name extends ShellCallName> = z.output<(typeof shellCalls)[Name]["input"]>;
type Handlers = { [Name in ShellCallName]: (input: Input<Name>, window: BrowserWindow) => Promise<unknown> };

const handlers: Handlers = {
  "shell.pick": async ({ kind, title, many, extensions }, window) => {
    const { filePaths } = await dialog.showOpenDialog(window, {
      title,
      properties: [
        kind === "folder" ? "openDirectory" : "openFile",
        ...(many === true ? ["multiSelections" as const] : []),
      ],
      ...(extensions !== undefined && { filters: [{ name: extensions.join(", "), extensions }] }),
    });
    return filePaths;
  },
  "shell.pickSave": async ({ title, name }, window) => {
    const { canceled, filePath } = await dialog.showSaveDialog(window, { title, defaultPath: name });
    return canceled ? null : filePath;
  },
  "shell.openExternal": async ({ url }) => {
    await shell.openExternal(url);
    return null;
  },
  "shell.reveal": async ({ path }) => {
    if (!existsSync(path)) throw new HoneError("no-such-file", `${path} is no longer there`);
    shell.showItemInFolder(path);
    return null;
  },
};

export function isShellCall(name: string): name is ShellCallName {
  return Object.hasOwn(handlers, name);
}

export async function serveShellCall(name: ShellCallName, input: unknown, contents: WebContents): Promise<unknown> {
  const window = BrowserWindow.fromWebContents(contents);
  if (window === null) throw new HoneError("window-closed", "the window was closed");
  const handler = handlers[name] as (input: unknown, window: BrowserWindow) => Promise<unknown>;
  return handler(parseInput(name, shellCalls[name].input, input), window);
}
