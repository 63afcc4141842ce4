/** A job that this page has started: its state as it goes on, and its result. */

import { useEffect, useRef, useState } from "react";
import type { CallInput, CallName } from "../../core/contract/api/api.ts";
import type { Job } from "../../core/contract/api/job-calls.ts";
import { errorFromData, errorKind } from "../../core/contract/errors.ts";
import { useApi, useApp } from "../app/hone-context.tsx";

/** Calls that answer with a job's id. */
type JobCall = "rewards.draw" | "tasks.advise" | "tasks.check_with_model" | "train.evaluate" | "models.measure";

export interface StartedJob {
  /** Null before one was started, and when it was forgotten. */
  job: Job | null;
  error: unknown;
  busy: boolean;
  start: <Name extends JobCall & CallName>(name: Name, input: CallInput<Name>) => Promise<void>;
  stop: () => void;
}

/** `onDone` hears the result, which has the type that the call says. */
export function useJob(onDone: (result: unknown) => void): StartedJob {
  const api = useApi();
  const [id, setId] = useState<string | null>(null);
  const [starting, setStarting] = useState(false);
  const [error, setError] = useState<unknown>();
  const job = useApp(({ jobs }) => jobs.find((one) => one.id === id)) ?? null;
  const latest = useRef(onDone);
  latest.current = onDone;
  useEffect(() => {
    if (id === null) return undefined;
    let left = false;
    api.call("jobs.wait", { id }).then(
      (ended) => {
        if (left) return;
        if (ended.error !== null) setError(errorFromData(ended.error));
        else if (ended.state === "done") latest.current(ended.result);
      },
      (failed: unknown) => {
        if (!left) setError(failed);
      },
    );
    return () => {
      left = true;
    };
  }, [api, id]);
  return {
    job,
    error: errorKind(error) === "cancelled" ? undefined : error,
    busy: starting || (job !== null && job.ended === null),
    start: async (name, input) => {
      setError(undefined);
      setStarting(true);
      try {
        const started: { job: string } = await api.call(name, input);
        setId(started.job);
      } catch (failed) {
        setError(failed);
      } finally {
        setStarting(false);
      }
    },
    stop: () => {
      if (id !== null) void api.call("jobs.stop", { id, save: true });
    },
  };
}
