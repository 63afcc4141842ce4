/** What kind of value an option takes: a flag and a field of a form are made from it. */

import { z } from "zod";

export type OptionKind =
  { type: "number" | "string" | "boolean" | "list" } | { type: "choice"; values: readonly string[] };

export function kindOf(schema: z.ZodType): OptionKind {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return kindOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodEnum) return { type: "choice", values: schema.options.map(String) };
  if (schema instanceof z.ZodNumber) return { type: "number" };
  if (schema instanceof z.ZodBoolean) return { type: "boolean" };
  if (schema instanceof z.ZodArray) return { type: "list" };
  return { type: "string" };
}
