/** How far a run is, and what can be done about it now. */

import { Button, Group, Menu, Progress, Stack, Text } from "@mantine/core";
import { ChevronDown, Pause, Play, Square } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { SystemLoad } from "../../../core/contract/api/app-calls.ts";
import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import { errorFromData } from "../../../core/contract/errors.ts";
import { formatBytes, formatPercent, formatSeconds } from "../../../core/contract/units.ts";
import { useApi, useApp } from "../../app/hone-context.tsx";
import { ErrorBox } from "../error-box.tsx";
import classes from "./live-run.module.css";

export function RunControls({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  const api = useApi();
  const job = useApp(({ jobs }) => jobs.findLast((one) => one.run === run.name && one.kind === "train"));
  const [error, setError] = useState<unknown>();
  const isActive = job !== undefined && job.ended === null;
  const row = run.metrics.at(-1);

  const act = async (work: () => Promise<unknown>) => {
    setError(undefined);
    try {
      await work();
    } catch (failed) {
      setError(failed);
    }
  };
  const stop = (save: boolean) => void act(() => api.call("jobs.stop", { id: job?.id ?? "", save }));
  const phase = !isActive
    ? t(`runs.state.${run.state}`)
    : job.state === "queued"
      ? t("runs.state.queued")
      : job.state === "stopping"
        ? t("jobs.state.stopping")
        : t(`train.phase.${job.phase ?? "loading"}`);
  return (
    <Stack gap="xs" className="hone-card" component="section" aria-label={t("train.progress")}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div className={classes.facts}>
          <Text fw={600} size="sm" role="status">
            {phase}
          </Text>
          <Text size="sm" className="hone-numbers">
            {t("train.step", { step: run.step, total: run.total_steps })}
          </Text>
          {isActive && job.seconds_left !== null && (
            <Text size="sm" className="hone-numbers">
              {t("jobs.left", { time: formatSeconds(job.seconds_left) })}
            </Text>
          )}
          {row?.["step_time"] !== undefined && (
            <Text size="sm" className="hone-muted hone-numbers">
              {t("train.stepTime", { time: shortTime(row["step_time"]) })}
            </Text>
          )}
          {row?.["peak_memory"] !== undefined && (
            <Text size="sm" className="hone-muted hone-numbers">
              {t("train.peak", { size: formatBytes(row["peak_memory"]) })}
            </Text>
          )}
          {isActive && <Load />}
        </div>
        <Group gap={4} wrap="nowrap">
          {isActive ? (
            <>
              <Button
                variant="default"
                leftSection={<Pause size={15} aria-hidden />}
                disabled={job.state === "stopping"}
                onClick={() => stop(true)}
              >
                {t("train.pause")}
              </Button>
              <Menu position="bottom-end">
                <Menu.Target>
                  <Button
                    variant="default"
                    rightSection={<ChevronDown size={14} aria-hidden />}
                    leftSection={<Square size={13} aria-hidden />}
                  >
                    {t("train.stop")}
                  </Button>
                </Menu.Target>
                <Menu.Dropdown>
                  <Menu.Item onClick={() => stop(true)}>{t("train.stopAndSave")}</Menu.Item>
                  <Menu.Item onClick={() => stop(false)}>{t("train.stopNow")}</Menu.Item>
                </Menu.Dropdown>
              </Menu>
            </>
          ) : (
            run.state === "unfinished" && (
              <Button
                leftSection={<Play size={15} aria-hidden />}
                onClick={() => void act(() => api.call("train.resume", { run: run.name }))}
              >
                {t("runs.resume")}
              </Button>
            )
          )}
        </Group>
      </Group>
      <Progress
        value={(100 * run.step) / Math.max(1, run.total_steps)}
        size="sm"
        color={run.state === "finished" ? "teal" : "steel"}
        aria-label={t("train.progress")}
      />
      {error !== undefined && <ErrorBox error={error} />}
      {job?.error != null && <ErrorBox error={errorFromData(job.error)} />}
    </Stack>
  );
}

function shortTime(seconds: number): string {
  return seconds < 0.1 ? `${Math.round(1000 * seconds)} ms` : formatSeconds(seconds);
}

/** How busy the machine is, once a second. */
function Load() {
  const { t } = useTranslation();
  const api = useApi();
  const [load, setLoad] = useState<SystemLoad>();
  useEffect(() => api.subscribe("load", setLoad), [api]);
  if (load === undefined) return null;
  return (
    <Text size="sm" className="hone-muted hone-numbers">
      {t("train.load", {
        cpu: formatPercent(load.cpu),
        memory: formatBytes(load.hone_memory),
        free: formatBytes(load.memory_total - load.memory_used),
      })}
    </Text>
  );
}
