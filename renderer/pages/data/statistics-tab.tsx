/** What the rows are like: lengths, roles, repetition, empty answers, and rows that stand in a test set, too. */

import { Anchor, Button, Group, Select, SimpleGrid, Stack, Switch, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { DatasetView } from "../../../core/contract/api/data-calls.ts";
import type { DataStats } from "../../../core/contract/data-json.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { ModelPicker } from "../../components/model-picker.tsx";
import { Term } from "../../components/term.tsx";
import { Bars } from "./bars.tsx";
import type { Changes } from "./use-changes.ts";
import { ReadingProgress, useReading } from "./use-reading.tsx";

export function StatisticsTab({ view, changes }: { view: DatasetView; changes: Changes }) {
  const { t } = useTranslation();
  const { name } = view;
  const [inTokens, setInTokens] = useState(false);
  const [model, setModel] = useState("starter");
  const [against, setAgainst] = useState<string | null>(null);
  const listed = useCall("data.list", {}, { follow: "datasets" });
  const reading = useReading("data.stats");
  const [stats, setStats] = useState<DataStats>();
  const { point } = changes;
  const start = useRef(reading.run);
  start.current = reading.run;
  const measured = inTokens ? model : null;
  useEffect(() => {
    void start.current({ name, model: measured, against }).then((result) => {
      if (result !== undefined) setStats(result);
    });
  }, [name, measured, against, point]);
  const others = (listed.value?.datasets ?? []).map((one) => one.name).filter((one) => one !== name);
  return (
    <Stack gap="md">
      <Group align="flex-end" gap="md">
        <Switch
          label={t("data.stats.inTokens")}
          checked={inTokens}
          onChange={(event) => setInTokens(event.currentTarget.checked)}
          pb={8}
        />
        {inTokens && <ModelPicker label={t("data.tokens.model")} value={model} onChange={setModel} />}
        <Select
          label={t("data.stats.against")}
          placeholder={t("data.stats.againstNone")}
          data={others}
          value={against}
          onChange={setAgainst}
          clearable
          w={240}
        />
      </Group>
      <ReadingProgress of={reading} label={t("data.stats.measuring")} />
      {reading.error !== undefined && <ErrorBox error={reading.error} />}
      {stats !== undefined && <Figures view={view} stats={stats} changes={changes} />}
    </Stack>
  );
}

function Figures({ view: { name }, stats, changes }: { view: DatasetView; stats: DataStats; changes: Changes }) {
  const { t } = useTranslation();
  const { length, unit, roles, trained } = stats;
  const lengths = length.histogram.map(({ from, to, rows }) => ({
    name: to - 1 === from ? formatCount(from) : `${formatCount(from)} – ${formatCount(to - 1)}`,
    count: rows,
  }));
  const figures: [string, string][] = [
    [t("data.stats.rows"), formatCount(stats.rows)],
    [t(`data.stats.total.${unit}`), formatCount(length.total)],
    ...(trained === null ? [] : ([[t("data.stats.trained"), formatCount(trained)]] as [string, string][])),
    [t("data.stats.mean"), length.mean.toFixed(1)],
    [t("data.stats.median"), formatCount(length.median)],
    [t("data.stats.p95"), formatCount(length.p95)],
    [t("data.stats.max"), formatCount(length.max)],
  ];
  return (
    <Stack gap="md">
      <Group gap="xl" className="hone-card" component="dl" m={0}>
        {figures.map(([label, value]) => (
          <div key={label}>
            <Text size="xs" className="hone-muted" component="dt">
              {label}
            </Text>
            <Text fw={600} className="hone-numbers" component="dd" m={0}>
              {value}
            </Text>
          </div>
        ))}
      </Group>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <div className="hone-card">
          <Bars label={t(`data.stats.lengths.${unit}`)} of={lengths} />
          {stats.longest_row !== null && (
            <Text size="sm" mt="sm">
              <Anchor component={Link} href={rowsLink(name, [stats.longest_row])} size="sm">
                {t("data.stats.longest", { row: formatCount(stats.longest_row) })}
              </Anchor>
            </Text>
          )}
        </div>
        <Stack gap="md">
          {Object.keys(roles).length > 0 && (
            <div className="hone-card">
              <Bars
                label={t("data.stats.roles")}
                of={Object.entries(roles).map(([role, count]) => ({ name: role, count }))}
              />
            </div>
          )}
          <div className="hone-card">
            <Bars
              label={t("data.stats.quality")}
              of={[
                { name: t("data.stats.duplicates"), count: stats.duplicates.count },
                { name: t("data.stats.near"), count: stats.near_duplicates.count },
                { name: t("data.stats.repeatedPrompts"), count: stats.repeated_prompts },
                { name: t("data.stats.empty"), count: stats.empty_answers.count },
                ...(stats.leaked === null ? [] : [{ name: t("data.stats.leaked"), count: stats.leaked.count }]),
                ...(stats.refused.count === 0 ? [] : [{ name: t("data.stats.refused"), count: stats.refused.count }]),
              ]}
            />
          </div>
        </Stack>
      </SimpleGrid>
      <Suggestions name={name} stats={stats} changes={changes} />
    </Stack>
  );
}

function rowsLink(name: string, rows: readonly number[]): string {
  return `/data/${encodeURIComponent(name)}?tab=rows&rows=${rows.slice(0, 500).join(",")}`;
}

/** What could be done about the rows, each with one action. */
function Suggestions({ name, stats, changes }: { name: string; stats: DataStats; changes: Changes }) {
  const { t } = useTranslation();
  const dedupe = useReading("data.dedupe");
  const remove = async (near: boolean) => {
    const done = await dedupe.run({ name, point: changes.point, near });
    if (done !== undefined) changes.made(done);
  };
  const { duplicates, near_duplicates: near, empty_answers: empty, leaked, refused } = stats;
  const lines = [
    { key: "duplicates", count: duplicates.count, rows: duplicates.groups.flat(), near: false },
    { key: "near", count: near.count, rows: near.groups.flat(), near: true },
    { key: "empty", count: empty.count, rows: empty.rows },
    { key: "leaked", count: leaked?.count ?? 0, rows: (leaked?.rows ?? []).map(({ row }) => row) },
    { key: "refused", count: refused.count, rows: refused.rows.map(({ row }) => row) },
  ].filter(({ count }) => count > 0);
  if (lines.length === 0) return <Text className="hone-muted">{t("data.suggest.nothing")}</Text>;
  return (
    <Stack gap="xs" className="hone-card">
      <Text fw={600}>{t("data.suggest.title")}</Text>
      {lines.map(({ key, count, rows, near: isNear }) => (
        <Group key={key} justify="space-between" wrap="nowrap">
          <Text size="sm">
            {key === "near" ? (
              <Term name="near_duplicate">{t("data.suggest.near", { count, rows: formatCount(count) })}</Term>
            ) : (
              t(`data.suggest.${key}`, { count, rows: formatCount(count) })
            )}
          </Text>
          <Group gap="xs" wrap="nowrap">
            <Button size="compact-sm" variant="default" component={Link} href={rowsLink(name, rows)}>
              {t("data.suggest.look")}
            </Button>
            {isNear !== undefined && (
              <Button size="compact-sm" disabled={dedupe.busy} onClick={() => void remove(isNear)}>
                {t(isNear ? "data.suggest.removeNear" : "data.suggest.remove")}
              </Button>
            )}
          </Group>
        </Group>
      ))}
      <ReadingProgress of={dedupe} label={t("data.suggest.removing")} />
      {dedupe.error !== undefined && <ErrorBox error={dedupe.error} />}
      <Text size="xs" className="hone-muted">
        {t("data.suggest.undo")}
      </Text>
    </Stack>
  );
}
