/** Hone's page has an origin of its own, `hone://app`: no server, and no file:// with its rights. */

import { readFile } from "node:fs/promises";
import { protocol } from "electron";
import { findPageFile, guardHeaders } from "../core/host/page-files.ts";

const origin = "hone://app";
export const pageUrl = `${origin}/index.html`;

export function isPage(url: string): boolean {
  return url === origin || url.startsWith(`${origin}/`);
}

/** Before the app is ready. */
export function registerPageScheme(): void {
  const privileges = { standard: true, secure: true, supportFetchAPI: true, codeCache: true };
  protocol.registerSchemesAsPrivileged([{ scheme: "hone", privileges }]);
}

export function servePage(renderer: string): void {
  protocol.handle("hone", async ({ url, method }) => {
    const file = isPage(url) && method === "GET" ? findPageFile(renderer, new URL(url).pathname) : undefined;
    if (file === undefined) return new Response("there is no such file\n", { status: 404, headers: guardHeaders });
    return new Response(await readFile(file.path), { headers: { ...guardHeaders, ...file.headers } });
  });
}
