/** Charts of metrics. The only file that knows the chart library. */

import { Switch, Table, Text } from "@mantine/core";
import type { TFunction } from "i18next";
import { useId, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import {
  Area,
  CartesianGrid,
  ComposedChart,
  Line,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { formatSeconds } from "../../core/contract/units.ts";
import classes from "./charts.module.css";
import { Term } from "./term.tsx";
import { chartRows, pieceKeys, niceTicks, yDomain, type ChartSeries } from "./chart-data.ts";

export interface ChartMarker {
  x: number;
  kind: "checkpoint" | "best" | "alarm" | "resume";
  label: string;
}

export interface MetricChartProps {
  title: string;
  /** The word of the field that the title is, as a key below `terms`. */
  term?: string;
  series: readonly ChartSeries[];
  /** Values to hold the curve against: random play, the best possible. */
  references?: readonly { label: string; value: number }[];
  markers?: readonly ChartMarker[];
  /** Weight of the past in the moving average, 0 to 0.99. */
  smoothing?: number;
  log?: boolean;
  /** What x counts: steps, or seconds. */
  xAxis?: "step" | "time";
  format?: (value: number) => string;
  height?: number;
  /** Charts of the same group share their crosshair. */
  group?: string;
}

const seriesColors = [1, 2, 3, 4, 5].map((index) => `var(--hone-series-${index})`);
const markerColors: Record<ChartMarker["kind"], string> = {
  checkpoint: "var(--hone-line)",
  best: "var(--hone-good)",
  alarm: "var(--hone-bad)",
  resume: "var(--hone-warn)",
};

const plain = (value: number): string =>
  Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));

export function MetricChart(props: MetricChartProps) {
  const { title, series, references = [], markers = [], smoothing = 0.6, log = false, xAxis = "step" } = props;
  const { format = plain, height = 200, group, term } = props;
  const { t } = useTranslation();
  const id = useId();
  const [asTable, setAsTable] = useState(false);
  const rows = useMemo(() => chartRows(series, { smoothing, log }), [series, smoothing, log]);
  const shown = series.filter(({ points }) => points.length > 0);
  const domain = yDomain(
    rows,
    references.map(({ value }) => value),
    log,
  );
  const xText = (x: number) => (xAxis === "step" ? String(x) : formatSeconds(x));
  const colorOf = (index: number) => series[index]?.color ?? seriesColors[index % seriesColors.length];
  return (
    <figure className={classes.chart} aria-labelledby={id}>
      <figcaption className={classes.caption}>
        <Text fw={600} size="sm" id={id}>
          {term === undefined ? title : <Term name={term}>{title}</Term>}
        </Text>
        <Switch
          size="xs"
          className={classes.switch}
          label={t("chart.table")}
          checked={asTable}
          onChange={(event) => setAsTable(event.currentTarget.checked)}
          aria-label={t("chart.tableOf", { title })}
        />
      </figcaption>
      {shown.length === 0 ? (
        <div className={classes.empty} style={{ height }}>
          {t("chart.empty")}
        </div>
      ) : asTable ? (
        <ChartTable title={title} series={shown} format={format} xText={xText} xAxis={xAxis} height={height} />
      ) : (
        <>
          <div aria-hidden>
            <ResponsiveContainer width="100%" height={height}>
              <ComposedChart
                data={rows}
                accessibilityLayer={false}
                margin={{ top: 6, right: 12, bottom: 0, left: 0 }}
                {...(group && { syncId: group, syncMethod: "value" as const })}
              >
                <CartesianGrid stroke="var(--hone-line)" strokeDasharray="2 4" vertical={false} />
                <XAxis
                  dataKey="x"
                  type="number"
                  domain={["dataMin", "dataMax"]}
                  {...(rows.length > 1 && { ticks: xTicks([rows[0].x, rows[rows.length - 1].x], xAxis) })}
                  tickFormatter={xText}
                  tick={{ fontSize: 11, fill: "var(--hone-muted)" }}
                  stroke="var(--hone-line)"
                />
                <YAxis
                  domain={domain}
                  scale={log ? "log" : "linear"}
                  {...(!log && { ticks: niceTicks(domain) })}
                  allowDataOverflow
                  width={58}
                  tickFormatter={format}
                  tick={{ fontSize: 11, fill: "var(--hone-muted)" }}
                  stroke="var(--hone-line)"
                />
                <Tooltip
                  isAnimationActive={false}
                  content={({ active, label }) =>
                    active === true && typeof label === "number" ? (
                      <ChartTip
                        series={shown}
                        x={label}
                        xText={xText}
                        format={format}
                        colorOf={(one) => colorOf(series.indexOf(one))}
                        markers={markers}
                      />
                    ) : null
                  }
                />
                {references.map(({ label, value }) => (
                  <ReferenceLine
                    key={label}
                    y={value}
                    stroke="var(--hone-muted)"
                    strokeDasharray="6 4"
                    label={{ value: label, position: "insideTopRight", fontSize: 11, fill: "var(--hone-muted)" }}
                  />
                ))}
                {markers.map(({ x, kind, label }) => (
                  <ReferenceLine
                    key={`${kind} ${x} ${label}`}
                    x={x}
                    stroke={markerColors[kind]}
                    strokeWidth={kind === "checkpoint" ? 1 : 1.5}
                    {...(kind === "resume" && { strokeDasharray: "3 3" })}
                  />
                ))}
                {series.flatMap((one, index) => curvesOf(one, colorOf(index), smoothing > 0))}
              </ComposedChart>
            </ResponsiveContainer>
          </div>
          {series.length > 1 && shown.length > 0 && (
            <ul className={classes.legend}>
              {shown.map((one) => (
                <li key={one.id}>
                  <span className={classes.swatch} style={{ background: colorOf(series.indexOf(one)) }} aria-hidden />
                  {one.label}
                </li>
              ))}
            </ul>
          )}
          <p className="hone-unseen">{shown.map((one) => summary(one, format, t)).join(" ")}</p>
        </>
      )}
    </figure>
  );
}

