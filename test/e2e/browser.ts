/** A real browser on any machine: an installed Chrome, Chromium or Edge, else the one of `@sparticuz/chromium`. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { chromium as playwright, type Browser } from "playwright-core";

const candidates: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: ["google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "microsoft-edge"],
  darwin: [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
  ],
  win32: [
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
    "C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe",
  ],
};

function installedBrowser(): string | undefined {
  const places = (process.env["PATH"] ?? "").split(":");
  return (candidates[process.platform] ?? [])
    .flatMap((name) => (name.includes("/") || name.includes("\\") ? [name] : places.map((place) => join(place, name))))
    .find((path) => existsSync(path));
}

/** `HONE_BROWSER` names another one. */
export async function browserOptions(): Promise<{ executablePath: string; args: string[] }> {
  const installed = process.env["HONE_BROWSER"] ?? installedBrowser();
  return {
    executablePath: installed ?? (await chromium.executablePath()),
    // The package's own list of arguments is not taken: it has one process for all pages and no web security.
    args: ["--no-sandbox", "--font-render-hinting=none", "--use-angle=swiftshader"],
  };
}

export async function launchBrowser(): Promise<Browser> {
  return playwright.launch(await browserOptions());
}
