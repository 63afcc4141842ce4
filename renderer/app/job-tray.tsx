/** What Hone is working on, seen from every page. */

import { ActionIcon, Badge, Group, Popover, Progress, Stack, Text, UnstyledButton } from "@mantine/core";
import { X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { Job } from "../../core/contract/api/job-calls.ts";
import { formatSeconds } from "../../core/contract/units.ts";
import { ErrorBox } from "../components/error-box.tsx";
import { errorFromData } from "../../core/contract/errors.ts";
import { activeJobs } from "../stores/app-store.ts";
import { useApi, useApp } from "./hone-context.tsx";

export function JobTray() {
  const { t } = useTranslation();
  const jobs = useApp((state) => state.jobs);
  const active = activeJobs(jobs);
  if (jobs.length === 0) return null;
  return (
    <Popover width={380} position="bottom-end" shadow="md">
      <Popover.Target>
        <UnstyledButton>
          <Badge variant={active.length > 0 ? "filled" : "default"} size="lg">
            {active.length > 0 ? t("jobs.active", { count: active.length }) : t("jobs.none")}
          </Badge>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="sm" mah="70vh" style={{ overflowY: "auto" }}>
          {[...jobs].reverse().map((job) => (
            <JobRow key={job.id} job={job} />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

function JobRow({ job }: { job: Job }) {
  const { t } = useTranslation();
  const api = useApi();
  const { progress } = job;
  return (
    <Stack gap={4}>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" fw={500} truncate>
          {job.run === null ? job.title : <Link href={`/runs/${encodeURIComponent(job.run)}`}>{job.title}</Link>}
        </Text>
        <Group gap={4} wrap="nowrap">
          <Text size="xs" className="hone-muted">
            {t(`jobs.state.${job.state}`)}
          </Text>
          <ActionIcon
            variant="subtle"
            size="sm"
            aria-label={
              job.ended === null ? t("jobs.stop", { title: job.title }) : t("jobs.dismiss", { title: job.title })
            }
            onClick={() => void api.call(job.ended === null ? "jobs.stop" : "jobs.dismiss", { id: job.id })}
          >
            <X size={14} aria-hidden />
          </ActionIcon>
        </Group>
      </Group>
      {job.ended === null && progress !== null && (
        <Progress value={(100 * progress.done) / Math.max(1, progress.total)} size="sm" aria-label={job.title} />
      )}
      {job.ended === null && job.seconds_left !== null && (
        <Text size="xs" className="hone-muted">
          {t("jobs.left", { time: formatSeconds(job.seconds_left) })}
        </Text>
      )}
      {job.error !== null && <ErrorBox error={errorFromData(job.error)} />}
    </Stack>
  );
}
