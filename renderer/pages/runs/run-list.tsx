/** All runs: find, compare, go on with one, delete. */

import { Badge, Button, Checkbox, Group, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { Search } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import type { ListedRun } from "../../../core/contract/api/run-calls.ts";
import { useCall } from "../../app/hone-context.tsx";
import { EmptyState, LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { Term } from "../../components/term.tsx";
import { formatTime } from "../../i18n/i18n.ts";
import { filterRuns, runOrders, tagsOf, type RunOrder } from "./run-filter.ts";
import { measuredText, shortModel } from "./run-texts.ts";
import { RunActions } from "./run-actions.tsx";
import { RunStateBadge } from "./run-state-badge.tsx";

/** More curves than this are not told apart in one picture. */
export const mostCompared = 5;

export function RunList() {
  const { t } = useTranslation();
  const loaded = useCall("runs.list", {}, { follow: "runs" });
  return (
    <Page
      title={t("nav.runs")}
      lead={t("runs.lead")}
      actions={
        <Button component={Link} href="/train">
          {t("runs.new")}
        </Button>
      }
    >
      <LoadedView of={loaded}>
        {({ runs, unreadable }) => (
          <>
            {unreadable.length > 0 && (
              <Stack gap={2} className="hone-card" role="status">
                <Text fw={600}>{t("runs.unreadable", { count: unreadable.length })}</Text>
                {unreadable.map(({ name, why }) => (
                  <Text key={name} size="sm">
                    {name}: {why}
                  </Text>
                ))}
              </Stack>
            )}
            {runs.length === 0 ? (
              <EmptyState
                title={t("runs.empty.title")}
                action={
                  <Group>
                    <Button component={Link} href="/tutorial">
                      {t("runs.empty.tutorial")}
                    </Button>
                    <Button component={Link} href="/train" variant="default">
                      {t("runs.new")}
                    </Button>
                  </Group>
                }
              >
                {t("runs.empty.text")}
              </EmptyState>
            ) : (
              <RunTable runs={runs} />
            )}
          </>
        )}
      </LoadedView>
    </Page>
  );
}

function RunTable({ runs }: { runs: readonly ListedRun[] }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const [tag, setTag] = useState<string | null>(null);
  const [order, setOrder] = useState<RunOrder>("newest");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const shown = filterRuns(runs, { text, tag, order });
  const tags = tagsOf(runs);
  const known = chosen.filter((name) => runs.some((run) => run.name === name));
  return (
    <Stack gap="sm">
      <Group align="flex-end">
        <TextInput
          label={t("runs.search")}
          placeholder={t("runs.searchHint")}
          leftSection={<Search size={14} aria-hidden />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          w={280}
        />
        {tags.length > 0 && (
          <Select label={t("runs.tag")} data={tags} value={tag} onChange={setTag} clearable allowDeselect w={160} />
        )}
        <Select
          label={t("runs.order.label")}
          data={runOrders.map((value) => ({ value, label: t(`runs.order.${value}`) }))}
          value={order}
          onChange={(value) => setOrder(value ?? "newest")}
          w={180}
        />
        <Button
          variant="default"
          disabled={known.length < 2}
          onClick={() => navigate(`/runs/compare?runs=${known.map(encodeURIComponent).join(",")}`)}
        >
          {known.length < 2 ? t("runs.compareHint") : t("runs.compareChosen", { count: known.length })}
        </Button>
      </Group>
      <Table.ScrollContainer minWidth={820} type="native">
        <Table highlightOnHover aria-label={t("nav.runs")}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={36}>
                <span className="hone-unseen">{t("runs.choose")}</span>
              </Table.Th>
              <Table.Th>{t("runs.column.name")}</Table.Th>
              <Table.Th>{t("runs.column.model")}</Table.Th>
              <Table.Th>{t("runs.column.task")}</Table.Th>
              <Table.Th>{t("runs.column.steps")}</Table.Th>
              <Table.Th>
                <Term name="best_checkpoint">{t("runs.column.best")}</Term>
              </Table.Th>
              <Table.Th>{t("runs.column.created")}</Table.Th>
              <Table.Th>
                <span className="hone-unseen">{t("runs.column.actions")}</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map((run) => (
              <Table.Tr key={run.name}>
                <Table.Td>
                  <Checkbox
                    size="xs"
                    aria-label={t("runs.chooseOne", { name: run.name })}
                    checked={known.includes(run.name)}
                    disabled={!known.includes(run.name) && known.length >= mostCompared}
                    onChange={(event) => {
                      const on = event.currentTarget.checked;
                      setChosen(on ? [...known, run.name] : known.filter((name) => name !== run.name));
                    }}
                  />
                </Table.Td>
                <Table.Td>
                  <Text component={Link} href={`/runs/${encodeURIComponent(run.name)}`} fw={500} size="sm" c="steel">
                    {run.name}
                  </Text>
                  <Group gap={4} mt={2}>
                    <RunStateBadge run={run} />
                    {run.tags.map((one) => (
                      <Badge key={one} size="xs" variant="outline">
                        {one}
                      </Badge>
                    ))}
                  </Group>
                </Table.Td>
                <Table.Td title={run.model}>{shortModel(run.model)}</Table.Td>
                <Table.Td>
                  {shortModel(run.task)} · {run.method.toUpperCase()}
                </Table.Td>
                <Table.Td className="hone-numbers">
                  {run.step} / {run.total_steps}
                </Table.Td>
                <Table.Td className="hone-numbers">{measuredText(run, t)}</Table.Td>
                <Table.Td className="hone-numbers">{formatTime(run.created)}</Table.Td>
                <Table.Td>
                  <RunActions run={run} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {shown.length === 0 && <Text className="hone-muted">{t("runs.nothingFound")}</Text>}
    </Stack>
  );
}
