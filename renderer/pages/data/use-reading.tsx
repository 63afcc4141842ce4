/** Calls that read all rows of something: how far they are, how long it will take, and a way to stop them. */

import { Button, Group, Progress, Stack, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { CallInput, CallResult } from "../../../core/contract/api/api.ts";
import type { DataProgress } from "../../../core/contract/api/data-calls.ts";
import { errorKind } from "../../../core/contract/errors.ts";
import { secondsLeft } from "../../../core/contract/numbers.ts";
import { formatCount, formatSeconds } from "../../../core/contract/units.ts";
import { useApi } from "../../app/hone-context.tsx";

type ReadingCall = "data.check" | "data.import" | "data.stats" | "data.dedupe" | "data.split" | "data.export";

export interface Reading {
  busy: boolean;
  progress: (DataProgress & { secondsLeft: number | null }) | null;
  error: unknown;
  cancel: () => void;
}

export interface ReadingOf<Name extends ReadingCall> extends Reading {
  /** The result; undefined when it failed or was stopped. An earlier one that still runs is stopped. */
  run: (input: Omit<CallInput<Name>, "stream">) => Promise<CallResult<Name> | undefined>;
}

export function useReading<Name extends ReadingCall>(name: Name): ReadingOf<Name> {
  const api = useApi();
  const [state, setState] = useState<Omit<Reading, "cancel">>({ busy: false, progress: null, error: undefined });
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const run: ReadingOf<Name>["run"] = async (input) => {
    abort.current?.abort();
    const mine = new AbortController();
    abort.current = mine;
    const stream = crypto.randomUUID();
    const begun = performance.now();
    setState({ busy: true, progress: null, error: undefined });
    const end = api.subscribe(
      "stream",
      (news) => {
        const { done, total } = news as DataProgress;
        const seconds = (performance.now() - begun) / 1000;
        const left = seconds < 0.5 ? null : secondsLeft(seconds, done, total);
        if (!mine.signal.aborted) {
          setState({ busy: true, progress: { done, total, secondsLeft: left }, error: undefined });
        }
      },
      stream,
    );
    try {
      const result = await api.call(name, { ...input, stream } as CallInput<Name>, { signal: mine.signal });
      if (mine.signal.aborted) return undefined;
      setState({ busy: false, progress: null, error: undefined });
      return result;
    } catch (error) {
      if (abort.current === mine) {
        setState({ busy: false, progress: null, error: errorKind(error) === "cancelled" ? undefined : error });
      }
      return undefined;
    } finally {
      end();
    }
  };
  return { ...state, run, cancel: () => abort.current?.abort() };
}

export function ReadingProgress({ of: { busy, progress, cancel }, label }: { of: Reading; label: string }) {
  const { t } = useTranslation();
  if (!busy) return null;
  const share = progress === null ? 100 : (100 * progress.done) / Math.max(1, progress.total);
  return (
    <Stack gap={4} role="status">
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" className="hone-numbers">
          {label}
          {progress !== null &&
            ` · ${t("data.progress", { done: formatCount(progress.done), total: formatCount(progress.total) })}`}
          {progress?.secondsLeft != null && ` · ${t("jobs.left", { time: formatSeconds(progress.secondsLeft) })}`}
        </Text>
        <Button size="compact-xs" variant="default" onClick={cancel}>
          {t("common.cancel")}
        </Button>
      </Group>
      <Progress value={share} animated={progress === null} size="sm" aria-label={label} />
    </Stack>
  );
}
