import { describe, expect, it } from "vitest";
import { cargoCounts, vitestCounts } from "./run-counts.ts";

describe("cargoCounts", () => {
  it("sums over all test programs", () => {
    const output = [
      "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
      "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
    ].join("\n");
    expect(cargoCounts(output, false)).toEqual({ passed: 15, failed: 2, skipped: 1 });
  });

  it("counts a run that did not compile as a failure, whatever passed before", () => {
    expect(cargoCounts("error[E0425]: cannot find value", false)).toEqual({ passed: 0, failed: 1, skipped: 0 });
    const crashed = "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured;\nprocess didn't exit successfully";
    expect(cargoCounts(crashed, false)).toEqual({ passed: 4, failed: 1, skipped: 0 });
  });

  it("counts a run without tests as a failure", () => {
    expect(cargoCounts("", true)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});

describe("vitestCounts", () => {
  it("reads the report", () => {
    const report = JSON.stringify({ numPassedTests: 5, numFailedTests: 1, numPendingTests: 2, numTodoTests: 1 });
    expect(vitestCounts(report, false)).toEqual({ passed: 5, failed: 1, skipped: 3 });
  });

  it("counts a file that could not be loaded, and a missing report, as a failure", () => {
    const report = JSON.stringify({ numPassedTests: 5, numFailedTests: 0 });
    expect(vitestCounts(report, false)).toEqual({ passed: 5, failed: 1, skipped: 0 });
    expect(vitestCounts(undefined, false)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});
