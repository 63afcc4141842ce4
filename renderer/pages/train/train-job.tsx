/** A run that was begun here: waiting, opening, and then as it learns. */

import { Button, Group, Loader, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import { errorFromData } from "../../../core/contract/errors.ts";
import { useApi, useApp } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LiveRun } from "../../components/live-run/live-run.tsx";
import { EmptyState } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";

export function TrainJob({ id }: { id: string }) {
  const { t } = useTranslation();
  const api = useApi();
  const [, navigate] = useLocation();
  const job = useApp(({ jobs }) => jobs.find((one) => one.id === id));
  const isBusy = useApp(({ jobs }) => jobs.some((one) => one.ended === null && one.id !== id));
  const another = (
    <Button component={Link} href="/train" variant="default">
      {t("train.another")}
    </Button>
  );
  if (job === undefined) {
    return (
      <Page title={t("nav.train")} actions={another}>
        <EmptyState title={t("train.gone.title")}>
          <Link href="/runs">{t("train.gone.text")}</Link>
        </EmptyState>
      </Page>
    );
  }
  const cancel = async () => {
    await api.call("jobs.stop", { id, save: true });
    navigate("/train");
  };
  return (
    <Page
      title={job.run ?? job.title}
      actions={
        <>
          {job.run !== null && (
            <Button
              component={Link}
              href={`/runs/${encodeURIComponent(job.run)}`}
              variant={job.ended === null ? "default" : "filled"}
            >
              {t("train.openRun")}
            </Button>
          )}
          {another}
        </>
      }
    >
      {job.run === null && job.ended === null && (
        <Stack className="hone-card" role="status">
          <Group justify="space-between">
            <Group gap="sm">
              <Loader size="sm" />
              <Text>
                {job.state === "queued"
                  ? t(isBusy ? "train.queued" : "train.phase.loading")
                  : t(`train.phase.${job.phase ?? "loading"}`)}
              </Text>
            </Group>
            <Button variant="default" disabled={job.state === "stopping"} onClick={() => void cancel()}>
              {t("common.cancel")}
            </Button>
          </Group>
        </Stack>
      )}
      {job.run === null && job.state === "stopped" && <Text>{t("train.neverBegun")}</Text>}
      {job.run === null && job.error !== null && <ErrorBox error={errorFromData(job.error)} />}
      {job.run !== null && <LiveRun run={job.run} />}
    </Page>
  );
}
