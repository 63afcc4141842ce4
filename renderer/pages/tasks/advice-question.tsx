/** One of the five conditions: what a person says, and what was measured. */

import { Group, Radio, Stack, Text, Title } from "@mantine/core";
import { CircleCheck, CircleHelp, CircleX } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { CombinedCondition } from "../../../core/contract/advice.ts";

const looks = {
  yes: { icon: CircleCheck, color: "var(--hone-good)" },
  no: { icon: CircleX, color: "var(--hone-bad)" },
  unclear: { icon: CircleHelp, color: "var(--hone-muted)" },
} as const;

interface AdviceQuestionCardProps {
  number: number;
  condition: CombinedCondition;
  answer: "yes" | "no" | null;
  onAnswer: (answer: "yes" | "no" | null) => void;
}

export function AdviceQuestionCard({ number, condition, answer, onAnswer }: AdviceQuestionCardProps) {
  const { t } = useTranslation();
  const { name, verdict, measured, contradicts } = condition;
  const { icon: Icon, color } = looks[verdict];
  const title = t(`tasks.advice.question.${name}.title`);
  return (
    <Stack gap="xs" className="hone-card" component="section">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div>
          <Title order={2} size="h5">
            {number}. {title}
          </Title>
          <Text size="sm" className="hone-muted">
            {t(`tasks.advice.question.${name}.hint`)}
          </Text>
        </div>
        <Group gap={6} wrap="nowrap">
          <Icon size={18} color={color} aria-hidden />
          <Text size="sm" fw={600}>
            {t(`tasks.advice.answer.${verdict}`)}
          </Text>
        </Group>
      </Group>
      <Radio.Group
        label={<span className="hone-unseen">{title}</span>}
        value={answer ?? "unsure"}
        onChange={(value) => onAnswer(value === "unsure" ? null : value)}
      >
        <Group>
          <Radio value="yes" label={t("tasks.advice.answer.yes")} />
          <Radio value="no" label={t("tasks.advice.answer.no")} />
          <Radio value="unsure" label={t("tasks.advice.answer.unsure")} />
        </Group>
      </Radio.Group>
      {measured !== null && (
        <Text size="sm">
          <b>{t("tasks.advice.measured", { verdict: t(`tasks.advice.answer.${measured.verdict}`) })}</b> {measured.why}
          {measured.instead !== null && ` ${t("tasks.advice.instead", { instead: measured.instead })}`}
        </Text>
      )}
      {contradicts && (
        <Text size="sm" c="var(--hone-warn)">
          {t("tasks.advice.contradicts")}
        </Text>
      )}
    </Stack>
  );
}
