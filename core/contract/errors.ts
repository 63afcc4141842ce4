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
