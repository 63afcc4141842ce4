/** The curated models as cards: what each is for, what it needs here, and one click to have it and open it. */

import { Badge, Button, Group, SimpleGrid, Stack, Text, TextInput, Title } from "@mantine/core";
import { Download as DownloadIcon, Lock, Search } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { CatalogListing } from "../../../core/contract/api/hub-calls.ts";
import { formatBytes, formatCount } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { DownloadCard, OpenLinks } from "../../components/download-card.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Term } from "../../components/term.tsx";
import { UseBadges } from "./fit-view.tsx";
import { repoLink, shortCount } from "./model-texts.ts";
import { useDownload } from "./use-download.tsx";

export function CatalogueView() {
  const { t } = useTranslation();
  const loaded = useCall("hub.catalog", {}, { follow: "models" });
  const [text, setText] = useState("");
  return (
    <Stack>
      <TextInput
        label={t("models.catalogue.filter")}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        leftSection={<Search size={14} aria-hidden />}
        maw={320}
      />
      <LoadedView of={loaded}>
        {({ models, problems }) => {
          const words = text.toLowerCase().split(/\s+/);
          const shown = models.filter(({ entry: { id, name } }) =>
            words.every((word) => `${id} ${name}`.toLowerCase().includes(word)),
          );
          const several = new Set(models.map(({ catalog }) => catalog)).size > 1;
          return (
            <>
              {problems.map(({ path, problem }) => (
                <Text key={path} size="sm" className="hone-card" role="status">
                  {t("models.catalogue.unreadable", { path })} {problem}
                </Text>
              ))}
              <SimpleGrid cols={{ base: 1, md: 2, lg: 3 }} spacing="sm">
                {shown.map((model) => (
                  <CatalogueCard key={`${model.catalog} ${model.entry.id}`} model={model} several={several} />
                ))}
              </SimpleGrid>
              {shown.length === 0 && <Text className="hone-muted">{t("models.catalogue.nothing")}</Text>}
            </>
          );
        }}
      </LoadedView>
    </Stack>
  );
}

function CatalogueCard({ model, several }: { model: CatalogListing["models"][number]; several: boolean }) {
  const { t } = useTranslation();
  const { entry, fit, here, catalog } = model;
  const { start, download, busy, problem } = useDownload({
    source: "huggingface",
    kind: "model",
    id: entry.id,
    revision: "main",
  });
  const noRoom = fit.download.verdict === "does_not_fit";
  // The catalogue is English; of Hone's own entries there is a translation.
  const key = entry.id.replaceAll(/\W+/g, "_");
  return (
    <Stack className="hone-card" gap="xs" component="article" aria-label={entry.name}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={0} miw={0}>
          <Title order={2} size="h5">
            {entry.name}
          </Title>
          <Text size="xs" className="hone-muted" truncate>
            {entry.id}
          </Text>
        </Stack>
        <Group gap={4} wrap="nowrap">
          {several && (
            <Badge size="sm" variant="outline">
              {catalog}
            </Badge>
          )}
          {entry.gated !== false && (
            <Badge size="sm" variant="light" color="orange" autoContrast leftSection={<Lock size={10} aria-hidden />}>
              <Term name="gated">{t("models.gated")}</Term>
            </Badge>
          )}
        </Group>
      </Group>
      <Text size="sm">{t(`models.about.${key}`, { defaultValue: entry.about })}</Text>
      <Text size="xs" className="hone-muted hone-numbers">
        {[
          t("models.facts.parameters", { count: entry.parameters, short: shortCount(entry.parameters) }),
          formatBytes(entry.weight_bytes),
          t("models.facts.context", { tokens: formatCount(entry.context_length) }),
          entry.licence,
        ].join(" · ")}
      </Text>
      <Text size="xs" className="hone-muted">
        {entry.tool_format === null
          ? t("models.facts.noTools")
          : t("models.facts.tools", { format: entry.tool_format })}
        {entry.thinks && ` · ${t("models.facts.thinks")}`}
      </Text>
      <Group gap={4}>
        <UseBadges fit={fit} works={entry.works} />
      </Group>
      {entry.limits !== null && (
        <Text size="xs" c="var(--hone-warn)">
          {t("models.catalogue.limits")} {t(`models.limits.${key}`, { defaultValue: entry.limits })}
        </Text>
      )}
      <Group gap="xs" mt="auto">
        {here !== null ? (
          <OpenLinks reference={here} />
        ) : download === undefined ? (
          <>
            <Button
              size="compact-sm"
              leftSection={<DownloadIcon size={14} aria-hidden />}
              onClick={() => start()}
              loading={busy}
              disabled={noRoom}
              aria-label={t("models.downloadOne", { bytes: formatBytes(fit.download.bytes), name: entry.name })}
            >
              {t("models.downloadBytes", { bytes: formatBytes(fit.download.bytes) })}
            </Button>
            <Button component={Link} href={repoLink("huggingface", entry.id)} size="compact-sm" variant="default">
              {t("models.details")}
            </Button>
          </>
        ) : null}
      </Group>
      {here === null && noRoom && (
        <Text size="xs" c="var(--hone-bad)">
          {t("models.noRoom", {
            bytes: formatBytes(fit.download.bytes),
            free: formatBytes(fit.download.free_bytes),
            folder: fit.download.folder,
          })}
        </Text>
      )}
      {here === null && download !== undefined && <DownloadCard download={download} />}
      {problem}
    </Stack>
  );
}
