import { Button, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { GraduationCap } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { ListedRun } from "../../../core/contract/api/run-calls.ts";
import { useApp, useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { activeJobs } from "../../stores/app-store.ts";
import { RunActions } from "../runs/run-actions.tsx";
import { RunStateBadge } from "../runs/run-state-badge.tsx";
import { measuredText, shortModel } from "../runs/run-texts.ts";
import { RunningNow } from "./running-now.tsx";
import { TheLoop } from "./the-loop.tsx";

/** Of each kind; all others are one click away. */
const mostShown = 4;

export default function HomePage() {
  const { t } = useTranslation();
  const loaded = useCall("runs.list", {}, { follow: "runs" });
  const jobs = activeJobs(useApp((state) => state.jobs));
  return (
    <Page title={t("home.title")} lead={t("home.lead")}>
      <RunningNow jobs={jobs} />
      <LoadedView of={loaded}>
        {({ runs }) => {
          const unfinished = runs.filter(
            ({ name, state }) => state === "unfinished" && !jobs.some(({ run }) => run === name),
          );
          const finished = runs.filter(({ state, best }) => state === "finished" && best !== null);
          return (
            <Stack gap="md">
              {unfinished.length > 0 && (
                <RunSection title={t("home.continue")} text={t("home.continueText")} runs={unfinished} />
              )}
              {runs.length === 0 && <Welcome />}
              {finished.length > 0 && <RunSection title={t("home.results")} runs={finished} />}
              {runs.length > 0 && <TheLoop links />}
            </Stack>
          );
        }}
      </LoadedView>
    </Page>
  );
}

/** The first five minutes: what this is, and the one thing to do. */
function Welcome() {
  const { t } = useTranslation();
  return (
    <>
      <Stack className="hone-card" gap="sm" p="xl" align="flex-start">
        <Title order={2} size="h4">
          {t("home.welcome.title")}
        </Title>
        <Text maw={640}>{t("home.welcome.text")}</Text>
        <Group>
          <Button component={Link} href="/tutorial" size="md" leftSection={<GraduationCap size={18} aria-hidden />}>
            {t("home.welcome.tutorial")}
          </Button>
          <Button component={Link} href="/tasks/advise" variant="default" size="md">
            {t("home.advise")}
          </Button>
        </Group>
        <Text size="sm" className="hone-muted">
          {t("home.welcome.private")}
        </Text>
      </Stack>
      <TheLoop />
    </>
  );
}

function RunSection({ title, text, runs }: { title: string; text?: string; runs: readonly ListedRun[] }) {
  const { t } = useTranslation();
  return (
    <Stack gap="xs" component="section" aria-label={title}>
      <Group justify="space-between">
        <Title order={2} size="h5">
          {title}
        </Title>
        {runs.length > mostShown && (
          <Button component={Link} href="/runs" variant="subtle" size="compact-sm">
            {t("home.all", { count: runs.length })}
          </Button>
        )}
      </Group>
      {text !== undefined && (
        <Text size="sm" className="hone-muted">
          {text}
        </Text>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
        {runs.slice(0, mostShown).map((run) => (
          <Group key={run.name} className="hone-card" justify="space-between" wrap="nowrap" align="flex-start">
            <Stack gap={2} miw={0}>
              <Group gap="xs">
                <Text component={Link} href={`/runs/${encodeURIComponent(run.name)}`} fw={600} c="steel" size="sm">
                  {run.name}
                </Text>
                <RunStateBadge run={run} />
              </Group>
              <Text size="sm" className="hone-numbers">
                {measuredText(run, t)}
              </Text>
              <Text size="xs" className="hone-muted">
                {shortModel(run.model)} · {shortModel(run.task)} · {run.method.toUpperCase()} ·{" "}
                {t("home.steps", { step: run.step, total: run.total_steps })}
              </Text>
            </Stack>
            <RunActions run={run} />
          </Group>
        ))}
      </SimpleGrid>
    </Stack>
  );
}
