/** A run as its window sees it: read once, then kept up to date by news. Knows nothing of React. */

import { createStore, type StoreApi } from "zustand/vanilla";
import type { Api, RunNews } from "../../core/contract/api/api.ts";
import type { RunDetails } from "../../core/contract/api/run-calls.ts";
import { errorKind } from "../../core/contract/errors.ts";

/** Milliseconds: curves that are drawn more often say no more, and take from the training. */
const pause = 1000;

export interface RunState {
  run: RunDetails | undefined;
  error: unknown;
}

export interface RunStore extends StoreApi<RunState> {
  /** Reads the run, and follows it until the returned function is called. */
  follow(): () => void;
}

export function createRunStore(api: Api, name: string): RunStore {
  const store = createStore<RunState>(() => ({ run: undefined, error: undefined }));
  /** News that are not shown yet: those that came before the run was read, and those of the present moment. */
  let waiting: RunNews[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  const show = () => {
    timer = undefined;
    const { run } = store.getState();
    if (run === undefined) return;
    store.setState({ run: waiting.reduce(withNews, run) });
    waiting = [];
  };

  const read = async (signal: AbortSignal) => {
    try {
      const run = await api.call("runs.read", { run: name }, { signal });
      if (signal.aborted) return;
      store.setState({ run: waiting.reduce(withNews, run), error: undefined });
      waiting = [];
    } catch (error) {
      if (!signal.aborted && errorKind(error) !== "cancelled") store.setState({ error });
    }
  };
  return Object.assign(store, {
    follow() {
      const abort = new AbortController();
      let wasActive = false;
      const ends = [
        // However it ended, what is in its folder now is the truth.
        api.subscribe("jobs", (jobs) => {
          const isActive = jobs.some((job) => job.run === name && job.ended === null);
          if (wasActive && !isActive) void read(abort.signal);
          wasActive = isActive;
        }),
        api.subscribe(
          "run",
          (news) => {
            waiting.push(news);
            timer ??= setTimeout(show, pause);
            // What the first measurement says of known players is in its file only.
            if (news.rows.some(({ step }) => step === 0)) void read(abort.signal);
          },
          name,
        ),
        api.subscribe("library", (part) => {
          if (part === "runs") void read(abort.signal);
        }),
      ];
      void read(abort.signal);
      return () => {
        abort.abort();
        clearTimeout(timer);
        for (const end of ends) end();
      };
    },
  });
}

/** The run with what has happened since. A step that is told twice is replaced: after a stop it was done again. */
export function withNews(run: RunDetails, news: RunNews): RunDetails {
  const rows = new Map(run.metrics.map((row) => [row.step, row]));
  for (const row of news.rows) rows.set(row.step, row);
  const metrics = [...rows.values()].sort((a, b) => a.step - b.step);
  const union = (a: readonly number[], b: readonly number[]) => [...new Set([...a, ...b])].sort((x, y) => x - y);
  const known = new Set(run.events.map(({ time, name }) => `${time} ${name}`));
  return {
    ...run,
    metrics,
    step: metrics.at(-1)?.step ?? run.step,
    events: [...run.events, ...news.events.filter(({ time, name }) => !known.has(`${time} ${name}`))],
    rollout_steps: union(run.rollout_steps, news.rollout_steps),
    checkpoints: union(run.checkpoints, news.checkpoints),
  };
}
