/** What the run will take: told at once where it is known, and measured when the person asks for it. */

import { Button, Group, Progress, Stack, Text, Title } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { RunPlan } from "../../../core/contract/cli-json.ts";
import type { RunConfigInput } from "../../../core/contract/config.ts";
import { errorKind } from "../../../core/contract/errors.ts";
import { formatBytes, formatCount, formatSeconds } from "../../../core/contract/units.ts";
import { useApi, useApp, useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { activeJobs } from "../../stores/app-store.ts";
import type { CheckedForm } from "../../stores/train-form.ts";
import classes from "./train.module.css";

/** Fewer are hardly a training. */
const fewSteps = 10;

const verdictColors = { fits: "var(--hone-good)", tight: "var(--hone-warn)", does_not_fit: "var(--hone-bad)" } as const;

export function EstimateCard({ checked }: { checked: CheckedForm }) {
  const { t } = useTranslation();
  // As text: an object that is made anew would never come to rest.
  const [text] = useDebouncedValue(JSON.stringify(checked.input), 350);
  const config = useMemo(() => JSON.parse(text) as RunConfigInput, [text]);
  const estimate = useCall("train.estimate", { config }, { enabled: checked.config !== null, follow: "runs" });
  const measured = useMeasurement(config);
  const plan = measured.plan;
  const value = estimate.value;
  const memory = value?.memory ?? null;
  const steps = plan?.steps ?? value?.steps ?? undefined;
  // Of a few rows come a few steps; whoever asked for a number of steps knows it.
  const isShort = steps !== undefined && steps < fewSteps && (config.max_steps ?? -1) < 1;
  const total = plan?.memory_bytes.total ?? memory?.total;
  const seconds = plan?.seconds.total ?? value?.seconds?.total;
  const perStep = plan?.seconds.per_step ?? value?.seconds?.per_step;
  const disk = plan === undefined ? value?.disk : { total: plan.disk_bytes, free: plan.disk_free_bytes };
  return (
    <Stack gap="xs" className="hone-card" component="section" aria-label={t("train.estimate.title")}>
      <Title order={2} size="h6">
        {t("train.estimate.title")}
      </Title>
      {estimate.state === "failed" && <ErrorBox error={estimate.error} onRetry={estimate.reload} />}
      <dl className={classes.facts}>
        <dt>{t("train.estimate.steps")}</dt>
        <dd className="hone-numbers">{numberText(steps)}</dd>
        <dt>{t("train.estimate.time")}</dt>
        <dd className="hone-numbers">{seconds == null ? t("train.estimate.unknown") : formatSeconds(seconds)}</dd>
        {perStep !== undefined && (
          <>
            <dt>{t("train.estimate.perStep")}</dt>
            <dd className="hone-numbers">{formatSeconds(perStep)}</dd>
          </>
        )}
        <dt>{t("train.estimate.memory")}</dt>
        <dd className="hone-numbers">{total === undefined ? "–" : formatBytes(total)}</dd>
        <dt>{t("train.estimate.disk")}</dt>
        <dd className="hone-numbers">
          {disk == null ? "–" : t("train.estimate.atMost", { size: formatBytes(disk.total) })}
        </dd>
      </dl>
      {memory !== null && total !== undefined && (
        <>
          <Progress
            value={Math.min(100, (100 * total) / memory.machine)}
            color={verdictColors[memory.verdict]}
            aria-label={t("train.estimate.memory")}
          />
          <Text size="xs" c={verdictColors[memory.verdict]}>
            {t(`train.estimate.verdict.${memory.verdict}`, {
              free: formatBytes(memory.free),
              machine: formatBytes(memory.machine),
            })}
          </Text>
        </>
      )}
      {disk != null && disk.total > disk.free && (
        <Text size="xs" c="var(--hone-bad)" role="alert">
          {t("train.estimate.diskFull", { free: formatBytes(disk.free) })}
        </Text>
      )}
      {isShort && (
        <Text size="xs" c="var(--hone-warn)" role="status">
          {t("train.estimate.fewSteps", { count: steps })}
        </Text>
      )}
      <Text size="xs" className="hone-muted">
        {plan !== undefined
          ? t("train.estimate.measured")
          : value?.seconds != null
            ? t("train.estimate.likeRun", { run: value.seconds.run })
            : t("train.estimate.quick")}
      </Text>
      {plan?.notes.map((note) => (
        <Text key={note} size="xs" className="hone-muted">
          {note}
        </Text>
      ))}
      <MeasureButton of={measured} disabled={checked.config === null} />
    </Stack>
  );
}

function numberText(value: number | null | undefined): string {
  return value == null ? "–" : formatCount(value);
}

interface Measurement {
  plan: RunPlan | undefined;
  error: unknown;
  /** Milliseconds of the clock at which it was begun. */
  begun: number | undefined;
  begin: () => void;
  cancel: () => void;
}

/** Forgotten when an option changes: it would be about another run. */
function useMeasurement(config: RunConfigInput): Measurement {
  const api = useApi();
  const key = JSON.stringify(config);
  const [state, setState] = useState<{ key: string; plan?: RunPlan; error?: unknown; begun?: number }>({ key });
  const [abort, setAbort] = useState<AbortController>();
  useEffect(
    () => () => {
      abort?.abort();
    },
    [abort, key],
  );
  const now = state.key === key ? state : { key };
  return {
    plan: now.plan,
    error: now.error,
    begun: now.begun,
    begin() {
      const controller = new AbortController();
      setAbort(controller);
      setState({ key, begun: performance.now() });
      api.call("train.measure", { config }, { signal: controller.signal }).then(
        (plan) => setState({ key, plan }),
        (error: unknown) => setState(errorKind(error) === "cancelled" ? { key } : { key, error }),
      );
    },
    cancel() {
      abort?.abort();
      setState({ key });
    },
  };
}

/** Half for sampling, half for updating, each of at most twelve seconds, and the opening of the model. Seconds. */
const longest = 30;

function MeasureButton({ of: { begun, error, begin, cancel }, disabled }: { of: Measurement; disabled: boolean }) {
  const { t } = useTranslation();
  const isBusy = useApp(({ jobs }) => activeJobs(jobs).some(({ kind }) => kind === "train" || kind === "evaluate"));
  const [, setTick] = useState(0);
  useEffect(() => {
    if (begun === undefined) return undefined;
    const timer = setInterval(() => setTick((tick) => tick + 1), 500);
    return () => clearInterval(timer);
  }, [begun]);
  if (error !== undefined) return <ErrorBox error={error} onRetry={begin} />;
  if (begun !== undefined) {
    const passed = (performance.now() - begun) / 1000;
    return (
      <Stack gap={4} role="status">
        <Group justify="space-between">
          <Text size="xs">{t("train.estimate.measuring", { seconds: longest })}</Text>
          <Button size="compact-xs" variant="default" onClick={cancel}>
            {t("common.cancel")}
          </Button>
        </Group>
        <Progress
          value={Math.min(97, (100 * passed) / longest)}
          size="sm"
          aria-label={t("train.estimate.measuring", { seconds: longest })}
        />
      </Stack>
    );
  }
  return (
    <Stack gap={4}>
      <Button size="xs" variant="default" disabled={disabled || isBusy} onClick={begin}>
        {t("train.estimate.measure")}
      </Button>
      {isBusy && (
        <Text size="xs" className="hone-muted">
          {t("train.estimate.busy")}
        </Text>
      )}
    </Stack>
  );
}
