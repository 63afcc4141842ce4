/** Up to five runs beside each other: curves, options that differ, what was measured. */

import { Anchor, Breadcrumbs, Group, Select, Slider, Stack, Switch, Table, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useSearch } from "wouter";
import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import { useApi, useLoaded } from "../../app/hone-context.tsx";
import { MetricChart } from "../../components/charts.tsx";
import { EvaluationTable } from "../../components/evaluation-table.tsx";
import { EmptyState, LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { compareConfigs } from "./config-diff.ts";
import { OptionName } from "./option-name.tsx";
import { mostCompared } from "./run-list.tsx";

export function RunCompare() {
  const { t } = useTranslation();
  const names = (new URLSearchParams(useSearch()).get("runs") ?? "").split(",").filter((name) => name !== "");
  return (
    <Page
      title={t("runs.compare.title")}
      lead={
        <Breadcrumbs>
          <Anchor component={Link} href="/runs" size="sm">
            {t("nav.runs")}
          </Anchor>
          <Text size="sm">{t("runs.compare.title")}</Text>
        </Breadcrumbs>
      }
    >
      {names.length < 2 ? (
        <EmptyState title={t("runs.compare.title")}>{t("runs.compare.few")}</EmptyState>
      ) : (
        <Compared names={names.slice(0, mostCompared)} />
      )}
    </Page>
  );
}

function Compared({ names }: { names: readonly string[] }) {
  const { t } = useTranslation();
  const api = useApi();
  const loaded = useLoaded(names.join(","), (signal) =>
    Promise.all(
      names.map(async (run) => ({
        details: await api.call("runs.read", { run }, { signal }),
        evaluations: (await api.call("runs.evaluations", { run }, { signal })).evaluations,
      })),
    ),
  );
  return (
    <LoadedView of={loaded}>
      {(runs) => {
        const measured = runs.flatMap(({ details, evaluations }) => {
          const last = evaluations.at(-1);
          return last === undefined ? [] : [{ label: details.name, report: last.report }];
        });
        const tasks = new Set(runs.map(({ details }) => details.task));
        return (
          <Stack gap="md">
            {tasks.size > 1 && <Text role="status">{t("runs.compare.otherTasks")}</Text>}
            {measured.length > 1 && tasks.size === 1 && (
              <Stack gap="xs" className="hone-card">
                <Title order={2} size="h5">
                  {t("runs.compare.evaluations")}
                </Title>
                <EvaluationTable reports={measured} />
              </Stack>
            )}
            <Curves runs={runs.map(({ details }) => details)} />
            <Options runs={runs.map(({ details }) => details)} />
          </Stack>
        );
      }}
    </LoadedView>
  );
}

/** One metric of all runs in one picture. */
function Curves({ runs }: { runs: readonly RunDetails[] }) {
  const { t } = useTranslation();
  const names = [...new Set(runs.flatMap(({ metrics }) => metrics.flatMap((row) => Object.keys(row))))]
    .filter((name) => !/^(step|time)$|\/(lo|hi)$/.test(name))
    .sort();
  const isShared = (name: string) => runs.every(({ metrics }) => metrics.some((row) => row[name] !== undefined));
  const known = ["reward", "eval_reward", "eval_loss", "loss"].filter((name) => names.includes(name));
  // One that all of them have says more than one of a single run.
  const usual = known.find(isShared) ?? known.at(0) ?? names[0];
  const [metric, setMetric] = useState(usual);
  const [smoothing, setSmoothing] = useState(0.6);
  if (metric === undefined) return null;
  return (
    <Stack gap="xs" className="hone-card">
      <Title order={2} size="h5">
        {t("runs.compare.curves")}
      </Title>
      <Group align="flex-end">
        <Select
          label={t("runs.compare.metric")}
          data={names.map((value) => ({
            value,
            label: `${t(`metrics.${value}`, { defaultValue: value })} · ${value}`,
          }))}
          value={metric}
          onChange={(value) => setMetric(value ?? usual)}
          searchable
          w={340}
        />
        <Stack gap={4} w={160}>
          <Text size="sm" id="compare-smoothing">
            {t("chart.smoothing")}
          </Text>
          <Slider
            size="sm"
            min={0}
            max={0.99}
            step={0.01}
            value={smoothing}
            onChange={setSmoothing}
            thumbProps={{ "aria-labelledby": "compare-smoothing" }}
          />
        </Stack>
      </Group>
      <MetricChart
        title={t(`metrics.${metric}`, { defaultValue: metric })}
        series={runs.map(({ name, metrics }) => ({
          id: name,
          label: name,
          points: metrics.flatMap((row) => (row[metric] === undefined ? [] : [{ x: row.step, y: row[metric] }])),
          dots: metric.startsWith("eval_"),
        }))}
        references={sameReferences(runs)
          .map(([name, value]) => ({
            label: t(`evaluation.references.${name}`, { defaultValue: name }),
            value: metric === "reward" || metric === "eval_reward" ? value : NaN,
          }))
          .filter(({ value }) => Number.isFinite(value))}
        smoothing={smoothing}
        height={300}
      />
    </Stack>
  );
}

/** Lines that mean the same for all of the runs. */
function sameReferences(runs: readonly RunDetails[]): [string, number][] {
  return Object.entries(runs[0].references).filter(
    ([name, value]) => ["uniform_legal", "best"].includes(name) && runs.every((run) => run.references[name] === value),
  );
}

function Options({ runs }: { runs: readonly RunDetails[] }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const rows = compareConfigs(runs.map(({ config }) => config)).filter(({ differs }) => all || differs);
  return (
    <Stack gap="xs" className="hone-card">
      <Title order={2} size="h5">
        {t("runs.compare.options")}
      </Title>
      <Switch
        label={t("runs.compare.onlyDifferent")}
        checked={!all}
        onChange={(event) => setAll(!event.currentTarget.checked)}
      />
      {rows.length === 0 ? (
        <Text className="hone-muted">{t("runs.compare.same")}</Text>
      ) : (
        <Table.ScrollContainer minWidth={600} type="native">
          <Table aria-label={t("runs.compare.options")}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("runs.compare.options")}</Table.Th>
                {runs.map(({ name }) => (
                  <Table.Th key={name}>{name}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map(({ name, values, differs }) => (
                <Table.Tr key={name}>
                  <Table.Th scope="row" fw={differs ? 600 : 400}>
                    <OptionName name={name} />
                  </Table.Th>
                  {values.map((value, index) => (
                    <Table.Td key={index} ff="monospace" style={{ overflowWrap: "anywhere" }}>
                      {value ?? "–"}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Stack>
  );
}
