/** An evaluation as it is printed: the report, and every rate and the number of rows also under their own names. */

import type { EvalOutput, EvalReport, Measures } from "../../contract/eval.ts";

export function evalOutput(report: EvalReport): EvalOutput {
  return {
    ...withNamedRates(report),
    [`${report.row_name}s`]: report.rows,
    greedy: report.greedy === null ? null : withNamedRates(report.greedy),
  };
}

function withNamedRates<T extends Measures>(measures: T): T & Record<string, unknown> {
  const named = Object.entries(measures.rates).map(([name, rate]) => [`${name}_rate`, rate] as const);
  return {
    ...measures,
    ...(Object.fromEntries(named) as Record<string, unknown>),
    ...("legal" in measures.rates && { reward_given_legal: measures.reward_given_allowed }),
  };
}
