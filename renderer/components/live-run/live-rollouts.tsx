/** Answers as they come: of the newest step, or of one that is looked back at. Only what is shown is fetched. */

import { Button, Group, SegmentedControl, Slider, Stack, Text } from "@mantine/core";
import { Pause, Play } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import { isRl, type Method } from "../../../core/contract/config.ts";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../loaded-view.tsx";
import { Term } from "../term.tsx";
import classes from "./live-run.module.css";
import { RolloutCard } from "./rollout-card.tsx";

const shown = 8;
/** A fast run does ten steps a second; nobody reads more than one of them in this time, in milliseconds. */
const pause = 1500;

export function LiveRollouts({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  const steps = run.rollout_steps;
  const newest = steps.at(-1);
  const [step, setStep] = useState(newest);
  const [held, setHeld] = useState(false);
  const [kind, setKind] = useState<"prompts" | "group">("prompts");
  const latest = useRef(newest);
  useEffect(() => {
    latest.current = newest;
  });
  const isLate = !held && newest !== undefined && newest !== step;
  useEffect(() => {
    if (!isLate) return undefined;
    // A newer step does not begin the wait anew, or a fast run would never be shown.
    const timer = setTimeout(() => setStep(latest.current), step === undefined ? 0 : pause);
    return () => clearTimeout(timer);
  }, [isLate, step]);
  const loaded = useCall(
    "train.answers",
    { run: run.name, step: step ?? 0, prompt: kind === "group" ? 0 : null, limit: shown },
    { enabled: step !== undefined && isRl(run.method as Method) },
  );
  // Given answers are no answers of the model, and answers need not be kept.
  if (step === undefined || !isRl(run.method as Method) || run.config.log_completions === false) return null;
  const look = (index: number) => {
    setHeld(true);
    setStep(steps[index]);
  };
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
      <Slider
        size="sm"
        min={0}
        max={Math.max(0, steps.length - 1)}
        value={Math.max(0, steps.indexOf(step))}
        onChange={look}
        label={(index) => steps[index]}
        disabled={steps.length < 2}
        thumbLabel={t("train.answersStep")}
        thumbProps={{ "aria-valuetext": String(step) }}
      />
      <SegmentedControl
        size="xs"
        data={(["prompts", "group"] as const).map((value) => ({ value, label: t(`train.show.${value}`) }))}
        value={kind}
        onChange={(value) => setKind(value)}
        aria-label={t("train.answers")}
      />
      <div className={classes.rollouts} tabIndex={0} role="region" aria-label={t("train.answersOf", { step })}>
        <LoadedView of={loaded}>
          {({ answers }) => (
            <>
              {answers.map((line) => (
                <RolloutCard key={line.trajectory_id} task={run.task} line={line} />
              ))}
              {run.task !== "tic-tac-toe" && answers[0] !== undefined && (
                <details className={classes.prompt}>
                  <summary>{t("train.prompt")}</summary>
                  <pre>{answers[0].prompt}</pre>
                </details>
              )}
            </>
          )}
        </LoadedView>
      </div>
      <Text size="xs" className="hone-muted">
        <Term name="token_certainty" />
      </Text>
    </Stack>
  );
}
