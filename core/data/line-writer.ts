import { writeFileSync } from "node:fs";

/** Lines gathered into larger writes. */
export class LineWriter {
  count = 0;
  readonly #path: string;
  #lines: string[] = [];
  #length = 0;

  /** Makes the file, or empties it. */
  constructor(path: string) {
    this.#path = path;
    writeFileSync(path, "");
  }

  write(value: unknown): void {
    this.writeText(JSON.stringify(value));
  }

  writeText(line: string): void {
    this.#lines.push(line, "\n");
    this.#length += line.length;
    this.count++;
    if (this.#length > 1 << 22) this.end();
  }

  end(): void {
    if (this.#lines.length > 0) writeFileSync(this.#path, this.#lines.join(""), { flag: "a" });
    this.#lines = [];
    this.#length = 0;
  }
}
