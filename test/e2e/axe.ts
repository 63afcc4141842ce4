/** What axe has against a page. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";

const source = readFileSync(join(import.meta.dirname, "..", "..", "node_modules", "axe-core", "axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Findings that are serious or critical, each with the element. `part`: a selector; default the whole page. */
export async function seriousFindings(page: Page, part = "html"): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(source);
  const { violations } = await page.evaluate((selector) => {
    type Run = (part: string, options: object) => Promise<{ violations: Violation[] }>;
    return (globalThis as unknown as { axe: { run: Run } }).axe.run(selector, { resultTypes: ["violations"] });
  }, part);
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
    );
}
