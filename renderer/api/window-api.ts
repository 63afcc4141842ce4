/** What the desktop's preload script puts into the window (`electron/preload.ts`); absent in a browser. */

import type { Channel } from "../../core/contract/rpc.ts";
import type { WindowShell } from "../../core/contract/api/api.ts";

export interface DesktopBridge {
  channel: Channel;
  shell: WindowShell;
}

declare global {
  interface Window {
    readonly hone?: DesktopBridge;
  }
}
