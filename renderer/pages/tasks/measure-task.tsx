/** Measures a model on a task, and shows what was measured before. */

import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useCall } from "../../app/hone-context.tsx";
import { EvaluationTable } from "../../components/evaluation-table.tsx";
import { JobProgress } from "../../components/job-progress.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { ModelPicker } from "../../components/model-picker.tsx";
import { useJob } from "../../components/use-job.ts";
import { formatTime } from "../../i18n/i18n.ts";

/** Measurements that are shown beside each other. */
const mostShown = 4;

export function MeasureTask({ reference }: { reference: string }) {
  const { t } = useTranslation();
  const [model, setModel] = useState("starter");
  const kept = useCall("evaluations.list", { task: reference }, { follow: "evaluations" });
  const job = useJob(() => kept.reload());
  return (
    <Stack gap="xs" className="hone-card">
      <Title order={2} size="h5">
        {t("tasks.measure.title")}
      </Title>
      <Text size="sm" className="hone-muted">
        {t("tasks.measure.text")}
      </Text>
      <Group align="flex-end" gap="xs">
        <div style={{ flex: 1 }}>
          <ModelPicker label={t("tasks.check.modelLabel")} value={model} onChange={setModel} />
        </div>
        <Button
          variant="default"
          loading={job.busy}
          onClick={() => void job.start("train.evaluate", { model, task: reference })}
        >
          {t("tasks.measure.start")}
        </Button>
      </Group>
      <JobProgress of={job} />
      <LoadedView of={kept}>
        {({ evaluations }) =>
          evaluations.length === 0 ? null : (
            <EvaluationTable
              reports={evaluations.slice(0, mostShown).map((one) => ({
                label: `${one.model} · ${formatTime(one.created * 1000)}`,
                report: one.report,
              }))}
            />
          )
        }
      </LoadedView>
    </Stack>
  );
}
