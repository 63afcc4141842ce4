/** Writes the rows to a file for other software. */

import { Button, Group, Modal, Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { CallResult } from "../../../core/contract/api/api.ts";
import type { DatasetView } from "../../../core/contract/api/data-calls.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { ErrorBox } from "../../components/error-box.tsx";
import { usePickPath } from "../../components/use-pick-path.tsx";
import { SetAsideList } from "./set-aside-list.tsx";
import { ReadingProgress, useReading } from "./use-reading.tsx";

const formats = ["jsonl", "json", "csv", "parquet"] as const;
const shapes = ["messages", "completion", "prompt", "text", "preference", "alpaca", "sharegpt"] as const;

export function ExportDialog({ view: { name }, onClose }: { view: DatasetView; onClose: () => void }) {
  const { t } = useTranslation();
  const { pickSave, dialog } = usePickPath();
  const [format, setFormat] = useState<(typeof formats)[number]>("jsonl");
  const [shape, setShape] = useState<(typeof shapes)[number] | null>(null);
  const [done, setDone] = useState<CallResult<"data.export">>();
  const reading = useReading("data.export");
  const write = async () => {
    const path = await pickSave({ title: t("data.export.where"), name: `${name}.${format}` });
    if (path !== null) setDone(await reading.run({ name, path, format, shape }));
  };
  return (
    <>
      <Modal opened onClose={onClose} title={t("data.export.title", { name })} size={done === undefined ? "md" : "lg"}>
        <Stack>
          <Group grow>
            <Select
              label={t("data.export.format")}
              data={formats.map((value) => ({ value, label: t(`data.format.${value}`) }))}
              value={format}
              onChange={(value) => setFormat(value as (typeof formats)[number])}
              data-autofocus
            />
            <Select
              label={t("data.export.shape")}
              data={[
                { value: "own", label: t("data.export.own") },
                ...shapes.map((value) => ({ value, label: t(`data.export.shapes.${value}`) })),
              ]}
              value={shape ?? "own"}
              onChange={(value) => setShape(value === "own" ? null : value)}
            />
          </Group>
          <ReadingProgress of={reading} label={t("data.export.writing")} />
          {reading.error !== undefined && <ErrorBox error={reading.error} />}
          {done !== undefined && (
            <Stack gap="xs" role="status">
              <Text style={{ overflowWrap: "anywhere" }}>
                {t("data.export.done", { rows: formatCount(done.rows), path: done.path })}
              </Text>
              {done.set_aside_count > 0 && (
                <>
                  <Text>{t("data.export.left", { rows: formatCount(done.set_aside_count) })}</Text>
                  <SetAsideList entries={done.set_aside} total={done.set_aside_count} />
                </>
              )}
            </Stack>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t("common.close")}
            </Button>
            <Button loading={reading.busy} onClick={() => void write()}>
              {t("data.export.do")}
            </Button>
          </Group>
        </Stack>
      </Modal>
      {dialog}
    </>
  );
}
