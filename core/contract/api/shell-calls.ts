/** What the desktop's main process does for a window alone (`WindowShell`); a browser window has no such calls. */

import { z } from "zod";
import { call } from "./call.ts";

export const shellCalls = {
  "shell.pick": call<string[]>()(
    z.object({
      kind: z.enum(["file", "folder"]),
      title: z.string(),
      many: z.boolean().optional(),
      extensions: z.array(z.string()).optional(),
    }),
  ),
  "shell.pickSave": call<string | null>()(z.object({ title: z.string(), name: z.string() })),
  /** Only http and https. */
  "shell.openExternal": call<null>()(z.object({ url: z.url({ protocol: /^https?$/ }) })),
  "shell.reveal": call<null>()(z.object({ path: z.string() })),
};

export type ShellCallName = keyof typeof shellCalls;
