/**
 * Three kinds of failure, and how they cross a process boundary as data.
 *
 * - `user`: a `HoneError`. Somebody can read it and act on it; it is shown without a stack trace.
 * - `cancelled`: a `CancelledError` (or the platform's own `AbortError`). Somebody asked for it; it is never reported.
 * - `bug`: anything else. A defect of Hone; it is shown with its stack trace.
 */

export type ErrorKind = "user" | "cancelled" | "bug";

/** An error that a user can read and act on. Anything else that is thrown is a defect of Hone. */
export class HoneError extends Error {
  /** Kebab-case, stable: programs may compare it. */
  readonly code: string;
  /** The way out, in words. */
  readonly fix: string | undefined;

  constructor(code: string, message: string, options: { cause?: unknown; fix?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "HoneError";
    this.code = code;
    this.fix = options.fix;
  }
}

/** The work was stopped because somebody asked for it. */
export class CancelledError extends Error {
  constructor(message = "Cancelled", options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CancelledError";
  }
}

/** An error as it crosses a boundary (IPC, HTTP, a log line): plain data, at most `MAX_CAUSES` causes deep. */
export interface ErrorData {
  readonly kind: ErrorKind;
  /** A `HoneError`'s code; `cancelled`; or `internal` for a bug. */
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
  /** The call that failed, when the boundary knows it. */
  readonly call?: string;
  /** Where a bug was thrown. Only bugs carry it. */
  readonly stack?: string;
  readonly cause?: ErrorData;
}

/** A cause chain may be a circle; nobody reads further than this. */
const MAX_CAUSES = 8;

export function errorKind(error: unknown): ErrorKind {
  if (error instanceof HoneError) return "user";
  if (error instanceof CancelledError) return "cancelled";
  // What AbortController and the Node APIs that take a signal throw; in a browser a DOMException is no Error.
  if (typeof error === "object" && error !== null && "name" in error && error.name === "AbortError") return "cancelled";
  return "bug";
}

/** What whatever was thrown says. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Turns whatever was thrown into data. `call` names the call that failed. */
export function errorToData(error: unknown, call?: string): ErrorData {
  return { ...toData(error, MAX_CAUSES), ...(call === undefined ? {} : { call }) };
}

function toData(error: unknown, causesLeft: number): ErrorData {
  const kind = errorKind(error);
  const isError = error instanceof Error;
  const hone = error instanceof HoneError ? error : undefined;
  const cause = isError ? error.cause : undefined;
  return {
    kind,
    code: hone?.code ?? (kind === "cancelled" ? "cancelled" : "internal"),
    message: errorMessage(error),
    ...(hone?.fix === undefined ? {} : { fix: hone.fix }),
    ...(kind === "bug" && isError && error.stack !== undefined ? { stack: error.stack } : {}),
    ...(cause === undefined || causesLeft === 0 ? {} : { cause: toData(cause, causesLeft - 1) }),
  };
}

/**
 * Rebuilds the error on the other side of a boundary, of the same kind. A bug's message gets the call's name in front
 * and keeps the stack of where it was thrown; a user's error reads the same on both sides.
 */
export function errorFromData(data: ErrorData): Error {
  const cause = data.cause === undefined ? undefined : errorFromData(data.cause);
  switch (data.kind) {
    case "user":
      return new HoneError(data.code, data.message, {
        ...(cause === undefined ? {} : { cause }),
        ...(data.fix === undefined ? {} : { fix: data.fix }),
      });
    case "cancelled":
      return new CancelledError(data.message, { cause });
    case "bug": {
      const message = data.call === undefined ? data.message : `${data.call}: ${data.message}`;
      const error = new Error(message, cause === undefined ? undefined : { cause });
      if (data.stack !== undefined) error.stack = data.stack;
      return error;
    }
    default:
      return assertNever(data.kind, "error kind");
  }
}

/** Ends a switch over a union: the compiler refuses a forgotten case, and data from outside fails by name. */
export function assertNever(value: never, what: string): never {
  throw new Error(`Unknown ${what}: ${JSON.stringify(value)}`);
}
