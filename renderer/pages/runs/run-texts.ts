import type { TFunction } from "i18next";
import type { ListedRun } from "../../../core/contract/api/run-calls.ts";
import { metricLabel } from "../../../core/contract/metric-labels.ts";

/** The last part of a path; a short name stays. */
export function shortModel(reference: string): string {
  return (
    reference
      .split(/[\\/]/)
      .filter((part) => part !== "")
      .at(-1) ?? reference
  );
}

/** The best checkpoint's value beside what it was before training. */
export function measuredText({ best, first_measured: first }: ListedRun, t: TFunction): string {
  if (best === null) return "–";
  const { format } = metricLabel(best.metric);
  const name = t(`metrics.${best.metric}`, { nsSeparator: false, defaultValue: metricLabel(best.metric).label });
  const before = first === null ? "" : `${format(first)} → `;
  return `${name} ${before}${format(best.value)} (${t("runs.atStep", { step: best.step })})`;
}
