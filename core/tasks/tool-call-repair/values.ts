/** Parameters of the tools, and values for them as people say them. */

import type { Random } from "../../contract/random.ts";

/** A value as a request says it, as the tool wants it, and as a careless caller writes it. */
export interface Spoken {
  said: string;
  value: unknown;
  /** Wrong type, format or unit for the schema or for what the tool expects. */
  careless: unknown;
}

export interface Parameter {
  name: string;
  schema: Record<string, unknown>;
  /** `mistyped`, `outside_enum` or `format`: what is wrong with the careless value. Absent where there is none. */
  slip?: "mistyped" | "outside_enum" | "format";
  /** Left out where the request does not say it. */
  optional?: boolean;
  draw(random: Random): Spoken;
}

const months = "January February March April May June July August September October November December".split(" ");
const two = (n: number) => String(n).padStart(2, "0");

export function whole(name: string, minimum: number, maximum: number, step = 1): Parameter {
  return {
    name,
    schema: { type: "integer", minimum, maximum },
    slip: "mistyped",
    draw: (random) => {
      const value = minimum + step * random.integer(Math.floor((maximum - minimum) / step) + 1);
      return { said: String(value), value, careless: String(value) };
    },
  };
}

/** A closed list, each word with what a careless caller writes instead: `calm=relaxed, happy=joyful`. */
export function oneOf(name: string, list: string): Parameter {
  const options = new Map(list.split(", ").map((entry) => entry.split("=") as [string, string]));
  const values = [...options.keys()];
  return {
    name,
    schema: { type: "string", enum: values },
    slip: "outside_enum",
    draw: (random) => {
      const value = random.pick(values);
      return { said: value.replaceAll("_", " "), value, careless: options.get(value) };
    },
  };
}

/** Free text; the bank is divided by commas. */
export function text(name: string, list: string): Parameter {
  const bank = list.split(", ");
  return {
    name,
    schema: { type: "string" },
    draw: (random) => {
      const value = random.pick(bank);
      return { said: value, value, careless: value };
    },
  };
}

export function date(name = "date"): Parameter {
  return {
    name,
    schema: { type: "string", description: "YYYY-MM-DD" },
    slip: "format",
    draw: (random) => {
      const [month, day] = [random.integer(12), 1 + random.integer(28)];
      const said = `${months[month]} ${day}, 2026`;
      return { said, value: `2026-${two(month + 1)}-${two(day)}`, careless: `${day}/${month + 1}/26` };
    },
  };
}

export function time(name = "time"): Parameter {
  return {
    name,
    schema: { type: "string", description: "HH:MM" },
    slip: "format",
    draw: (random) => {
      const [hour, minute] = [1 + random.integer(11), random.pick(["00", "15", "30", "45"])];
      const after = random.integer(2) === 1;
      const said = `${hour}:${minute} ${after ? "pm" : "am"}`;
      return { said, value: `${two(after ? hour + 12 : hour)}:${minute}`, careless: said };
    },
  };
}

const durations: [said: string, minutes: number][] = [
  ["half an hour", 30],
  ["one hour", 60],
  ["two hours", 120],
  ["a quarter of an hour", 15],
  ["20 minutes", 20],
  ["45 minutes", 45],
  ["90 minutes", 90],
];

export function minutes(name = "minutes"): Parameter {
  return {
    name,
    schema: { type: "integer", minimum: 1 },
    slip: "format",
    draw: (random) => {
      const [said, value] = random.pick(durations);
      return { said, value, careless: said };
    },
  };
}

export function code(name: string, prefix: string): Parameter {
  return {
    name,
    schema: { type: "string" },
    draw: (random) => {
      const value = `${prefix}${1000 + random.integer(9000)}`;
      return { said: value, value, careless: value };
    },
  };
}

export const optional = (parameter: Parameter): Parameter => ({ ...parameter, optional: true });
