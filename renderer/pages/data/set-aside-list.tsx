/** Rows that could not be read: where they stand, which field is wrong, what is wrong with it, and the way out. */

import { Button, Code, Group, Table, Text } from "@mantine/core";
import { Fragment, useState } from "react";
import { useTranslation } from "react-i18next";
import type { SetAsideView } from "../../../core/contract/api/data-calls.ts";
import { formatCount } from "../../../core/contract/units.ts";
import classes from "./data.module.css";

interface SetAsideListProps {
  entries: readonly SetAsideView[];
  total: number;
  /** Where a row can be mended at once. */
  onMend?: (entry: SetAsideView) => void;
}

const atFirst = 20;

export function SetAsideList({ entries, total, onMend }: SetAsideListProps) {
  const { t } = useTranslation();
  const [shown, setShown] = useState(atFirst);
  const [open, setOpen] = useState<number | null>(null);
  return (
    <div className={classes.preview} role="region" aria-label={t("data.aside.title")} tabIndex={0}>
      <Table aria-label={t("data.aside.title")}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("data.aside.line")}</Table.Th>
            <Table.Th>{t("data.column.row")}</Table.Th>
            <Table.Th>{t("data.aside.field")}</Table.Th>
            <Table.Th>{t("data.aside.what")}</Table.Th>
            <Table.Th>{t("data.aside.fix")}</Table.Th>
            <Table.Th>
              <span className="hone-unseen">{t("data.column.actions")}</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entries.slice(0, shown).map((entry) => {
            const { line, row, field, what, fix, record } = entry;
            return (
              <Fragment key={row}>
                <Table.Tr>
                  <Table.Td className="hone-numbers">{line}</Table.Td>
                  <Table.Td className="hone-numbers">{row}</Table.Td>
                  <Table.Td>{field !== null && <Code>{field}</Code>}</Table.Td>
                  <Table.Td>{what}</Table.Td>
                  <Table.Td>{fix?.includes("--map") === true ? t("data.aside.mapColumns") : fix}</Table.Td>
                  <Table.Td>
                    {record !== null && (
                      <Group gap={4} wrap="nowrap" justify="flex-end">
                        <Button
                          size="compact-xs"
                          variant="subtle"
                          aria-expanded={open === row}
                          aria-label={t("data.aside.showRow", { row })}
                          onClick={() => setOpen(open === row ? null : row)}
                        >
                          {t("data.aside.show")}
                        </Button>
                        {onMend !== undefined && (
                          <Button
                            size="compact-xs"
                            variant="default"
                            onClick={() => onMend(entry)}
                            aria-label={t("data.aside.mendRow", { row })}
                          >
                            {t("data.aside.mend")}
                          </Button>
                        )}
                      </Group>
                    )}
                  </Table.Td>
                </Table.Tr>
                {open === row && (
                  <Table.Tr>
                    <Table.Td colSpan={6}>
                      <Code block>{JSON.stringify(record, undefined, 2).slice(0, 5000)}</Code>
                    </Table.Td>
                  </Table.Tr>
                )}
              </Fragment>
            );
          })}
        </Table.Tbody>
      </Table>
      {shown < entries.length && (
        <Button size="compact-sm" variant="subtle" onClick={() => setShown(shown + 100)}>
          {t("data.aside.more", { count: entries.length - shown })}
        </Button>
      )}
      {shown >= entries.length && total > entries.length && (
        <Text size="sm" className="hone-muted">
          {t("data.aside.first", { shown: formatCount(entries.length), total: formatCount(total) })}
        </Text>
      )}
    </div>
  );
}
