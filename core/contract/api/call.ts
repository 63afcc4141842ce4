/** How a call of the app's contract is written down: what it takes is checked, what it gives is a type. */

import type { z } from "zod";

/** One call: the schema of its input, and (in types only) its result. */
export interface Call<Input extends z.ZodType, Result> {
  readonly input: Input;
  /** Never set: it carries the type of the result. */
  readonly result?: Result;
}

/** `call<Result>()(inputSchema)`: the result's type is given, the input's type is taken from its schema. */
export function call<Result>(): <Input extends z.ZodType>(input: Input) => Call<Input, Result> {
  return (input) => ({ input });
}
