/** A repository before it is downloaded: its fit, its files, its card, and the button. */

import { Accordion, Badge, Button, Drawer, Group, Radio, Stack, Table, Text, Title } from "@mantine/core";
import { Download as DownloadIcon } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import type { RepoDetails } from "../../../core/contract/api/hub-calls.ts";
import { errorFromData, errorToData } from "../../../core/contract/errors.ts";
import { hubSourceLabels, type HubSourceName, type Quant } from "../../../core/contract/hub.ts";
import { formatBytes, formatCount, formatDecimal } from "../../../core/contract/units.ts";
import { useApi, useApp, useCall } from "../../app/hone-context.tsx";
import { DownloadCard, isAboutToken, OpenLinks } from "../../components/download-card.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { Loading, LoadedView } from "../../components/loaded-view.tsx";
import { Term } from "../../components/term.tsx";
import { FitView, VerdictBadge } from "./fit-view.tsx";
import { GatedNotice } from "./gated-notice.tsx";
import { useDownload } from "./use-download.tsx";

const Markdown = lazy(() => import("../../components/markdown.tsx"));

interface RepoDrawerProps {
  source: HubSourceName;
  /** `owner/name`, with a revision or a quantisation. */
  reference: string;
  onClose: () => void;
}

export function RepoDrawer({ source, reference, onClose }: RepoDrawerProps) {
  const { t } = useTranslation();
  const [quant, setQuant] = useState<string | null>(null);
  const looked = useCall("hub.look", { reference, source, quant }, { follow: "models" });
  // Nothing at all can be read without a token, or with this one.
  const problem = looked.error === undefined ? undefined : errorToData(looked.error);
  const needsToken = problem !== undefined && isAboutToken(problem.code);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="xl"
      title={
        <Text fw={600} component="span">
          {reference}
        </Text>
      }
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      {needsToken ? (
        <GatedNotice source={source} id={reference} problem={problem} onChanged={looked.reload} />
      ) : (
        <LoadedView of={looked}>
          {(repo) => <Details repo={repo} quant={quant} onQuant={setQuant} onReload={looked.reload} />}
        </LoadedView>
      )}
    </Drawer>
  );
}

interface DetailsProps {
  repo: RepoDetails;
  quant: string | null;
  onQuant: (quant: string) => void;
  onReload: () => void;
}

function Details({ repo, quant, onQuant, onReload }: DetailsProps) {
  const { t } = useTranslation();
  const api = useApi();
  const { snapshot, plan, fit, fit_problem: problem, note, here } = repo;
  const { ref } = snapshot;
  const needsToken = problem !== null && isAboutToken(problem.code);
  const facts = [
    hubSourceLabels[ref.source],
    ...(snapshot.licence === null ? [] : [snapshot.licence]),
    ...(snapshot.downloads === null
      ? []
      : [t("models.facts.downloads", { downloads: formatCount(snapshot.downloads) })]),
    ...(snapshot.last_modified === null ? [] : [new Date(snapshot.last_modified).toLocaleDateString()]),
    snapshot.commit.slice(0, 7),
  ];
  return (
    <Stack gap="md">
      <Stack gap={2}>
        <Text size="sm" className="hone-muted">
          {facts.join(" · ")}
        </Text>
        {snapshot.base_model !== null && (
          <Text size="sm" className="hone-muted">
            {t("models.repo.base", { base: snapshot.base_model })}
          </Text>
        )}
        {note !== null && (
          <Text size="sm" c="var(--hone-warn)" role="status">
            {note}
          </Text>
        )}
        <Group>
          <Button size="compact-xs" variant="subtle" onClick={() => void api.shell.openExternal(snapshot.page)}>
            {t("models.repo.page", { hub: hubSourceLabels[ref.source] })}
          </Button>
        </Group>
      </Stack>
      {(snapshot.gated !== false || needsToken) && here === null && (
        <GatedNotice source={ref.source} id={ref.id} gated={snapshot.gated} problem={problem} onChanged={onReload} />
      )}
      {plan.format === "gguf" && repo.quants.length > 1 && (
        <QuantChoice quants={repo.quants} value={quant ?? plan.quant} onChange={onQuant} />
      )}
      {fit !== null && (
        <Stack gap="xs" component="section" aria-label={t("models.fit.title")}>
          <Title order={2} size="h5">
            {t("models.fit.title")}
          </Title>
          <FitView fit={fit} />
        </Stack>
      )}
      {problem !== null && !needsToken && <ErrorBox error={errorFromData(problem)} onRetry={onReload} />}
      <Fetch repo={repo} blocked={needsToken} />
      <Files plan={plan} />
      <Card repo={repo} />
    </Stack>
  );
}

