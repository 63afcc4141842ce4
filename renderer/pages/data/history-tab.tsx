/** Every change, newest first: what it changed, and the way back to any point. */

import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { DatasetView } from "../../../core/contract/api/data-calls.ts";
import type { RowChange } from "../../../core/contract/data-json.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { wordDiff } from "../runs/word-diff.ts";
import { formatTime } from "../../i18n/i18n.ts";
import type { Changes } from "./use-changes.ts";
import classes from "./data.module.css";

export function HistoryTab({ view: { name, created, source }, changes }: { view: DatasetView; changes: Changes }) {
  const { t } = useTranslation();
  const loaded = useCall("data.history", { name }, { follow: "datasets" });
  /** The change that is looked at; or what a return to a point would change. */
  const [shown, setShown] = useState<{ from: number; to: number }>();
  const [error, setError] = useState<unknown>();
  const restore = async (to: number) => {
    setError(undefined);
    try {
      await changes.make("data.restore", { to });
      setShown(undefined);
    } catch (failed) {
      setError(failed);
    }
  };
  const isShown = (from: number, to: number) => shown?.from === from && shown.to === to;
  return (
    <Stack gap="md">
      {error !== undefined && <ErrorBox error={error} />}
      <LoadedView of={loaded}>
        {({ point, entries }) => (
          <div className="hone-card">
            <Table aria-label={t("data.history.title")}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th w={60}>{t("data.history.point")}</Table.Th>
                  <Table.Th>{t("data.history.time")}</Table.Th>
                  <Table.Th className={classes.short}>{t("data.history.kind")}</Table.Th>
                  <Table.Th>{t("data.history.note")}</Table.Th>
                  <Table.Th ta="right" className={classes.short}>
                    {t("data.column.rows")}
                  </Table.Th>
                  <Table.Th>
                    <span className="hone-unseen">{t("data.column.actions")}</span>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {entries.map((entry) => (
                  <Table.Tr key={entry.point}>
                    <Table.Td className="hone-numbers">{entry.point}</Table.Td>
                    <Table.Td className="hone-numbers">{formatTime(entry.time * 1000)}</Table.Td>
                    <Table.Td className={classes.short}>{t(`data.history.kinds.${entry.kind}`)}</Table.Td>
                    <Table.Td>{entry.note}</Table.Td>
                    <Table.Td ta="right" className="hone-numbers">
                      {formatCount(entry.rows)}
                    </Table.Td>
                    <Table.Td>
                      <Group gap="xs" justify="flex-end" wrap="nowrap">
                        <Button
                          size="compact-sm"
                          variant="subtle"
                          aria-expanded={isShown(entry.point - 1, entry.point)}
                          aria-label={t("data.history.showOne", { point: entry.point })}
                          onClick={() =>
                            setShown(
                              isShown(entry.point - 1, entry.point)
                                ? undefined
                                : { from: entry.point - 1, to: entry.point },
                            )
                          }
                        >
                          {t("data.history.show")}
                        </Button>
                        {entry.point < point && <Restore point={entry.point} onRestore={restore} />}
                      </Group>
                    </Table.Td>
                  </Table.Tr>
                ))}
                <Table.Tr>
                  <Table.Td className="hone-numbers">0</Table.Td>
                  <Table.Td className="hone-numbers">{formatTime(created)}</Table.Td>
                  <Table.Td className={classes.short}>{t("data.history.kinds.import")}</Table.Td>
                  <Table.Td style={{ overflowWrap: "anywhere" }}>{source}</Table.Td>
                  <Table.Td />
                  <Table.Td>
                    <Group justify="flex-end">{point > 0 && <Restore point={0} onRestore={restore} />}</Group>
                  </Table.Td>
                </Table.Tr>
              </Table.Tbody>
            </Table>
          </div>
        )}
      </LoadedView>
      {shown !== undefined && <Difference name={name} {...shown} />}
    </Stack>
  );
}

function Restore({ point, onRestore }: { point: number; onRestore: (point: number) => Promise<void> }) {
  const { t } = useTranslation();
  return (
    <Button
      size="compact-sm"
      variant="default"
      leftSection={<RotateCcw size={14} aria-hidden />}
      aria-label={t("data.history.restoreTo", { point })}
      onClick={() => void onRestore(point)}
    >
      {t("data.history.restore")}
    </Button>
  );
}

function Difference({ name, from, to }: { name: string; from: number; to: number }) {
  const { t } = useTranslation();
  const loaded = useCall("data.diff", { name, from, to });
  return (
    <LoadedView of={loaded}>
      {({ total, changes }) => (
        <Stack gap="sm" className="hone-card" component="section" aria-label={t("data.history.changed", { point: to })}>
          <Text fw={600}>{t("data.history.changed", { point: to })}</Text>
          {changes.map((change) => (
            <ChangedRow key={change.id} of={change} />
          ))}
          {total > changes.length && (
            <Text size="sm" className="hone-muted">
              {t("data.history.more", { count: total - changes.length })}
            </Text>
          )}
        </Stack>
      )}
    </LoadedView>
  );
}

function ChangedRow({ of: { id, before, after } }: { of: RowChange }) {
  const { t } = useTranslation();
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changed = fields.filter((field) => JSON.stringify(before?.[field]) !== JSON.stringify(after?.[field]));
  const kind = before === null ? "added" : after === null ? "deleted" : "edited";
  return (
    <div>
      <Text size="sm" fw={500}>
        {t(`data.history.row.${kind}`, { id })}
      </Text>
      {changed.map((field) => (
        <div key={field} className={classes.diff}>
          <Text span size="sm" className="hone-muted">
            {field}:{" "}
          </Text>
          {wordDiff(shownText(before?.[field]), shownText(after?.[field])).map(({ kind: part, text }, i) =>
            part === "same" ? (
              <span key={i}>{text}</span>
            ) : part === "gone" ? (
              <del key={i}>{text}</del>
            ) : (
              <ins key={i}>{text}</ins>
            ),
          )}
        </div>
      ))}
    </div>
  );
}

function shownText(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 1);
}
