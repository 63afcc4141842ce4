/** Trains the lesson's model with the reward as the person left it, and shows the run as it learns. */

import { Button, Group, Stack, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import { errorFromData } from "../../../core/contract/errors.ts";
import { useApi, useApp } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LiveRun } from "../../components/live-run/live-run.tsx";
import type { ActivityProps } from "./activity-props.ts";

export function TrainActivity({ lesson, step, store, onDone }: ActivityProps<"train">) {
  const { t } = useTranslation();
  const api = useApi();
  const { progress, keep } = useStore(store);
  const job = useApp(({ jobs }) => jobs.find(({ id }) => id === progress.job));
  const [error, setError] = useState<unknown>();

  useEffect(() => {
    if (job?.run != null && job.run !== progress.run) keep({ run: job.run });
    if (job?.state === "done") onDone();
  }, [job, progress.run, keep, onDone]);

  const begin = async () => {
    setError(undefined);
    try {
      const original = lesson.steps.find((one) => one.kind === "reward")?.reward;
      const own = progress.reward !== null && progress.reward !== original ? progress.reward : undefined;
      const reward =
        own === undefined ? null : (await api.call("tutorial.reward", { lesson: lesson.id, text: own })).path;
      const { job: id } = await api.call("train.start", {
        config: { model: lesson.model, task: lesson.task, ...step.config, reward },
      });
      keep({ job: id, run: null });
    } catch (failed) {
      setError(failed);
    }
  };
  const isActive = job !== undefined && job.ended === null;
  return (
    <Stack gap="sm">
      {!isActive && (
        <Group>
          <Button onClick={() => void begin()} variant={progress.run === null ? "filled" : "default"}>
            {progress.run === null ? t("tutorial.train.begin") : t("tutorial.train.again")}
          </Button>
          {progress.reward !== null && (
            <Text size="sm" className="hone-muted">
              {t("tutorial.train.yourReward")}
            </Text>
          )}
        </Group>
      )}
      {isActive && progress.run === null && (
        <Text size="sm" role="status">
          {job.state === "queued" ? t("tutorial.train.queued") : t("tutorial.train.opening")}
        </Text>
      )}
      {error !== undefined && <ErrorBox error={error} onRetry={() => void begin()} />}
      {job?.error != null && <ErrorBox error={errorFromData(job.error)} />}
      {progress.run !== null && <LiveRun run={progress.run} />}
    </Stack>
  );
}
