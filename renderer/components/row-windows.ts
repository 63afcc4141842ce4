/** Rows of a long list that are fetched in blocks as they come into sight. Knows nothing of React. */

export type LoadRows<Row> = (from: number, limit: number, signal: AbortSignal) => Promise<readonly Row[]>;

interface Block<Row> {
  /** What was there before stays until newer rows have come. */
  known?: { rows: readonly Row[]; version: string | number };
  loading?: { abort: AbortController; version: string | number };
}

/** Rows of one block. */
export const blockSize = 100;
/** Blocks that are kept; those out of sight longest go first. */
const mostBlocks = 60;

export class RowWindows<Row> {
  readonly #load: LoadRows<Row>;
  readonly #changed: () => void;
  readonly #blocks = new Map<number, Block<Row>>();
  #version: string | number;
  #error: unknown;

  /** `changed` is called whenever rows have come, or could not be fetched. */
  constructor(load: LoadRows<Row>, version: string | number, changed: () => void) {
    this.#load = load;
    this.#version = version;
    this.#changed = changed;
  }

  /** Why rows in sight could not be fetched. */
  get error(): unknown {
    return this.#error;
  }

  /** Undefined while it is on its way. */
  row(index: number): Row | undefined {
    return this.#blocks.get(Math.floor(index / blockSize))?.known?.rows[index % blockSize];
  }

  /** Rows are other ones from now on. */
  renew(version: string | number): void {
    this.#version = version;
    this.#error = undefined;
  }

  /** Fetches what is in sight and not there yet; what is still on its way and out of sight is given up. */
  show(first: number, last: number): void {
    const [from, to] = [Math.floor(Math.max(0, first) / blockSize), Math.floor(Math.max(0, last) / blockSize)];
    for (const [index, block] of this.#blocks) {
      if (index >= from && index <= to) continue;
      block.loading?.abort.abort();
      delete block.loading;
    }
    for (let index = from; index <= to; index++) this.#fetch(index);
    for (const index of [...this.#blocks.keys()].slice(0, -mostBlocks)) this.#blocks.delete(index);
  }

  /** Tries again what has failed. */
  retry(): void {
    this.#error = undefined;
    this.#changed();
  }

  end(): void {
    for (const block of this.#blocks.values()) {
      block.loading?.abort.abort();
      delete block.loading;
    }
  }

  #fetch(index: number): void {
    const version = this.#version;
    const block = this.#blocks.get(index) ?? {};
    // The order of the map is that of use.
    this.#blocks.delete(index);
    this.#blocks.set(index, block);
    if (this.#error !== undefined || block.known?.version === version || block.loading?.version === version) return;
    block.loading?.abort.abort();
    const abort = new AbortController();
    block.loading = { abort, version };
    this.#load(index * blockSize, blockSize, abort.signal).then(
      (rows) => {
        if (abort.signal.aborted) return;
        block.known = { rows, version };
        delete block.loading;
        this.#changed();
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        delete block.loading;
        this.#error = error;
        this.#changed();
      },
    );
  }
}
