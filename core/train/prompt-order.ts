/** Which training rows come next: every epoch is a new seeded shuffle, without replacement. */

import { Random } from "../contract/random.ts";
import type { TrainerState } from "../contract/run.ts";

export type DataCursor = TrainerState["data_cursor"];

export class PromptOrder {
  readonly #rows: number;
  readonly #seed: number;
  #epoch: number;
  #index: number;
  #order: number[];

  constructor(rows: number, seed: number, cursor: DataCursor = { epoch: 0, index: 0, seed }) {
    if (rows < 1) throw new Error("there are no training rows");
    this.#rows = rows;
    this.#seed = cursor.seed;
    this.#epoch = cursor.epoch;
    this.#index = cursor.index;
    this.#order = this.#shuffled();
  }

  #shuffled(): number[] {
    const rows = Array.from({ length: this.#rows }, (_, i) => i);
    return new Random(this.#seed).split("prompt order", this.#epoch).shuffle(rows);
  }

  /** Number of the next row. */
  next(): number {
    if (this.#index === this.#rows) {
      this.#epoch += 1;
      this.#index = 0;
      this.#order = this.#shuffled();
    }
    const row = this.#order[this.#index];
    this.#index += 1;
    return row;
  }

  /** Epochs done, with the fraction of the running one. */
  epochs(): number {
    return this.#epoch + this.#index / this.#rows;
  }

  cursor(): DataCursor {
    return { epoch: this.#epoch, index: this.#index, seed: this.#seed };
  }
}
