/** Evaluations of the same task side by side: before and after, or several runs. */

import { Table, Text } from "@mantine/core";
import type { TFunction } from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { EvalReport, GameCell, Interval, Measures } from "../../core/contract/eval.ts";
import { formatPercent } from "../../core/contract/units.ts";
import { Term } from "./term.tsx";

export type ShownReport = Omit<EvalReport, "control"> & { control?: EvalReport["control"] };

export interface LabelledReport {
  label: string;
  report: ShownReport;
}

interface Row {
  key: string;
  name: ReactNode;
  cells: (string | undefined)[];
}

/** All reports must be of one task. A row that no report has is left out. */
export function EvaluationTable({ reports }: { reports: readonly LabelledReport[] }) {
  const { t } = useTranslation();
  const rows = [...useMeasureRows(reports), ...useGameRows(reports)].filter(({ cells }) =>
    cells.some((cell) => cell !== undefined),
  );
  const [{ report: first }] = reports;
  const references = Object.entries(first.reference);
  return (
    <Table.ScrollContainer minWidth={420} type="native">
      <Table aria-label={t("evaluation.title")}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("evaluation.measure")}</Table.Th>
            {reports.map(({ label }) => (
              <Table.Th key={label}>{label}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ key, name, cells }) => (
            <Table.Tr key={key}>
              <Table.Th scope="row" fw={400}>
                {name}
              </Table.Th>
              {cells.map((cell, index) => (
                <Table.Td key={index} className="hone-numbers">
                  {cell ?? "–"}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="xs" className="hone-muted" mt={4}>
        {t("evaluation.rows", { rows: first.rows, problems: first.problems, samples: first.samples })}{" "}
        <Term name="confidence_interval">{t("evaluation.intervals")}</Term>
        {references.length > 0 &&
          ` ${t("evaluation.reference", { list: references.map(([name, value]) => `${referenceName(name, t)} ${value.toFixed(3)}`).join(", ") })}`}
      </Text>
    </Table.ScrollContainer>
  );
}

function referenceName(name: string, t: TFunction): string {
  return t(`evaluation.references.${name}`, { defaultValue: name });
}

function useMeasureRows(reports: readonly LabelledReport[]): Row[] {
  const { t } = useTranslation();
  const of = <T,>(pick: (report: ShownReport) => T) => reports.map(({ report }) => pick(report));
  const outcomes = [...new Set(reports.flatMap(({ report }) => Object.keys(report.rates)))];
  const [{ report: first }] = reports;
  return [
    { key: "reward", name: <Term name="reward" />, cells: of(({ reward }) => interval(reward)) },
    {
      key: "greedy",
      name: <Term name="greedy_reward" />,
      cells: of(({ greedy }) => (greedy === null ? undefined : interval(greedy.reward))),
    },
    ...outcomes.map((name) => ({
      key: `rate ${name}`,
      name: t(`evaluation.outcomes.${name}`, { defaultValue: first.labels.outcomes[name] ?? name }),
      cells: of(({ rates }) => percents(rates[name])),
    })),
    {
      key: "solution",
      name: <Term name="solution_loss" />,
      cells: of(({ solution }) => (solution === null ? undefined : interval(solution.loss))),
    },
    {
      key: "preference",
      name: <Term name="preference_accuracy" />,
      cells: of(({ preference }) => (preference === null ? undefined : percents(preference.accuracy))),
    },
    {
      key: "length",
      name: <Term name="response_length" />,
      cells: of(({ response_length: length }) =>
        t("evaluation.tokens", { mean: length.mean.toFixed(1), max: length.max }),
      ),
    },
    ...(["call", "rules", "state", "choice"] as const).map((fault) => ({
      key: `fault ${fault}`,
      name: <Term name={`fault_${fault}`} />,
      cells: of(({ faults }: Measures) => formatPercent(faults[fault], 1)),
    })),
    {
      key: "control",
      name: <Term name="control" />,
      cells: of(({ control }) => (control == null ? undefined : interval(control.text_loss))),
    },
  ];
}

function useGameRows(reports: readonly LabelledReport[]): Row[] {
  const { t } = useTranslation();
  const opponents = [...new Set(reports.flatMap(({ report }) => Object.keys(report.games)))];
  return opponents.flatMap((opponent) =>
    (["x", "o"] as const).map((side) => ({
      key: `games ${opponent} ${side}`,
      name: t("evaluation.games", {
        side: side.toUpperCase(),
        opponent: t(`evaluation.opponents.${opponent}`, { defaultValue: opponent }),
      }),
      cells: reports.map(({ report }) => {
        const cell = (report.games[opponent] as (typeof report.games)[string] | undefined)?.[side];
        return cell === undefined ? undefined : gameText(cell, t);
      }),
    })),
  );
}

function gameText({ win, draw, loss, illegal }: GameCell, t: TFunction): string {
  const all = Math.max(1, win + draw + loss + illegal);
  const share = (count: number) => formatPercent(count / all);
  return t("evaluation.results", { win: share(win), draw: share(draw), loss: share(loss + illegal) });
}

function interval(value: Interval | null): string | undefined {
  return value === null ? undefined : `${value.mean.toFixed(3)} (${value.lo.toFixed(3)} … ${value.hi.toFixed(3)})`;
}

function percents(value: Interval | null | undefined): string | undefined {
  return value == null
    ? undefined
    : `${formatPercent(value.mean, 1)} (${formatPercent(value.lo, 1)} … ${formatPercent(value.hi, 1)})`;
}