/** There is no half step. */
function xTicks(range: readonly [number, number], axis: "step" | "time"): number[] {
  const ticks = niceTicks(range, 6);
  return axis === "time" ? ticks : ticks.filter(Number.isInteger);
}

/** The interval, the measured values faintly, and over them the smoothed ones; in pieces where there is a gap. */
function curvesOf(series: ChartSeries, color: string, isSmoothed: boolean) {
  const { id, band, dots = false } = series;
  const line = { stroke: color, isAnimationActive: false, connectNulls: true };
  return [
    band !== undefined && (
      <Area
        key={`${id} band`}
        dataKey={`${id} band`}
        {...line}
        stroke="none"
        fill={color}
        fillOpacity={0.15}
        activeDot={false}
      />
    ),
    ...pieceKeys(series).flatMap((key) => [
      isSmoothed && !dots && (
        <Line
          key={`${key} raw`}
          dataKey={`${key} raw`}
          {...line}
          strokeOpacity={0.25}
          strokeWidth={1}
          dot={false}
          activeDot={false}
        />
      ),
      <Line
        key={key}
        dataKey={key}
        {...line}
        strokeWidth={dots ? 1.5 : 2}
        dot={dots ? { r: 2.5, fill: color, strokeWidth: 0 } : false}
        activeDot={{ r: 3 }}
      />,
    ]),
  ];
}

/** A curve in one sentence, for who cannot see it. */
function summary({ label, points }: ChartSeries, format: (value: number) => string, t: TFunction) {
  const [first, last] = [points[0], points[points.length - 1]];
  const values = points.map(({ y }) => y);
  return t("chart.summary", {
    label,
    first: format(first.y),
    last: format(last.y),
    least: format(Math.min(...values)),
    most: format(Math.max(...values)),
    count: points.length,
  });
}

interface ChartTipProps {
  series: readonly ChartSeries[];
  x: number;
  xText: (x: number) => string;
  format: (value: number) => string;
  colorOf: (series: ChartSeries) => string;
  markers: readonly ChartMarker[];
}

function ChartTip({ series, x, xText, format, colorOf, markers }: ChartTipProps) {
  const here = markers.filter((marker) => marker.x === x);
  return (
    <div className={classes.tip}>
      <div className="hone-muted">{xText(x)}</div>
      {series.map((one) => {
        const point = one.points.find((candidate) => candidate.x === x);
        if (point === undefined) return null;
        return (
          <div key={one.id} className="hone-numbers">
            <span className={classes.swatch} style={{ background: colorOf(one) }} /> {one.label}{" "}
            <b>{format(point.y)}</b>
          </div>
        );
      })}
      {here.map(({ label }) => (
        <div key={label}>{label}</div>
      ))}
    </div>
  );
}

interface ChartTableProps {
  title: string;
  series: readonly ChartSeries[];
  format: (value: number) => string;
  xText: (x: number) => string;
  xAxis: "step" | "time";
  height: number;
}

/** Every measured value. Long runs show evenly chosen rows, ends included. */
function ChartTable({ title, series, format, xText, xAxis, height }: ChartTableProps) {
  const { t } = useTranslation();
  const all = [...new Set(series.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const every = Math.ceil(all.length / 200);
  const xs = all.filter((_, index) => index % every === 0 || index === all.length - 1);
  return (
    <div style={{ height, overflow: "auto" }} tabIndex={0} role="region" aria-label={title}>
      <Table stickyHeader aria-label={title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t(`chart.${xAxis}`)}</Table.Th>
            {series.map(({ id, label }) => (
              <Table.Th key={id}>{label}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {xs.map((x) => (
            <Table.Tr key={x}>
              <Table.Th scope="row" className="hone-numbers" fw={400}>
                {xText(x)}
              </Table.Th>
              {series.map(({ id, points }) => {
                const point = points.find((candidate) => candidate.x === x);
                return (
                  <Table.Td key={id} className="hone-numbers">
                    {point === undefined ? "" : format(point.y)}
                  </Table.Td>
                );
              })}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
