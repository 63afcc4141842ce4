/** All datasets of the library, and the way to a new one. */

import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { FileInput, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { ListedDataset } from "../../../core/contract/api/data-calls.ts";
import { formatBytes, formatCount } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { EmptyState, LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { formatTime } from "../../i18n/i18n.ts";
import { DeleteDataset } from "./delete-dataset.tsx";
import { FileDrop } from "./file-drop.tsx";
import { TrainLinks } from "./train-links.tsx";

export function DatasetList() {
  const { t } = useTranslation();
  const loaded = useCall("data.list", {}, { follow: "datasets" });
  return (
    <Page
      title={t("nav.data")}
      lead={t("data.lead")}
      actions={
        <Button component={Link} href="/data/-/import" leftSection={<FileInput size={16} aria-hidden />}>
          {t("data.import.title")}
        </Button>
      }
    >
      <FileDrop />
      <LoadedView of={loaded}>
        {({ datasets, damaged }) => (
          <>
            {damaged.length > 0 && (
              <Stack gap={2} className="hone-card" role="status">
                <Text fw={600}>{t("data.damaged", { count: damaged.length })}</Text>
                {damaged.map(({ path, why }) => (
                  <Text key={path} size="sm">
                    {path}: {why}
                  </Text>
                ))}
              </Stack>
            )}
            {datasets.length === 0 ? (
              <EmptyState
                title={t("data.empty.title")}
                action={
                  <Button component={Link} href="/data/-/import">
                    {t("data.import.title")}
                  </Button>
                }
              >
                {t("data.empty.text")}
              </EmptyState>
            ) : (
              <DatasetTable datasets={datasets} />
            )}
          </>
        )}
      </LoadedView>
    </Page>
  );
}

function DatasetTable({ datasets }: { datasets: readonly ListedDataset[] }) {
  const { t } = useTranslation();
  const [deleting, setDeleting] = useState<ListedDataset | null>(null);
  const newest = datasets.toSorted((a, b) => b.created.localeCompare(a.created));
  return (
    <div className="hone-card">
      <Table.ScrollContainer minWidth={760} type="native">
        <Table highlightOnHover aria-label={t("nav.data")}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("data.column.name")}</Table.Th>
              <Table.Th>{t("data.column.shape")}</Table.Th>
              <Table.Th ta="right">{t("data.column.rows")}</Table.Th>
              <Table.Th ta="right">{t("data.column.changes")}</Table.Th>
              <Table.Th ta="right">{t("data.column.size")}</Table.Th>
              <Table.Th>{t("data.column.created")}</Table.Th>
              <Table.Th>
                <span className="hone-unseen">{t("data.column.actions")}</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {newest.map((one) => (
              <Table.Tr key={one.name}>
                <Table.Td>
                  <Text component={Link} href={`/data/${encodeURIComponent(one.name)}`} fw={500} size="sm" c="steel">
                    {one.name}
                  </Text>
                  <Text size="xs" className="hone-muted" title={one.source} truncate maw={320}>
                    {t("data.from", { source: one.source.split(/[\\/]/).at(-1) })}
                  </Text>
                </Table.Td>
                <Table.Td>{one.shape === null ? t("data.shape.none") : t(`data.shape.${one.shape}`)}</Table.Td>
                <Table.Td ta="right" className="hone-numbers">
                  {formatCount(one.rows)}
                </Table.Td>
                <Table.Td ta="right" className="hone-numbers">
                  {formatCount(one.point)}
                </Table.Td>
                <Table.Td ta="right" className="hone-numbers">
                  {formatBytes(one.bytes)}
                </Table.Td>
                <Table.Td className="hone-numbers">{formatTime(one.created)}</Table.Td>
                <Table.Td>
                  <Group gap="xs" justify="flex-end" wrap="nowrap">
                    <TrainLinks name={one.name} methods={one.methods} compact />
                    <Button
                      size="compact-sm"
                      variant="subtle"
                      color="red"
                      aria-label={t("data.delete.one", { name: one.name })}
                      onClick={() => setDeleting(one)}
                    >
                      <Trash2 size={16} aria-hidden />
                    </Button>
                  </Group>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {deleting !== null && <DeleteDataset dataset={deleting} onClose={() => setDeleting(null)} />}
    </div>
  );
}
