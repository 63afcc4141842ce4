/** Reads the counts of passed and failed tests out of what the test runners say. */

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Sums the `test result:` lines of `cargo test`. A run that failed without a failed test (it did not compile, or a test
 * process died) counts as one failure; so does a run without any test.
 */
export function cargoCounts(output: string, ok: boolean): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [, passed, failed, ignored] of output.matchAll(
    /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/gm,
  )) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
    counts.skipped += Number(ignored);
  }
  return atLeastOne(counts, ok);
}

/** Reads Vitest's JSON report; no report, or a failed run without a failed test, counts as one failure. */
export function vitestCounts(report: string | undefined, ok: boolean): Counts {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const json = JSON.parse(report) as Record<string, number | undefined>;
  const count = (key: string) => json[key] ?? 0;
  const counts = {
    passed: count("numPassedTests"),
    failed: count("numFailedTests"),
    skipped: count("numPendingTests") + count("numTodoTests"),
  };
  return atLeastOne(counts, ok);
}

function atLeastOne(counts: Counts, ok: boolean): Counts {
  const empty = counts.passed + counts.failed + counts.skipped === 0;
  return counts.failed === 0 && (!ok || empty) ? { ...counts, failed: 1 } : counts;
}
