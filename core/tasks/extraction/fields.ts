/** Fields of documents: what a text says, and the one form in which it is to be extracted. */

import type { Random } from "../../contract/random.ts";

export type FieldValue = string | number | boolean;

export interface Field {
  /** How the prompt names the type. */
  type: string;
  /** JSON Schema of the value. */
  schema: { type: string; pattern?: string; enum?: FieldValue[] };
  /** The same value as a text may say it, and as it is to be extracted. */
  draw(random: Random): { said: string; value: FieldValue };
}

const months = "January February March April May June July August September October November December".split(" ");
const two = (n: number) => String(n).padStart(2, "0");

/** Taken over as it stands. The bank is divided by bars. */
export function text(list: string): Field {
  const bank = list.split("|");
  return {
    type: "text",
    schema: { type: "string" },
    draw: (random) => {
      const value = random.pick(bank);
      return { said: value, value };
    },
  };
}

/** A letter and digits, taken over as it stands. */
export function code(prefix: string, digits: number): Field {
  return {
    type: "text",
    schema: { type: "string" },
    draw: (random) => {
      const value = `${prefix}${10 ** (digits - 1) + random.integer(9 * 10 ** (digits - 1))}`;
      return { said: value, value };
    },
  };
}

const numberWords = "zero one two three four five six seven eight nine ten eleven twelve".split(" ");

/** Digits, or a word up to twelve. */
export function whole(minimum: number, maximum: number): Field {
  return {
    type: "whole number",
    schema: { type: "integer" },
    draw: (random) => {
      const value = minimum + random.integer(maximum - minimum + 1);
      const word = random.integer(2) === 1 ? numberWords[value] : undefined;
      return { said: word ?? String(value), value };
    },
  };
}

/** `$1,240.50`, `1240.50 dollars`: a number without currency and separators. */
export const amount: Field = {
  type: "number",
  schema: { type: "number" },
  draw: (random) => {
    const value = (random.integer(2) === 1 ? 1000 : 10) + random.integer(800) + random.pick([0, 0.25, 0.5, 0.9]);
    const plain = Number.isInteger(value) ? String(value) : value.toFixed(2);
    const grouped = plain.replace(/^(\d)(\d{3})/, "$1,$2");
    return { said: random.pick([`$${grouped}`, `${plain} dollars`, `USD ${grouped}`]), value };
  },
};

export const date: Field = {
  type: "date",
  schema: { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}$" },
  draw: (random) => {
    const [month, day] = [random.integer(12), 1 + random.integer(28)];
    const name = months[month];
    const said = random.pick([
      `${name} ${day}, 2026`,
      `${day} ${name} 2026`,
      `${name.slice(0, 3)} ${day} 2026`,
      `2026/${two(month + 1)}/${two(day)}`,
    ]);
    return { said, value: `2026-${two(month + 1)}-${two(day)}` };
  },
};

export const time: Field = {
  type: "time",
  schema: { type: "string", pattern: "^\\d{2}:\\d{2}$" },
  draw: (random) => {
    const [hour, minute] = [1 + random.integer(11), random.pick(["00", "15", "30", "45"])];
    const after = random.integer(3) > 0;
    const value = `${two(after ? hour + 12 : hour)}:${minute}`;
    return { said: random.pick([`${hour}:${minute} ${after ? "pm" : "am"}`, value]), value };
  },
};

/** A closed list, each with what texts say for it: `high=urgent/critical|low=minor`. */
export function oneOf(list: string): Field {
  const options = list.split("|").map((entry): [string, string[]] => {
    const [value, said = value] = entry.split("=");
    return [value, said.split("/")];
  });
  const values = options.map(([value]) => value);
  return {
    type: values.join(" or "),
    schema: { type: "string", enum: values },
    draw: (random) => {
      const [value, said] = random.pick(options);
      return { said: random.pick(said), value };
    },
  };
}