function QuantChoice({
  quants,
  value,
  onChange,
}: {
  quants: readonly Quant[];
  value: string | null;
  onChange: (name: string) => void;
}) {
  const { t } = useTranslation();
  return (
    <Radio.Group
      label={<Term name="quantisation">{t("models.quant.label")}</Term>}
      description={t("models.quant.hint")}
      value={value}
      onChange={onChange}
    >
      <Stack gap={6} mt="xs">
        {quants.map((quant) => (
          <Radio
            key={quant.name}
            value={quant.name}
            disabled={!quant.supported}
            label={
              <Group gap={6}>
                <Text size="sm" fw={500} span>
                  {quant.name}
                </Text>
                <Text size="sm" className="hone-numbers" span>
                  {formatBytes(quant.bytes)}
                  {quant.bits_per_weight !== null &&
                    ` · ${t("models.quant.bits", { bits: formatDecimal(quant.bits_per_weight) })}`}
                </Text>
                {quant.recommended && (
                  <Badge size="xs" color="teal" variant="filled" autoContrast>
                    {t("models.quant.recommended")}
                  </Badge>
                )}
                <VerdictBadge verdict={quant.supported ? quant.verdict : "not_supported"} />
                <Text size="xs" className="hone-muted" span>
                  {t(`models.quant.quality.${qualityKey(quant.name)}`)}
                </Text>
              </Group>
            }
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}

/** How much is lost, by the bits that the name tells. */
function qualityKey(name: string): string {
  if (/^(?:UD-)?B?F(?:16|32)/.test(name)) return "full";
  const bits = /^(?:UD-)?(?:I?Q|TQ|MXFP)(\d)/.exec(name)?.[1];
  return bits === undefined ? "unknown" : Number(bits) >= 8 ? "q8" : `q${Math.max(2, Number(bits))}`;
}

/** The button, the download that it began, or what stands against it. */
function Fetch({ repo: { snapshot, plan, here }, blocked }: { repo: RepoDetails; blocked: boolean }) {
  const { t } = useTranslation();
  const { start, download, busy, problem } = useDownload(snapshot.ref, { quant: plan.quant });
  if (here !== null) {
    return (
      <Stack gap="xs" className="hone-card">
        <Text size="sm">{t("models.repo.here")}</Text>
        <OpenLinks reference={here} />
      </Stack>
    );
  }
  if (download !== undefined && download.state !== "done" && !(blocked && download.state === "failed")) {
    return (
      <div className="hone-card">
        <DownloadCard download={download} files />
      </div>
    );
  }
  const noRoom = plan.verdict === "does_not_fit";
  return (
    <Stack gap="xs" className="hone-card">
      <Text size="sm" c={noRoom ? "var(--hone-bad)" : undefined}>
        {t(`models.repo.disk.${plan.verdict}`, {
          bytes: formatBytes(plan.bytes_to_fetch),
          free: formatBytes(plan.free_bytes),
          short: formatBytes(Math.max(0, plan.bytes_to_fetch - plan.free_bytes)),
        })}
      </Text>
      <Group>
        <Button
          leftSection={<DownloadIcon size={16} aria-hidden />}
          onClick={() => start()}
          loading={busy}
          disabled={noRoom || blocked}
        >
          {t("models.downloadBytes", { bytes: formatBytes(plan.bytes_to_fetch) })}
        </Button>
      </Group>
      {problem}
    </Stack>
  );
}

function Files({ plan }: { plan: RepoDetails["plan"] }) {
  const { t } = useTranslation();
  const rest = plan.left_out.reduce((sum, { size }) => sum + size, 0);
  return (
    <Accordion variant="contained" chevronPosition="left">
      <Accordion.Item value="files">
        <Accordion.Control>
          {t("models.repo.files", { count: plan.files.length, bytes: formatBytes(plan.bytes) })}
        </Accordion.Control>
        <Accordion.Panel>
          <FileTable
            label={t("models.repo.fetched")}
            rows={plan.files.map(({ path, size, here }) => [path, size, here ? t("models.repo.fileHere") : ""])}
          />
        </Accordion.Panel>
      </Accordion.Item>
      {plan.left_out.length > 0 && (
        <Accordion.Item value="left">
          <Accordion.Control>
            {t("models.repo.leftOut", { count: plan.left_out.length, bytes: formatBytes(rest) })}
          </Accordion.Control>
          <Accordion.Panel>
            <FileTable
              label={t("models.repo.notFetched")}
              rows={plan.left_out.map(({ path, size, reason }) => [path, size, reason])}
            />
          </Accordion.Panel>
        </Accordion.Item>
      )}
    </Accordion>
  );
}

function FileTable({ label, rows }: { label: string; rows: readonly (readonly [string, number, string])[] }) {
  const { t } = useTranslation();
  return (
    <Table fz="sm" verticalSpacing={2} aria-label={label}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("hub.file.name")}</Table.Th>
          <Table.Th ta="right">{t("hub.file.size")}</Table.Th>
          <Table.Th>{t("hub.file.note")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(([path, size, note]) => (
          <Table.Tr key={path}>
            <Table.Td>{path}</Table.Td>
            <Table.Td ta="right" className="hone-numbers">
              {formatBytes(size)}
            </Table.Td>
            <Table.Td className="hone-muted">{note}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** The hub's card, as text: no HTML, no pictures that load, no links that lead away unasked. */
function Card({ repo: { snapshot } }: { repo: RepoDetails }) {
  const { t } = useTranslation();
  const { ref } = snapshot;
  const isConnected = useApp((state) => state.connection === "open");
  const loaded = useCall(
    "hub.card",
    { reference: `${ref.id}@${ref.revision}`, kind: ref.kind, source: ref.source },
    { enabled: isConnected },
  );
  return (
    <Stack gap="xs" component="section" aria-label={t("models.repo.card")}>
      <Title order={2} size="h5">
        {t("models.repo.card")}
      </Title>
      <LoadedView of={loaded}>
        {(card) =>
          card === null ? (
            <Text size="sm" className="hone-muted">
              {t("models.repo.noCard")}
            </Text>
          ) : (
            <Suspense fallback={<Loading />}>
              <Markdown text={card.markdown} />
              {card.cut && (
                <Text size="sm" className="hone-muted">
                  {t("models.repo.cut")}
                </Text>
              )}
            </Suspense>
          )
        }
      </LoadedView>
    </Stack>
  );
}
