/** From what a part answers to named values and their share of the reward. */

import type { RewardAnswer, RewardPart, RewardResult, RewardSample } from "../contract/reward.ts";
import { badSample } from "./expected.ts";
import type { OpenPart } from "./part.ts";

export class PartValues {
  readonly #name: string;
  readonly #weight: number;
  readonly #open: OpenPart;
  readonly #alone: boolean;
  /** Own name of every value that it is known to give → weight. A lone number goes by the empty name. */
  readonly #known: Map<string, number>;

  /** `alone`: it is the whole reward, so its values go by their own names. */
  constructor({ name, weight }: { name: string; weight: number }, open: OpenPart, alone: boolean) {
    this.#name = name;
    this.#weight = weight;
    this.#open = open;
    this.#alone = alone;
    this.#known = new Map(Object.entries(open.parts ?? {}));
  }

  parts(): RewardPart[] {
    const known = this.#known.size === 0 ? new Map([["", 1]]) : this.#known;
    return Array.from(known, ([own, weight]) => ({
      name: this.#fullName(own),
      weight: this.#weight * weight,
      description: this.#open.description,
    }));
  }

  /** Throws `bad-reward` for a value that is no finite number and for one whose name was not declared. */
  read(answer: RewardAnswer, sample: RewardSample): RewardResult {
    const { total, parts, info } =
      typeof answer === "number" ? { total: undefined, parts: { "": answer }, info: undefined } : answer;
    for (const [own, value] of Object.entries({ ...parts, ...(total !== undefined && { total }) })) {
      if (Number.isFinite(value)) continue;
      const what = own === "" ? "the value" : own === "total" ? "the total" : `the part ${own}`;
      throw badSample(this.#name, sample, `${what} is ${value}`, "every sample needs finite numbers");
    }
    for (const own of Object.keys(parts)) {
      if (this.#known.has(own)) continue;
      if (this.#open.parts !== undefined) {
        const declared = Object.keys(this.#open.parts).join(", ");
        const what = own === "" ? "it gave one number" : `it gave a part ${JSON.stringify(own)}`;
        throw badSample(this.#name, sample, `${what} and declares the parts ${declared}`, "give declared parts only");
      }
      this.#known.set(own, 1);
    }
    const values = Array.from(this.#known, ([own, weight]) => ({ own, weight, value: parts[own] ?? 0 }));
    const sum = values.reduce((all, { weight, value }) => all + weight * value, 0);
    return {
      reward: this.#weight * (total ?? sum),
      parts: Object.fromEntries(values.map(({ own, value }) => [this.#fullName(own), value])),
      ...(info !== undefined && { info: { [this.#name]: info } }),
    };
  }

  #fullName(own: string): string {
    if (own === "") return this.#name;
    return this.#alone ? own : `${this.#name}/${own}`;
  }
}
