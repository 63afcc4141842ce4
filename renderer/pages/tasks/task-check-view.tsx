/** What is wrong with a task, with the way out, before anything is trained on it. */

import { Badge, Button, Group, Stack, Table, Text, Title } from "@mantine/core";
import { CircleCheck, Info, OctagonAlert, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Severity, TaskCheck, TaskFinding } from "../../../core/contract/task.ts";
import { formatDecimal } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { JobProgress } from "../../components/job-progress.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { ModelPicker } from "../../components/model-picker.tsx";
import { useJob } from "../../components/use-job.ts";
import { MethodBadges } from "./method-badges.tsx";

export function TaskCheckView({ reference }: { reference: string }) {
  const { t } = useTranslation();
  const loaded = useCall("tasks.check", { task: reference }, { follow: "tasks" });
  const [measured, setMeasured] = useState<TaskCheck>();
  const [model, setModel] = useState("starter");
  const job = useJob((result) => setMeasured(result as TaskCheck));
  return (
    <Stack gap="md">
      <LoadedView of={loaded}>{(check) => <Check check={measured ?? check} />}</LoadedView>
      <Stack gap="xs" className="hone-card">
        <Title order={2} size="h5">
          {t("tasks.check.model")}
        </Title>
        <Text size="sm" className="hone-muted">
          {t("tasks.check.modelText")}
        </Text>
        <Group align="flex-end" gap="xs">
          <div style={{ flex: 1 }}>
            <ModelPicker label={t("tasks.check.modelLabel")} value={model} onChange={setModel} />
          </div>
          <Button
            variant="default"
            loading={job.busy}
            onClick={() => void job.start("tasks.check_with_model", { task: reference, model })}
          >
            {t("tasks.check.start")}
          </Button>
        </Group>
        <JobProgress of={job} />
      </Stack>
    </Stack>
  );
}

function Check({ check }: { check: TaskCheck }) {
  const { t } = useTranslation();
  const { rewards, reward_parts, prompt_length: length } = check;
  const tried = Object.entries(rewards).filter(([, reward]) => reward !== null);
  return (
    <Stack gap="md">
      <Findings check={check} />
      {check.methods.length > 0 && (
        <Stack gap="xs" className="hone-card">
          <Group gap="xs">
            <Text size="sm">{t("tasks.check.methods")}</Text>
            <MethodBadges methods={check.methods} />
          </Group>
          <Text size="sm">
            {t(`tasks.check.length.${length.unit}`, { mean: Math.round(length.mean), max: length.max })}
          </Text>
          {tried.length > 0 && (
            <Table aria-label={t("tasks.check.rewards")}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t("tasks.check.answers")}</Table.Th>
                  <Table.Th>{t("tasks.check.earn")}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {tried.map(([kind, reward]) => (
                  <Table.Tr key={kind}>
                    <Table.Td>{t(`tasks.check.kind.${kind}`)}</Table.Td>
                    <Table.Td className="hone-numbers">{reward === null ? "–" : formatDecimal(reward)}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
          {reward_parts.length > 0 && (
            <Table aria-label={t("tasks.rules.reward")}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t("tasks.rules.part")}</Table.Th>
                  <Table.Th>{t("tasks.check.least")}</Table.Th>
                  <Table.Th>{t("tasks.check.greatest")}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {reward_parts.map(({ name, least, greatest }) => (
                  <Table.Tr key={name}>
                    <Table.Td>{name}</Table.Td>
                    <Table.Td className="hone-numbers">{least === null ? "–" : formatDecimal(least)}</Table.Td>
                    <Table.Td className="hone-numbers">{greatest === null ? "–" : formatDecimal(greatest)}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
        </Stack>
      )}
    </Stack>
  );
}

const icons = { error: OctagonAlert, warning: TriangleAlert, note: Info } as const;
const colors: Record<Severity, string> = {
  error: "var(--hone-bad)",
  warning: "var(--hone-warn)",
  note: "var(--hone-muted)",
};

export function Findings({ check: { ok, findings } }: { check: TaskCheck }) {
  const { t } = useTranslation();
  return (
    <Stack gap="xs" className="hone-card" role="status" aria-live="polite">
      <Group gap="xs">
        {ok ? (
          <CircleCheck size={18} color="var(--hone-good)" aria-hidden />
        ) : (
          <OctagonAlert size={18} color="var(--hone-bad)" aria-hidden />
        )}
        <Text fw={600}>
          {findings.length === 0 ? t("tasks.check.nothing") : ok ? t("tasks.check.ok") : t("tasks.check.bad")}
        </Text>
      </Group>
      {findings.map((finding, i) => (
        <Finding key={`${finding.code} ${i}`} finding={finding} />
      ))}
    </Stack>
  );
}

function Finding({ finding: { severity, code, message, fix } }: { finding: TaskFinding }) {
  const { t } = useTranslation();
  const Icon = icons[severity];
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <Icon size={16} color={colors[severity]} aria-hidden style={{ flexShrink: 0, marginTop: 3 }} />
      <div style={{ minWidth: 0 }}>
        <Group gap={6}>
          <Badge size="xs" variant="default">
            {t(`tasks.check.severity.${severity}`)}
          </Badge>
          <Text size="xs" className="hone-muted">
            {code}
          </Text>
        </Group>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {message}
        </Text>
        <Text size="sm" className="hone-muted" style={{ overflowWrap: "anywhere" }}>
          {t("common.error.fix", { fix })}
        </Text>
      </div>
    </Group>
  );
}
