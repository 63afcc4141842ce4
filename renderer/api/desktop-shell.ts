/** The window's shell on the desktop: served by the main process, over the same line as everything else. */

import type { WindowShell } from "../../core/contract/api/api.ts";
import type { DesktopBridge } from "../../core/contract/api/desktop-bridge.ts";
import { HoneError } from "../../core/contract/errors.ts";

/** @param call of any name: these are no calls of the contract's areas. */
export function desktopShell(
  bridge: DesktopBridge,
  call: (name: string, input: unknown) => Promise<unknown>,
): WindowShell {
  return {
    pick: async (options) => (await call("shell.pick", options)) as string[],
    pickSave: async (options) => (await call("shell.pickSave", options)) as string | null,
    openExternal: async (url) => {
      await call("shell.openExternal", { url });
    },
    reveal: async (path) => {
      await call("shell.reveal", { path });
    },
    pathOf(file) {
      const path = bridge.pathOf(file);
      if (path !== "") return Promise.resolve(path);
      return Promise.reject(
        new HoneError("no-path", `${file.name} lies on no disk`, { fix: "save it to a file first" }),
      );
    },
  };
}
