/** The built page, as both hosts hand it out: which file a path means, and the headers that go with it. */

import { existsSync, statSync } from "node:fs";
import { extname, join, normalize, sep } from "node:path";
import { HoneError } from "../contract/errors.ts";

/** `HONE_RENDERER` names another one, for work on the page itself. */
export const builtRenderer = process.env["HONE_RENDERER"] ?? join(import.meta.dirname, "..", "..", "dist", "renderer");

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

const contentSecurityPolicy = [
  "default-src 'self'",
  "script-src 'self'",
  // Mantine sets sizes and colours through style attributes.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Of every answer, errors included. */
export const guardHeaders: Readonly<Record<string, string>> = {
  "Content-Security-Policy": contentSecurityPolicy,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};

export interface PageFile {
  path: string;
  headers: Record<string, string>;
}

/** Throws `no-renderer` when the page was not built. */
export function requireRenderer(renderer: string): void {
  if (existsSync(join(renderer, "index.html"))) return;
  throw new HoneError("no-renderer", `there is no built page in ${renderer}`, { fix: "`npm start` builds it" });
}

/** `pathname` as in a URL. Undefined when it is no file of the page. */
export function findPageFile(renderer: string, pathname: string): PageFile | undefined {
  let decoded: string;
  try {
    decoded = decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
  const path = normalize(join(renderer, decoded === "/" ? "index.html" : decoded));
  if (decoded.includes("\0") || !path.startsWith(normalize(renderer) + sep)) return undefined;
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  return {
    path,
    headers: {
      "Content-Type": contentTypes[extname(path)] ?? "application/octet-stream",
      // Built files carry a hash in their names; the page itself does not.
      "Cache-Control": pathname.startsWith("/assets/") ? "max-age=31536000, immutable" : "no-cache",
    },
  };
}
