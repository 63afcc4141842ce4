import { describe, expect, it } from "vitest";
import { runSoak, soakTable } from "./soak.ts";

/** `HONE_SOAK=2000` for a longer run. */
const faults = Number(process.env["HONE_SOAK"] ?? 200);

describe("downloads under faults", () => {
  it(
    "end with the hub's bytes and nothing half-visible, whatever happens",
    async () => {
      const report = await runSoak({ faults, each: 2, seed: process.env["HONE_SOAK_SEED"] ?? 7 });
      const { rows, mixed, problems } = report;
      if (problems.length > 0) process.stderr.write(soakTable(report) + "\n");
      expect(problems).toEqual([]);
      expect(mixed.faults).toBeGreaterThanOrEqual(faults);
      expect(mixed.identical).toBe(mixed.downloads);
      for (const row of rows) {
        expect(row.identical, row.fault).toBe(2);
        // A fault that never happened proves nothing.
        expect(row.count, row.fault).toBeGreaterThan(0);
      }
    },
    30_000 + faults * 500,
  );
});
