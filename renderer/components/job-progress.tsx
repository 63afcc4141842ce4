/** How far a job is, in the page that has started it. */

import { Button, Group, Progress, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { formatSeconds } from "../../core/contract/units.ts";
import { ErrorBox } from "./error-box.tsx";
import type { StartedJob } from "./use-job.ts";

export function JobProgress({ of: { job, error, busy, stop } }: { of: StartedJob }) {
  const { t } = useTranslation();
  if (error !== undefined) return <ErrorBox error={error} />;
  if (!busy || job === null) return null;
  const share = job.progress === null ? 100 : (100 * job.progress.done) / Math.max(1, job.progress.total);
  return (
    <Stack gap={4} role="status">
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">
          {t(`jobs.state.${job.state}`)}
          {job.progress !== null && ` · ${job.progress.done} / ${job.progress.total}`}
          {job.seconds_left !== null && ` · ${t("jobs.left", { time: formatSeconds(job.seconds_left) })}`}
        </Text>
        <Button size="compact-xs" variant="default" onClick={stop} disabled={job.state === "stopping"}>
          {t("common.cancel")}
        </Button>
      </Group>
      <Progress value={share} animated={job.progress === null} size="sm" aria-label={job.title} />
    </Stack>
  );
}
