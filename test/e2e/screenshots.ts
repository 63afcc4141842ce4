/**
 * `npm run screenshots [-- FOLDER]`: every page in both themes and both languages, 1280×800 and 900 wide, with a home in
 * which there is something to see: a finished run on the starter model, a dataset, a reward, a task. Then look at them.
 */

import { cpSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { startHone } from "./hone.ts";
import { pages } from "./pages.ts";
import { callApi, startTraining } from "./train-in-app.ts";

const root = join(import.meta.dirname, "..", "..");
const run = "tic-tac-toe-example";
const sizes = [
  { width: 1280, height: 800 },
  { width: 900, height: 800 },
];

/** Pages that show something only at an address of their own. */
const inside: readonly string[] = [`/runs/${run}`, `/play?model=${run}`, `/chat?model=starter`];

const folder =
  process.argv[2] === undefined ? mkdtempSync(join(tmpdir(), "hone-screenshots-")) : resolve(process.argv[2]);
mkdirSync(folder, { recursive: true });
const hone = await startHone();
try {
  cpSync(join(root, "examples", "tasks"), join(hone.home, "tasks"), { recursive: true });
  const first = await hone.open();
  await startTraining(first, hone.home, run, { max_steps: 60, eval_steps: 20, eval_on_start: true, save_steps: 10 });
  const [job] = await callApi(first, "jobs.list", {});
  if (job !== undefined) await callApi(first, "jobs.wait", { id: job.id });
  for (const language of ["en", "zh"] as const) {
    await callApi(first, "settings.set", { language });
    for (const colorScheme of ["light", "dark"] as const) {
      for (const viewport of sizes) {
        const page = await hone.open("/", { colorScheme, viewport, reducedMotion: "reduce" });
        for (const path of [...pages.map(([path]) => path), ...inside]) {
          const name = path === "/" ? "home" : path.slice(1).replaceAll(/[^\w-]+/g, "-");
          await show(page, path);
          await page.screenshot({ path: join(folder, `${name}-${language}-${colorScheme}-${viewport.width}.png`) });
        }
        await page.context().close();
      }
    }
  }
  for (const problem of hone.problems) console.error(`a page complained: ${problem}`);
  console.log(folder);
} finally {
  await hone.close();
}

async function show(page: Page, path: string): Promise<void> {
  await page.goto(`${page.url().split("#")[0]}#${path}`);
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  // What loads shows a wheel or bones; some pages keep one for as long as a person waits for something.
  await page
    .waitForFunction(() => document.querySelector(".mantine-Loader-root, .mantine-Skeleton-root") === null, undefined, {
      timeout: 5000,
    })
    .catch(() => undefined);
}
