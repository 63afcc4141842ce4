/** Says when work has ended, wherever the person is in the app. */

import { Anchor } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Job } from "../../core/contract/api/job-calls.ts";
import { useApp } from "./hone-context.tsx";

const colours = { done: "teal", stopped: "gray", failed: "red" } as const;

export function JobNotices() {
  const { t } = useTranslation();
  const jobs = useApp((state) => state.jobs);
  const before = useRef<ReadonlySet<string>>(new Set());
  useEffect(() => {
    for (const job of jobs) {
      if (before.current.has(job.id) && isEnded(job) && !isSeen(job)) {
        notifications.show({
          id: job.id,
          title: t(`app.ended.${job.state}`),
          message: job.run === null ? job.title : <RunLink run={job.run}>{job.title}</RunLink>,
          color: colours[job.state],
          autoClose: job.state === "failed" ? false : 8000,
          closeButtonProps: { "aria-label": t("common.close") },
        });
      }
    }
    before.current = new Set(jobs.filter(({ ended }) => ended === null).map(({ id }) => id));
  }, [jobs, t]);
  return null;
}

function isEnded(job: Job): job is Job & { state: keyof typeof colours } {
  return job.state in colours;
}

/** On a page that shows the good end itself, a notice would only lie over it. */
function isSeen({ id, state, run }: Job): boolean {
  const place = window.location.hash.slice(1);
  const isShown =
    place.startsWith("/tutorial?lesson=") ||
    place === `/train?job=${id}` ||
    (run !== null && place === `/runs/${encodeURIComponent(run)}`);
  return state === "done" && isShown;
}

/** Outside of the router, where notices are drawn. */
function RunLink({ run, children }: { run: string; children: string }) {
  return <Anchor href={`#/runs/${encodeURIComponent(run)}`}>{children}</Anchor>;
}
