import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createApp } from "../../../core/app/service/app.ts";

test("a change leaves alone what it does not name", async () => {
  process.env["HONE_HOME"] = mkdtempSync(join(tmpdir(), "hone-settings-"));
  const app = createApp("browser");
  const { signal } = new AbortController();
  await app.call("settings.set", { theme: "dark", threads: 1 }, signal);
  await app.call("settings.set", { language: "zh" }, signal);
  expect(await app.call("settings.get", {}, signal)).toMatchObject({ theme: "dark", threads: 1, language: "zh" });
  await app.close();
});
