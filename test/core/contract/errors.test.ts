import { describe, expect, it } from "vitest";
import {
  assertNever,
  CancelledError,
  errorFromData,
  errorKind,
  errorToData,
  HoneError,
  type ErrorData,
} from "../../../core/contract/errors.ts";

/** What a boundary does: only what JSON can carry arrives. */
function cross(error: unknown, call?: string): Error {
  return errorFromData(JSON.parse(JSON.stringify(errorToData(error, call))) as ErrorData);
}

describe("errorKind", () => {
  it("tells a user's error, a cancellation and a defect apart", () => {
    expect(errorKind(new HoneError("no-model", "No model at x"))).toBe("user");
    expect(errorKind(new CancelledError())).toBe("cancelled");
    expect(errorKind(new TypeError("x is not a function"))).toBe("bug");
    expect(errorKind("a thrown string")).toBe("bug");
    expect(errorKind(undefined)).toBe("bug");
  });

  it("knows the platform's own cancellation", () => {
    const controller = new AbortController();
    controller.abort();
    expect(errorKind(controller.signal.reason)).toBe("cancelled");
  });
});

describe("crossing a boundary", () => {
  it("keeps a user's error whole and without a stack", () => {
    const cause = new HoneError("file-missing", "config.json is missing");
    const error = new HoneError("no-model", "No model at ./x", { cause, fix: "Give a folder with config.json." });
    expect(errorToData(error, "models.open")).toEqual({
      kind: "user",
      code: "no-model",
      message: "No model at ./x",
      fix: "Give a folder with config.json.",
      call: "models.open",
      cause: { kind: "user", code: "file-missing", message: "config.json is missing" },
    });
    const rebuilt = cross(error, "models.open");
    expect(rebuilt).toBeInstanceOf(HoneError);
    expect(rebuilt).toMatchObject({ code: "no-model", message: "No model at ./x", fix: error.fix });
    expect(rebuilt.cause).toMatchObject({ code: "file-missing" });
  });

  it("names the call in front of a defect and keeps the stack of where it happened", () => {
    const error = new RangeError("offset 9 of 4");
    const rebuilt = cross(error, "runs.list");
    expect(rebuilt.message).toBe("runs.list: offset 9 of 4");
    expect(rebuilt.stack).toBe(error.stack);
    expect(errorKind(rebuilt)).toBe("bug");
    expect(errorToData(error).code).toBe("internal");
  });

  it("keeps a cancellation a cancellation", () => {
    expect(errorKind(cross(new CancelledError("Stopped at step 7")))).toBe("cancelled");
    expect(errorKind(cross(new DOMException("gone", "AbortError")))).toBe("cancelled");
  });

  it("carries what is no error at all", () => {
    expect(cross("a thrown string").message).toBe("a thrown string");
    expect(cross(null).message).toBe("null");
  });

  it("ends a circle of causes", () => {
    const first = new Error("first");
    const second = new Error("second", { cause: first });
    first.cause = second;
    let depth = 0;
    for (let data: ErrorData | undefined = errorToData(first); data !== undefined; data = data.cause) depth++;
    expect(depth).toBe(9);
  });
});

describe("assertNever", () => {
  it("names what the compiler could not foresee", () => {
    expect(() => assertNever("gspo2" as never, "training method")).toThrow('Unknown training method: "gspo2"');
  });
});
