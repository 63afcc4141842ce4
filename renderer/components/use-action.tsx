/** Something a person asked for that may fail: it says what is under way, and keeps the error until the next try. */

import { useState, type ReactNode } from "react";
import { ErrorBox } from "./error-box.tsx";

export interface Action {
  run: (work: () => Promise<unknown>) => void;
  busy: boolean;
  /** The error, to be shown where the action is; nothing when there is none. */
  problem: ReactNode;
}

export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<{ what: unknown; work: () => Promise<unknown> }>();
  const run = (work: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    work()
      .catch((what: unknown) => setError({ what, work }))
      .finally(() => setBusy(false));
  };
  const problem = error !== undefined && <ErrorBox error={error.what} onRetry={() => run(error.work)} />;
  return { run, busy, problem };
}
