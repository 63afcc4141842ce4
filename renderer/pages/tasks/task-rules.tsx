/** What a task pays for, what can go wrong, what a model may do. */

import { Alert, Anchor, SimpleGrid, Stack, Table, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { TaskDetails } from "../../../core/contract/api/task-calls.ts";
import { formatDecimal } from "../../../core/contract/units.ts";
import { Term } from "../../components/term.tsx";

export function TaskRules({ task }: { task: TaskDetails }) {
  const { t } = useTranslation();
  const players = Object.entries(task.reference_players);
  return (
    <Stack gap="md">
      {task.notes.map((note) => (
        <Alert key={note} color="orange">
          {note}
        </Alert>
      ))}
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Stack gap="xs" className="hone-card">
          <Title order={2} size="h5">
            {t("tasks.rules.reward")}
          </Title>
          {task.reward_parts.length === 0 ? (
            <Text size="sm">{t("tasks.rules.noReward")}</Text>
          ) : (
            <Table aria-label={t("tasks.rules.reward")}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>
                    <Term name="reward_weight" />
                  </Table.Th>
                  <Table.Th>{t("tasks.rules.part")}</Table.Th>
                  <Table.Th>{t("tasks.rules.what")}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {task.reward_parts.map(({ name, weight, description }) => (
                  <Table.Tr key={name}>
                    <Table.Td className="hone-numbers">{weight}</Table.Td>
                    <Table.Td>{name}</Table.Td>
                    <Table.Td>{description}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
          <Text size="sm">
            {task.reward_file === null ? (
              <Anchor component={Link} href="/rewards" size="sm">
                {t("tasks.rules.ownReward")}
              </Anchor>
            ) : (
              <Anchor component={Link} href={`/rewards/lab/${encodeURIComponent(task.reward_file)}`} size="sm">
                {t("tasks.rules.editReward")}
              </Anchor>
            )}
          </Text>
        </Stack>
        <Stack gap="xs" className="hone-card">
          <Title order={2} size="h5">
            {t("tasks.rules.players")}
          </Title>
          {players.length === 0 ? (
            <Text size="sm" className="hone-muted">
              {t("tasks.rules.noPlayers")}
            </Text>
          ) : (
            <Table aria-label={t("tasks.rules.players")}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t("tasks.rules.player")}</Table.Th>
                  <Table.Th>
                    <Term name="reward" />
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {players.map(([name, reward]) => (
                  <Table.Tr key={name}>
                    <Table.Td>{name.replaceAll("_", " ")}</Table.Td>
                    <Table.Td className="hone-numbers">{formatDecimal(reward)}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
          <Title order={2} size="h5" mt="xs">
            {t("tasks.rules.limits")}
          </Title>
          <Text size="sm">
            {t("tasks.rules.limitsText", {
              turns: task.limits.turns,
              tokens: task.limits.tokens,
              seconds: task.limits.seconds,
            })}
          </Text>
        </Stack>
      </SimpleGrid>
      {task.failures.length > 0 && (
        <Stack gap="xs" className="hone-card">
          <Title order={2} size="h5">
            {t("tasks.rules.failures")}
          </Title>
          <Table aria-label={t("tasks.rules.failures")}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("tasks.rules.failure")}</Table.Th>
                <Table.Th>{t("tasks.rules.meaning")}</Table.Th>
                <Table.Th>{t("tasks.rules.group")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {task.failures.map(({ name, meaning, group }) => (
                <Table.Tr key={name}>
                  <Table.Td>{name}</Table.Td>
                  <Table.Td>{meaning}</Table.Td>
                  <Table.Td>
                    <Term name={`fault_${group}`} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Stack>
      )}
      {task.tools.length > 0 && (
        <Stack gap="xs" className="hone-card">
          <Title order={2} size="h5">
            {t("tasks.rules.tools")}
          </Title>
          {task.tools.map(({ function: { name, description = "" } }) => (
            <Text key={name} size="sm">
              <code>{name}</code> {description}
            </Text>
          ))}
        </Stack>
      )}
    </Stack>
  );
}
