/** The first rows of a file, with what its columns are taken for. */

import { Badge, Table, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { DataInspection } from "../../../core/contract/api/data-calls.ts";
import classes from "./data.module.css";

export function PreviewTable({ file }: { file: DataInspection }) {
  const { t } = useTranslation();
  const fieldOf = new Map(Object.entries(file.mapping).map(([field, column]) => [column, field]));
  if (file.head.length === 0) return null;
  return (
    <div className={classes.preview} role="region" aria-label={t("data.import.preview")} tabIndex={0}>
      <Table aria-label={t("data.import.preview")} withColumnBorders>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={50}>{t("data.column.row")}</Table.Th>
            {file.columns.map((column) => (
              <Table.Th key={column}>
                {column}{" "}
                {fieldOf.has(column) ? (
                  <Badge size="xs" variant="light">
                    {t(`data.field.${fieldOf.get(column)}`)}
                  </Badge>
                ) : (
                  <Badge size="xs" variant="outline" color="gray">
                    {t("data.map.column")}
                  </Badge>
                )}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {file.head.map(({ row, cells }) => (
            <Table.Tr key={row}>
              <Table.Td className="hone-numbers">{row}</Table.Td>
              {Object.keys(cells).length === 0 && (
                <Table.Td colSpan={file.columns.length}>
                  <Text size="sm" className="hone-muted">
                    {t("data.import.unreadable")}
                  </Text>
                </Table.Td>
              )}
              {Object.keys(cells).length > 0 &&
                file.columns.map((column) => (
                  <Table.Td key={column}>
                    <Text size="sm" lineClamp={2}>
                      {cells[column]?.text ?? ""}
                      {cells[column]?.cut === true && "…"}
                    </Text>
                  </Table.Td>
                ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
