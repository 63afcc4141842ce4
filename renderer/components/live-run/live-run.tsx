/** A run as it learns, or as it has learnt: curves, alarms, answers. */

import { SegmentedControl, Slider, Stack, Switch, Text } from "@mantine/core";
import type { TFunction } from "i18next";
import { memo, useDeferredValue, useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { useApi, useApp } from "../../app/hone-context.tsx";
import { createRunStore } from "../../stores/run-store.ts";
import { MetricChart, type ChartMarker } from "../charts.tsx";
import { ErrorBox } from "../error-box.tsx";
import { Loading } from "../loaded-view.tsx";
import { LiveRollouts } from "./live-rollouts.tsx";
import { LoadChart } from "./load-chart.tsx";
import classes from "./live-run.module.css";
import { RunAlarms } from "./run-alarms.tsx";
import { chartPlans, chartSeries, percentFormat } from "./run-charts.ts";
import { RunControls } from "./run-controls.tsx";

export function LiveRun({ run: name }: { run: string }) {
  const api = useApi();
  const store = useMemo(() => createRunStore(api, name), [api, name]);
  const { run, error } = useStore(store);
  // Drawing the curves may take its time, a click may not: React draws them in between.
  const drawn = useDeferredValue(run);
  useEffect(() => store.follow(), [store]);
  if (error !== undefined && run === undefined) return <ErrorBox error={error} />;
  if (run === undefined || drawn === undefined) return <Loading />;
  return (
    <Stack gap="sm">
      <RunControls run={run} />
      <RunAlarms run={run} />
      <div className={classes.columns}>
        <RunCharts run={drawn} />
        <LiveRollouts run={run} />
      </div>
    </Stack>
  );
}

/** Known players that say little of a curve: the table of an evaluation has them. */
const dullReferences: Readonly<Record<string, true>> = { worst_legal: true, uniform_squares: true, never_legal: true };

const RunCharts = memo(function RunCharts({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  const [smoothing, setSmoothing] = useState(0.6);
  const [log, setLog] = useState(false);
  const [axis, setAxis] = useState<"step" | "time">("step");
  const begun = run.metrics.at(0)?.time ?? 0;
  const timeOf = (step: number) => run.metrics.findLast((row) => row.step <= step)?.time ?? begun;
  const xOf = (step: number) => (axis === "step" ? step : timeOf(step) - begun);
  const markers = markersOf(run, t).map((marker) => ({ ...marker, x: xOf(marker.x) }));
  const references = Object.entries(run.references)
    .filter(([id]) => !(id in dullReferences))
    .map(([id, value]) => ({ label: t(`evaluation.references.${id}`, { defaultValue: id }), value }));
  // What the model could do before training: the line that a run has to leave behind.
  const first = run.metrics.find(({ step }) => step === 0)?.["eval_reward"];
  if (first !== undefined) references.push({ label: t("train.base"), value: first });
  const isActive = useApp(({ jobs }) => jobs.some((job) => job.run === run.name && job.ended === null));
  return (
    <Stack gap="sm" miw={0}>
      <div className={classes.controls}>
        <div className={classes.slider}>
          <Text size="sm" id="chart-smoothing">
            {t("chart.smoothing")}
          </Text>
          <Slider
            w={140}
            size="sm"
            min={0}
            max={0.99}
            step={0.01}
            value={smoothing}
            onChange={setSmoothing}
            thumbProps={{ "aria-labelledby": "chart-smoothing" }}
          />
        </div>
        <SegmentedControl
          size="xs"
          data={(["step", "time"] as const).map((value) => ({ value, label: t(`chart.${value}`) }))}
          value={axis}
          onChange={(value) => setAxis(value)}
          aria-label={t("chart.axis")}
        />
        <Switch
          size="xs"
          label={t("chart.log")}
          checked={log}
          onChange={(event) => setLog(event.currentTarget.checked)}
        />
      </div>
      <div className={classes.charts}>
        {chartPlans(run).map((plan) => (
          <div key={plan.id} className="hone-card" data-testid={`chart-${plan.id}`}>
            <MetricChart
              title={t(`train.chart.${plan.id}`)}
              term={`chart_${plan.id}`}
              series={chartSeries(run, plan, { axis }, (metric) => metricName(metric, t))}
              references={plan.references === true ? references : []}
              markers={markers}
              smoothing={smoothing}
              log={log}
              xAxis={axis}
              group={run.name}
              height={plan.id === "reward" || plan.id === "length" ? 210 : 160}
              {...(plan.percent === true && { format: percentFormat })}
              {...(plan.id === "speed" && { format: formatCount })}
            />
          </div>
        ))}
        {isActive && (
          <div className="hone-card">
            <LoadChart />
          </div>
        )}
      </div>
    </Stack>
  );
});

/** A metric's plain name; a task's own outcomes are named by the task. */
function metricName(metric: string, t: TFunction): string {
  const own = /^(?:eval_)?outcomes\/(.+)$/.exec(metric)?.[1];
  if (own !== undefined) return t(`evaluation.outcomes.${own}`, { defaultValue: own.replaceAll("_", " ") });
  return t(`metrics.${metric}`, { defaultValue: metric });
}

function markersOf(run: RunDetails, t: TFunction): ChartMarker[] {
  return [
    ...run.checkpoints.map((step) => ({
      x: step,
      kind: step === run.best?.step ? ("best" as const) : ("checkpoint" as const),
      label: t(step === run.best?.step ? "train.marker.best" : "train.marker.checkpoint", { step }),
    })),
    ...run.seams.map(({ step }) => ({ x: step, kind: "resume" as const, label: t("train.marker.resume", { step }) })),
    ...run.events
      .filter(({ kind }) => kind === "alarm")
      .map(({ step, message }) => ({ x: step, kind: "alarm" as const, label: message })),
  ];
}
