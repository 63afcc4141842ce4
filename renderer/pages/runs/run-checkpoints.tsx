/** The states of the model that a run kept. */

import { Badge, Button, Group, Table, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { RunDetails } from "../../../core/contract/api/run-calls.ts";

export function RunCheckpoints({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  if (run.checkpoints.length === 0) return <Text className="hone-muted">{t("runs.checkpoints.none")}</Text>;
  const metric = run.best?.metric;
  return (
    <Table aria-label={t("runs.tab.checkpoints")} maw={760}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("runs.checkpoints.step")}</Table.Th>
          <Table.Th>
            {metric === undefined ? t("runs.checkpoints.measured") : t(`metrics.${metric}`, { defaultValue: metric })}
          </Table.Th>
          <Table.Th>{t("runs.checkpoints.time")}</Table.Th>
          <Table.Th>
            <span className="hone-unseen">{t("runs.column.actions")}</span>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {run.checkpoints.map((step) => {
          const line = run.checkpoint_index.find((one) => one.step === step);
          const value = metric === undefined ? undefined : line?.eval[metric];
          const reference = encodeURIComponent(`${run.name}:${step}`);
          return (
            <Table.Tr key={step}>
              <Table.Td className="hone-numbers">
                <Group gap="xs">
                  {step}
                  {run.best?.step === step && (
                    <Badge size="xs" color="teal" variant="light" autoContrast>
                      {t("runs.checkpoints.best")}
                    </Badge>
                  )}
                </Group>
              </Table.Td>
              <Table.Td className="hone-numbers">{value === undefined ? "–" : value.toFixed(3)}</Table.Td>
              <Table.Td className="hone-numbers">
                {line === undefined ? "–" : new Date(line.time * 1000).toLocaleTimeString()}
              </Table.Td>
              <Table.Td>
                <Group gap={4} justify="flex-end">
                  <Button component={Link} href={`/play?model=${reference}`} size="compact-xs" variant="default">
                    {t("runs.play")}
                  </Button>
                  <Button component={Link} href={`/chat?model=${reference}`} size="compact-xs" variant="default">
                    {t("runs.chat")}
                  </Button>
                  <Button component={Link} href={`/train?model=${reference}`} size="compact-xs" variant="default">
                    {t("runs.trainFrom")}
                  </Button>
                </Group>
              </Table.Td>
            </Table.Tr>
          );
        })}
      </Table.Tbody>
    </Table>
  );
}
