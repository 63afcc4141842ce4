/** Measures how fast a model answers. The figure is kept, and scaled for models of other sizes. */

import type { CheckedInput } from "../../contract/api/api.ts";
import type { FitReport } from "../../contract/hub.ts";
import { createEngine } from "../../engine/engine.ts";
import { fitReference } from "../models/fit-reference.ts";
import type { WorkContext } from "../service/work.ts";

export async function measureSpeedWork(
  { reference }: CheckedInput<"models.measure">,
  context: WorkContext,
): Promise<FitReport> {
  context.report({ phase: "measuring" });
  return fitReference(await createEngine(), reference, { measure: true, signal: context.signal });
}
