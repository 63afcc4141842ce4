/** How the answers to one prompt changed from step to step. */

import { Button, Group, Select, Stack, Text } from "@mantine/core";
import { ArrowLeft } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { RolloutCard } from "../../components/live-run/rollout-card.tsx";
import { wordDiff } from "./word-diff.ts";
import classes from "./prompt-history.module.css";

interface PromptHistoryProps {
  run: string;
  task: string;
  rowId: string;
  onClose: () => void;
}

export function PromptHistory({ run, task, rowId, onClose }: PromptHistoryProps) {
  const { t } = useTranslation();
  const loaded = useCall("runs.prompt", { run, row_id: rowId });
  const [from, setFrom] = useState<number>();
  const [to, setTo] = useState<number>();
  return (
    <Stack gap="sm">
      <Group>
        <Button size="compact-sm" variant="default" leftSection={<ArrowLeft size={14} aria-hidden />} onClick={onClose}>
          {t("runs.answers.back")}
        </Button>
        <Text fw={600}>{t("runs.answers.historyOf", { row: rowId })}</Text>
      </Group>
      <LoadedView of={loaded}>
        {({ steps }) => {
          const choices = steps.map(({ step }) => ({ value: String(step), label: String(step) }));
          const before = steps.find(({ step }) => step === from) ?? steps[0];
          const after = steps.find(({ step }) => step === to) ?? steps[steps.length - 1];
          if (before === undefined || after === undefined) return <Text>{t("runs.answers.none")}</Text>;
          const parts = wordDiff(before.rollouts[0].completion, after.rollouts[0].completion);
          return (
            <Stack gap="sm">
              {steps.length === 1 && <Text className="hone-muted">{t("runs.answers.once")}</Text>}
              <Group>
                <Select
                  label={t("runs.answers.from")}
                  data={choices}
                  value={String(before.step)}
                  onChange={(value) => setFrom(Number(value))}
                  w={120}
                />
                <Select
                  label={t("runs.answers.to")}
                  data={choices}
                  value={String(after.step)}
                  onChange={(value) => setTo(Number(value))}
                  w={120}
                />
              </Group>
              <Stack gap={4} className="hone-card">
                <Text size="sm" fw={600}>
                  {t("runs.answers.difference", { from: before.step, to: after.step })}
                </Text>
                <div className={classes.diff}>
                  {parts.map(({ kind, text }, index) =>
                    kind === "same" ? (
                      <span key={index}>{text}</span>
                    ) : kind === "gone" ? (
                      <del key={index}>{text}</del>
                    ) : (
                      <ins key={index}>{text}</ins>
                    ),
                  )}
                </div>
              </Stack>
              <div className={classes.sides}>
                {[before, after].map(({ step, rollouts }, side) => (
                  <Stack key={side} gap="xs">
                    <Text fw={600} size="sm">
                      {t("runs.answers.step", { step })}
                    </Text>
                    {rollouts.map((line) => (
                      <RolloutCard key={line.trajectory_id} task={task} line={line} />
                    ))}
                  </Stack>
                ))}
              </div>
            </Stack>
          );
        }}
      </LoadedView>
    </Stack>
  );
}
