/** Draws fresh answers of a model to rows of a task, for the lab. */

import { Button, Group, Modal, NumberInput, Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useCall } from "../../app/hone-context.tsx";
import { JobProgress } from "../../components/job-progress.tsx";
import { ModelPicker } from "../../components/model-picker.tsx";
import { useJob } from "../../components/use-job.ts";

interface DrawSamplesProps {
  /** To begin with. */
  task: string | null;
  onClose: () => void;
  onDrawn: (path: string) => void;
}

export function DrawSamples({ task: first, onClose, onDrawn }: DrawSamplesProps) {
  const { t } = useTranslation();
  const tasks = useCall("tasks.list", {}, { follow: "tasks" });
  const [model, setModel] = useState("starter");
  const [task, setTask] = useState<string | null>(first);
  const [rows, setRows] = useState(8);
  const [samples, setSamples] = useState(4);
  const job = useJob((result) => onDrawn((result as { path: string }).path));
  const listed = (tasks.value?.tasks ?? []).filter(({ problem }) => problem === null);
  const chosen = task ?? listed[0]?.reference ?? null;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("rewards.draw.title")}
      size="lg"
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (chosen !== null) void job.start("rewards.draw", { model, task: chosen, rows, samples });
        }}
      >
        <Stack>
          <Text size="sm" className="hone-muted">
            {t("rewards.draw.text")}
          </Text>
          <ModelPicker label={t("rewards.draw.model")} value={model} onChange={setModel} />
          <Select
            label={t("rewards.draw.task")}
            data={listed.map(({ reference, title }) => ({ value: reference, label: title }))}
            value={chosen}
            onChange={setTask}
            allowDeselect={false}
            searchable
          />
          <Group grow>
            <NumberInput
              label={t("rewards.draw.rows")}
              value={rows}
              min={1}
              max={200}
              onChange={(value) => {
                if (typeof value === "number") setRows(value);
              }}
            />
            <NumberInput
              label={t("rewards.draw.samples")}
              description={t("rewards.draw.samplesHint")}
              value={samples}
              min={1}
              max={32}
              onChange={(value) => {
                if (typeof value === "number") setSamples(value);
              }}
            />
          </Group>
          <JobProgress of={job} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {job.busy ? t("rewards.draw.background") : t("common.cancel")}
            </Button>
            <Button type="submit" loading={job.busy} disabled={chosen === null}>
              {t("rewards.draw.start", { count: rows * samples })}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
