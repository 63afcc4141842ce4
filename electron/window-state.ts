/** Where the window was, kept from one start to the next. */

import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { screen, type BrowserWindow, type Rectangle } from "electron";
import { z } from "zod";
import { HoneError } from "../core/contract/errors.ts";
import { writeFileAtomic } from "../core/files/atomic.ts";
import { honeHome } from "../core/files/hone-home.ts";
import { readJson } from "../core/files/json.ts";

const stateSchema = z.object({
  x: z.number().int(),
  y: z.number().int(),
  width: z.number().int().min(1),
  height: z.number().int().min(1),
  maximized: z.boolean(),
});
type WindowState = z.infer<typeof stateSchema>;

export const minimumSize = { minWidth: 900, minHeight: 600 };
const usualSize = { width: 1280, height: 820 };

function stateFile(): string {
  return join(honeHome(), "desktop", "window.json");
}

/** Undefined at the first start, where the file is damaged, and when the screen it was on is gone. */
function readState(): WindowState | undefined {
  if (!existsSync(stateFile())) return undefined;
  try {
    const state = readJson(stateFile(), stateSchema);
    return screen.getAllDisplays().some(({ workArea }) => overlaps(workArea, state)) ? state : undefined;
  } catch (error) {
    if (error instanceof HoneError) return undefined;
    throw error;
  }
}

/** Enough to take hold of it. */
function overlaps(area: Rectangle, { x, y, width, height }: Rectangle): boolean {
  const across = Math.min(area.x + area.width, x + width) - Math.max(area.x, x);
  const down = Math.min(area.y + area.height, y + height) - Math.max(area.y, y);
  return across >= 100 && down >= 100;
}

/** Options of the first window. Others are put beside it by the system. */
export function savedBounds(): Partial<Rectangle> {
  const state = readState();
  if (state === undefined) return usualSize;
  const { x, y, width, height } = state;
  return { x, y, width, height };
}

export function keepState(window: BrowserWindow): void {
  if (readState()?.maximized === true) window.maximize();
  window.on("close", () => {
    const state: WindowState = { ...window.getNormalBounds(), maximized: window.isMaximized() };
    mkdirSync(dirname(stateFile()), { recursive: true });
    writeFileAtomic(stateFile(), `${JSON.stringify(state)}\n`);
  });
}
