/** Answers of the newest step, as they come. */

import { Button, Group, Stack, Text } from "@mantine/core";
import { Pause, Play } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../loaded-view.tsx";
import classes from "./live-run.module.css";
import { RolloutCard } from "./rollout-card.tsx";

const shown = 8;
/** A fast run does ten steps a second; nobody reads more than one of them in this time, in milliseconds. */
const pause = 1500;

export function LiveRollouts({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  const newest = run.rollout_steps.at(-1);
  const [step, setStep] = useState(newest);
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held || newest === undefined || newest === step) return undefined;
    const timer = setTimeout(() => setStep(newest), step === undefined ? 0 : pause);
    return () => clearTimeout(timer);
    // A newer step does not begin the wait anew, or a fast run would never be shown.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [held, step, newest === undefined || newest === step]);
  const loaded = useCall(
    "runs.rollouts",
    { run: run.name, step: step ?? 0, limit: shown },
    { enabled: step !== undefined },
  );
  if (step === undefined) return null;
  return (
    <Stack gap="xs" component="section" aria-label={t("train.answers")} miw={0}>
      <Group justify="space-between">
        <Text fw={600} size="sm">
          {t("train.answersOf", { step })}
        </Text>
        <Button
          size="compact-xs"
          variant="default"
          leftSection={held ? <Play size={12} aria-hidden /> : <Pause size={12} aria-hidden />}
          onClick={() => setHeld(!held)}
        >
          {held ? t("train.follow") : t("train.hold")}
        </Button>
      </Group>
      <div className={classes.rollouts} tabIndex={0} role="region" aria-label={t("train.answersOf", { step })}>
        <LoadedView of={loaded}>
          {({ rollouts }) => (
            <>
              {rollouts.map((line) => (
                <RolloutCard key={line.trajectory_id} task={run.task} line={line} />
              ))}
            </>
          )}
        </LoadedView>
      </div>
    </Stack>
  );
}
