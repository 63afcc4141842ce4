import { Badge } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { ListedRun } from "../../../core/contract/api/run-calls.ts";
import { useApp } from "../../app/hone-context.tsx";

/** What a run is doing now: its folder knows whether it is finished, the jobs know whether it is being trained. */
export function useRunState({
  name,
  state,
}: Pick<ListedRun, "name" | "state">): "running" | "queued" | ListedRun["state"] {
  const job = useApp(({ jobs }) => jobs.find((one) => one.run === name && one.kind === "train" && one.ended === null));
  if (job === undefined) return state;
  return job.state === "queued" ? "queued" : "running";
}

const colors = {
  running: "steel",
  queued: "gray",
  finished: "teal",
  unfinished: "orange",
  elsewhere: "grape",
} as const;

export function RunStateBadge({ run }: { run: Pick<ListedRun, "name" | "state"> }) {
  const { t } = useTranslation();
  const state = useRunState(run);
  return (
    <Badge size="xs" variant="light" color={colors[state]} autoContrast>
      {t(`runs.state.${state}`)}
    </Badge>
  );
}
