import type { DesktopBridge } from "../../core/contract/api/desktop-bridge.ts";

declare global {
  interface Window {
    /** Put there by `electron/preload.ts`; absent in a browser. */
    readonly hone?: DesktopBridge;
  }
}
