/** All downloads, with their files, and how much of the line they may take. */

import { Button, Group, NumberInput, Stack, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { Download } from "../../../core/contract/hub.ts";
import { useApi, useApp, useCall } from "../../app/hone-context.tsx";
import { DownloadCard } from "../../components/download-card.tsx";
import { EmptyState, LoadedView } from "../../components/loaded-view.tsx";
import { useAction } from "../../components/use-action.tsx";
import { isUnderWay } from "../../stores/app-store.ts";

export function DownloadsView() {
  const { t } = useTranslation();
  // Asked for once, for what forbids to have any (another Hone has them); then told.
  const asked = useCall("hub.downloads", {});
  const told = useApp((state) => state.downloads);
  return (
    <Stack>
      <Limits />
      <LoadedView of={asked}>
        {(first) => {
          const downloads = told.length === 0 ? first : told;
          return downloads.length === 0 ? (
            <EmptyState
              title={t("hub.none.title")}
              action={
                <Button component={Link} href="/models/catalogue">
                  {t("models.tab.catalogue")}
                </Button>
              }
            >
              {t("hub.none.text")}
            </EmptyState>
          ) : (
            <DownloadList downloads={downloads} />
          );
        }}
      </LoadedView>
    </Stack>
  );
}

function DownloadList({ downloads }: { downloads: readonly Download[] }) {
  const { t } = useTranslation();
  const api = useApi();
  const { run, busy, problem } = useAction();
  const moving = downloads.filter(isUnderWay);
  const halted = downloads.filter(({ state }) => state === "paused" || state === "failed");
  const ended = downloads.filter(({ state }) => state === "done" || state === "cancelled");
  const all = (list: readonly Download[], call: "hub.pause" | "hub.resume" | "hub.dismiss") => () =>
    run(() => Promise.all(list.map(({ id }) => api.call(call, { id }))));
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Button size="xs" variant="default" disabled={moving.length === 0 || busy} onClick={all(moving, "hub.pause")}>
          {t("hub.pauseAll")}
        </Button>
        <Button size="xs" variant="default" disabled={halted.length === 0 || busy} onClick={all(halted, "hub.resume")}>
          {t("hub.resumeAll")}
        </Button>
        <Button size="xs" variant="default" disabled={ended.length === 0 || busy} onClick={all(ended, "hub.dismiss")}>
          {t("hub.clear")}
        </Button>
      </Group>
      {problem}
      <Section title={t("hub.section.open")} downloads={[...moving, ...halted]} />
      <Section title={t("hub.section.ended")} downloads={ended} />
    </Stack>
  );
}

function Section({ title, downloads }: { title: string; downloads: readonly Download[] }) {
  if (downloads.length === 0) return null;
  return (
    <Stack gap="xs" component="section" aria-label={title}>
      <Title order={2} size="h5">
        {title}
      </Title>
      {downloads.map((download) => (
        <div key={download.id} className="hone-card">
          <DownloadCard download={download} files />
        </div>
      ))}
    </Stack>
  );
}

function Limits() {
  const { t } = useTranslation();
  const api = useApi();
  const settings = useApp((state) => state.settings);
  const { run, problem } = useAction();
  if (settings === undefined) return null;
  const { download_limit: limit, downloads_at_once: atOnce } = settings;
  return (
    <Stack gap={4}>
      <Group align="flex-end" gap="sm">
        <NumberInput
          key={String(limit)}
          label={t("hub.limit")}
          placeholder={t("hub.noLimit")}
          defaultValue={limit === null ? "" : limit / 1e6}
          min={0.01}
          decimalScale={2}
          step={1}
          w={220}
          onBlur={(event) => {
            const typed = Number(event.currentTarget.value);
            const next = event.currentTarget.value.trim() === "" || !(typed > 0) ? null : Math.max(1000, typed * 1e6);
            if (next !== limit) {
              run(() => api.call("settings.set", { download_limit: next === null ? null : Math.round(next) }));
            }
          }}
        />
        <NumberInput
          label={t("hub.atOnce")}
          value={atOnce}
          min={1}
          max={8}
          allowDecimal={false}
          w={160}
          onChange={(next) => {
            if (typeof next === "number" && next >= 1 && next <= 8 && next !== atOnce) {
              run(() => api.call("settings.set", { downloads_at_once: next }));
            }
          }}
        />
        <Text size="sm" className="hone-muted" flex={1} miw={260}>
          {t("hub.goesOn")}
        </Text>
      </Group>
      {problem}
    </Stack>
  );
}
