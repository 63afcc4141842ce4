/** Takes parts of a run out of the library. */

import { Button, Group, Select, Stack, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import { useApi } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { usePickPath } from "../../components/use-pick-path.tsx";

export function RunExport({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  const api = useApi();
  const { pick, dialog } = usePickPath();
  const [step, setStep] = useState(String(run.best?.step ?? run.checkpoints.at(-1) ?? ""));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  const write = async (what: "metrics" | "bundle" | "checkpoint") => {
    const [folder] = await pick({ kind: "folder", title: t("runs.export.where") });
    if (folder === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      const common = { run: run.name, folder };
      const { path } = await api.call(
        "runs.export",
        what === "checkpoint" ? { ...common, what, step: Number(step) } : { ...common, what },
      );
      notifications.show({ message: t("runs.export.done", { path }) });
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        {t("runs.export.title")}
      </Title>
      <Text size="sm" className="hone-muted">
        {t("runs.export.text")}
      </Text>
      <Group align="flex-end">
        <Button variant="default" loading={busy} onClick={() => void write("metrics")}>
          {t("runs.export.metrics")}
        </Button>
        <Button variant="default" loading={busy} onClick={() => void write("bundle")}>
          {t("runs.export.bundle")}
        </Button>
        <Select
          label={t("runs.export.step")}
          data={run.checkpoints.map(String)}
          value={step}
          onChange={(value) => setStep(value ?? "")}
          w={120}
          disabled={run.checkpoints.length === 0}
        />
        <Button variant="default" loading={busy} disabled={step === ""} onClick={() => void write("checkpoint")}>
          {t("runs.export.checkpoint")}
        </Button>
      </Group>
      {error !== undefined && <ErrorBox error={error} />}
      {dialog}
    </Stack>
  );
}
