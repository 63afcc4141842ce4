/** What Hone is working on at this moment. */

import { Button, Group, Progress, Stack, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { Job } from "../../../core/contract/api/job-calls.ts";
import { formatSeconds } from "../../../core/contract/units.ts";

export function RunningNow({ jobs }: { jobs: readonly Job[] }) {
  const { t } = useTranslation();
  if (jobs.length === 0) return null;
  return (
    <Stack gap="xs" component="section" aria-label={t("home.now")}>
      <Title order={2} size="h5">
        {t("home.now")}
      </Title>
      {jobs.map((job) => {
        const { progress, seconds_left: left } = job;
        return (
          <Group key={job.id} className="hone-card" justify="space-between" wrap="nowrap">
            <Stack gap={4} flex={1} miw={0}>
              <Text fw={600} size="sm" truncate>
                {job.title}
              </Text>
              <Progress
                value={progress === null ? 0 : (100 * progress.done) / Math.max(1, progress.total)}
                animated={job.state === "running" && progress === null}
                aria-label={job.title}
              />
              <Text size="xs" className="hone-muted hone-numbers">
                {[
                  t(`jobs.state.${job.state}`),
                  ...(progress === null ? [] : [`${progress.done} / ${progress.total}`]),
                  ...(left === null ? [] : [t("jobs.left", { time: formatSeconds(left) })]),
                ].join(" · ")}
              </Text>
            </Stack>
            {job.run !== null && (
              <Button component={Link} href={`/runs/${encodeURIComponent(job.run)}`} variant="default">
                {t("home.watch")}
              </Button>
            )}
          </Group>
        );
      })}
    </Stack>
  );
}
