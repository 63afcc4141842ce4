/** Whether a model fits this machine and how fast it answers: in words, and in numbers for those who want them. */

import { Badge, Stack, Table, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { fitUses, type FitReport, type FitUseName, type FitVerdict } from "../../../core/contract/hub.ts";
import { formatBytes, formatCount, formatDecimal } from "../../../core/contract/units.ts";
import { Term } from "../../components/term.tsx";

const colours: Record<FitVerdict, string> = {
  fits: "teal",
  tight: "orange",
  does_not_fit: "red",
  not_supported: "gray",
};

export function VerdictBadge({ verdict }: { verdict: FitVerdict }) {
  const { t } = useTranslation();
  return (
    <Badge size="sm" variant="light" color={colours[verdict]} autoContrast>
      {t(`models.verdict.${verdict}`)}
    </Badge>
  );
}

/** `chat: fits` for each use, in one line. */
export function UseBadges({ fit, works }: { fit: FitReport; works?: Record<FitUseName, boolean> }) {
  const { t } = useTranslation();
  return fitUses.map((use) => {
    const verdict = works?.[use] === false || fit.uses === null ? "not_supported" : fit.uses[use].verdict;
    return (
      <Badge key={use} size="sm" variant="light" color={colours[verdict]} autoContrast tt="none">
        {t("models.fit.useVerdict", { use: t(`models.use.${use}`), verdict: t(`models.verdict.${verdict}`) })}
      </Badge>
    );
  });
}

export function FitView({ fit }: { fit: FitReport }) {
  const { t } = useTranslation();
  const { uses, machine, context_length: context, kv_bytes_per_token: perToken, speed, unsupported } = fit;
  return (
    <Stack gap="xs">
      <Text size="sm">
        {t("models.fit.size", {
          parameters: formatCount(fit.parameters),
          dtype: fit.dtype,
          bytes: formatBytes(fit.weight_bytes),
        })}{" "}
        {context !== null &&
          perToken !== null &&
          t("models.fit.context", { tokens: formatCount(context), bytes: formatBytes(perToken) })}
      </Text>
      {unsupported !== null && (
        <Text size="sm" c="var(--hone-bad)">
          {t("models.fit.unsupported", { why: unsupported })}
        </Text>
      )}
      {uses !== null && (
        <Table.ScrollContainer minWidth={460} type="native">
          <Table fz="sm" aria-label={t("models.fit.title")}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("models.fit.for")}</Table.Th>
                <Table.Th />
                <Table.Th ta="right">{t("models.fit.weights")}</Table.Th>
                <Table.Th ta="right">
                  <Term name="training_memory">{t("models.fit.training")}</Term>
                </Table.Th>
                <Table.Th ta="right">
                  <Term name="working_memory">{t("models.fit.working")}</Term>
                </Table.Th>
                <Table.Th ta="right">{t("models.fit.total")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {fitUses.map((use) => {
                const { memory_bytes: memory, verdict } = uses[use];
                return (
                  <Table.Tr key={use}>
                    <Table.Td>
                      <Term name={`use_${use}`}>{t(`models.use.${use}`)}</Term>
                    </Table.Td>
                    <Table.Td>
                      <VerdictBadge verdict={verdict} />
                    </Table.Td>
                    {[
                      memory.weights,
                      memory.gradients + memory.optimizer,
                      use === "chat"
                        ? memory.activations + memory.kv_cache
                        : Math.max(memory.activations, memory.kv_cache),
                      memory.total,
                    ].map((bytes, at) => (
                      <Table.Td key={at} ta="right" className="hone-numbers">
                        {formatBytes(bytes)}
                      </Table.Td>
                    ))}
                  </Table.Tr>
                );
              })}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      <Text size="xs" className="hone-muted hone-numbers">
        {t("models.fit.machine", {
          memory: formatBytes(machine.memory_bytes),
          free: formatBytes(machine.free_bytes),
          cores: machine.cores,
        })}
        {speed !== null &&
          ` ${t("models.fit.speed", { speed: formatDecimal(Number(speed.tokens_per_second.toPrecision(2))) })}`}
      </Text>
    </Stack>
  );
}
