/** How busy the machine is while a run trains: the last minutes, once a second. */

import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { SystemLoad } from "../../../core/contract/api/app-calls.ts";
import { formatPercent } from "../../../core/contract/units.ts";
import { useApi } from "../../app/hone-context.tsx";
import { MetricChart } from "../charts.tsx";

/** Ten minutes. */
const mostSamples = 600;

export function LoadChart() {
  const { t } = useTranslation();
  const api = useApi();
  const [samples, setSamples] = useState<SystemLoad[]>([]);
  useEffect(
    () =>
      api.subscribe("load", (load) => {
        setSamples((before) => [...before.slice(1 - mostSamples), load]);
      }),
    [api],
  );
  const begun = samples[0]?.time ?? 0;
  const points = (value: (load: SystemLoad) => number) =>
    samples.map((load) => ({ x: load.time - begun, y: value(load) }));
  return (
    <MetricChart
      title={t("train.chart.load")}
      series={[
        { id: "cpu", label: t("train.loadChart.cpu"), points: points(({ cpu }) => cpu) },
        {
          id: "memory",
          label: t("train.loadChart.memory"),
          points: points(({ memory_used: used, memory_total: total }) => used / total),
        },
      ]}
      xAxis="time"
      format={(share) => formatPercent(share)}
      height={160}
    />
  );
}
