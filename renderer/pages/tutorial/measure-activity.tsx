/** The lesson's model on held-out rows; the measurement after training stands beside the one before it. */

import { Button, Group, Progress, Stack, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import type { Lesson } from "../../../core/contract/lesson.ts";
import { errorFromData } from "../../../core/contract/errors.ts";
import { formatSeconds } from "../../../core/contract/units.ts";
import { useApi, useApp, useLoaded } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { EvaluationTable } from "../../components/evaluation-table.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import type { ActivityProps } from "./activity-props.ts";

export function MeasureActivity({ lesson, step, store, onDone }: ActivityProps<"measure">) {
  const { t } = useTranslation();
  const api = useApi();
  const { progress, keepEvaluation } = useStore(store);
  const [id, setId] = useState<string>();
  const [error, setError] = useState<unknown>();
  const job = useApp(({ jobs }) => jobs.find((one) => one.id === id));
  const kept = progress.evaluations[step.id] as string | undefined;
  useEffect(() => {
    if (job?.state !== "done") return;
    keepEvaluation(step.id, (job.result as { id: string }).id);
    setId(undefined);
  }, [job, keepEvaluation, step.id]);
  useEffect(() => {
    if (kept !== undefined) onDone();
  }, [kept, onDone]);

  const model = step.model === "base" ? lesson.model : progress.run;
  if (model === null) return <Text>{t("tutorial.measure.untrained")}</Text>;
  const begin = async () => {
    setError(undefined);
    try {
      const { job: started } = await api.call("train.evaluate", {
        model,
        task: lesson.task,
        // The yardstick is the task's own reward, whatever the model was trained with.
        reward: null,
        greedy: false,
        games: step.games,
        ...(step.limit !== undefined && { limit: step.limit }),
      });
      setId(started);
    } catch (failed) {
      setError(failed);
    }
  };
  const isBusy = id !== undefined && job?.ended == null;
  return (
    <Stack gap="sm">
      {!isBusy && (
        <Group>
          <Button onClick={() => void begin()} variant={kept === undefined ? "filled" : "default"}>
            {kept === undefined ? t("tutorial.measure.begin") : t("tutorial.measure.again")}
          </Button>
        </Group>
      )}
      {isBusy && (
        <Stack gap={4} role="status" maw={500}>
          <Text size="sm">
            {t("tutorial.measure.working")}
            {job?.seconds_left != null && ` · ${t("jobs.left", { time: formatSeconds(job.seconds_left) })}`}
          </Text>
          <Progress
            value={job?.progress == null ? 0 : (100 * job.progress.done) / Math.max(1, job.progress.total)}
            animated={job?.progress == null}
            aria-label={t("tutorial.measure.working")}
          />
        </Stack>
      )}
      {error !== undefined && <ErrorBox error={error} onRetry={() => void begin()} />}
      {job?.error != null && <ErrorBox error={errorFromData(job.error)} onRetry={() => void begin()} />}
      {kept !== undefined && (
        <Measured
          shown={measuredSteps(lesson, step.id).flatMap(({ id: one, model: who }) => {
            const evaluation = progress.evaluations[one] as string | undefined;
            return evaluation === undefined ? [] : [{ evaluation, who }];
          })}
          guess={step.question?.kind === "number" ? progress.predictions[step.id] : undefined}
        />
      )}
    </Stack>
  );
}

/** The measurements up to this step. */
function measuredSteps({ steps }: Lesson, until: string): { id: string; model: "base" | "trained" }[] {
  return steps
    .slice(0, steps.findIndex(({ id }) => id === until) + 1)
    .flatMap((step) => (step.kind === "measure" ? [{ id: step.id, model: step.model }] : []));
}

interface MeasuredProps {
  shown: readonly { evaluation: string; who: "base" | "trained" }[];
  guess: number | undefined;
}

function Measured({ shown, guess }: MeasuredProps) {
  const { t } = useTranslation();
  const api = useApi();
  const ids = shown.map(({ evaluation }) => evaluation);
  const loaded = useLoaded(ids.join(" "), (signal) =>
    Promise.all(ids.map((id) => api.call("evaluations.read", { id }, { signal }))),
  );
  return (
    <LoadedView of={loaded}>
      {(evaluations) => {
        const reward = evaluations.at(-1)?.report.reward?.mean;
        return (
          <Stack gap="xs" className="hone-card">
            {guess !== undefined && reward !== undefined && (
              <Text fw={600} role="status">
                {t("tutorial.measure.guess", { guess: guess.toFixed(2), value: reward.toFixed(2) })}
              </Text>
            )}
            <EvaluationTable
              reports={evaluations.map(({ report }, index) => ({
                label: t(`tutorial.measure.${shown[index].who === "base" ? "before" : "after"}`),
                report,
              }))}
            />
          </Stack>
        );
      }}
    </LoadedView>
  );
}
