/** What the desktop's preload script puts into the window as `window.hone`; absent in a browser. */

import type { Channel } from "../rpc.ts";

export interface DesktopBridge {
  channel: Channel;
  /** The path of a file that was dropped onto the window; empty when it comes from no disk. */
  pathOf: (file: File) => string;
}
