/** One download: how far, how fast, how long still, what may be done, and what went wrong. */

import { ActionIcon, Badge, Button, Group, Progress, Stack, Table, Text, Tooltip } from "@mantine/core";
import { Pause, Play, RotateCw, X } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import { HoneError } from "../../core/contract/errors.ts";
import { hubSourceLabels, type Download } from "../../core/contract/hub.ts";
import { formatBytes, formatPercent, formatSeconds } from "../../core/contract/units.ts";
import { useApi } from "../app/hone-context.tsx";
import { isUnderWay } from "../stores/app-store.ts";
import { ErrorBox } from "./error-box.tsx";
import { useAction } from "./use-action.tsx";

const colours = {
  ...{ queued: "gray", downloading: "steel", checking: "steel", paused: "orange" },
  ...{ done: "teal", failed: "red", cancelled: "gray" },
} as const;

/** What `--model` takes, once it is here. */
export function downloadName({ ref, quant }: Download): string {
  const hub = ref.source === "modelscope" ? "modelscope:" : "";
  const usual = ref.revision === "main" || ref.revision === "master" || ref.kind === "dataset";
  return `${hub}${ref.id}${usual ? "" : `@${ref.revision}`}${quant === null ? "" : `:${quant}`}`;
}

export function DownloadCard({ download, files = false }: { download: Download; files?: boolean }) {
  const { t } = useTranslation();
  const { state, error, note, bytes, bytes_done: done } = download;
  const name = downloadName(download);
  const share = state === "done" ? 1 : bytes === 0 ? 0 : done / bytes;
  const ended = state === "done" || state === "cancelled";
  return (
    <Stack gap={4} component="article" aria-label={name}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text size="sm" fw={600} truncate title={name}>
          {name}
        </Text>
        <Group gap={4} wrap="nowrap">
          <Badge size="sm" variant="light" color={colours[state]} autoContrast>
            {t(`hub.state.${state}`)}
          </Badge>
          <Actions download={download} name={name} />
        </Group>
      </Group>
      {!ended && (
        <Progress
          value={100 * share}
          size="sm"
          color={state === "failed" ? "red" : state === "paused" ? "orange" : "steel"}
          aria-label={t("hub.progressOf", { name })}
        />
      )}
      <Text size="xs" className="hone-muted hone-numbers">
        <ProgressWords download={download} share={share} />
      </Text>
      {note !== null && state !== "failed" && (
        <Text size="xs" c="var(--hone-warn)" role="status">
          {note}
        </Text>
      )}
      {error !== null && (
        <ErrorBox error={new HoneError(error.code, error.message, error.fix === null ? {} : { fix: error.fix })} />
      )}
      {error !== null && isAboutToken(error.code) && (
        <Button
          component={Link}
          href={`/models/search?source=${download.ref.source}&repo=${encodeURIComponent(download.ref.id)}`}
          variant="default"
          size="compact-sm"
        >
          {t("hub.gated.open")}
        </Button>
      )}
      {state === "done" && download.ref.kind === "model" && <OpenLinks reference={name} />}
      {files && download.files.length > 0 && !ended && <Files download={download} />}
    </Stack>
  );
}

export function isAboutToken(code: string): boolean {
  return code === "gated" || code === "not-signed-in" || code === "no-permission";
}

function ProgressWords({ download, share }: { download: Download; share: number }) {
  const { t } = useTranslation();
  const { bytes, bytes_done: done, bytes_per_second: speed, seconds_left: left, state, source, retries } = download;
  if (bytes === 0) return t("hub.asking", { hub: hubSourceLabels[source] });
  if (state === "cancelled") return t("hub.cancelled");
  const words = [
    state === "done" ? formatBytes(bytes) : t("hub.amount", { done: formatBytes(done), total: formatBytes(bytes) }),
    ...(state === "done" ? [] : [formatPercent(Math.floor(100 * share) / 100)]),
    ...(isUnderWay(download) && speed > 0 ? [t("hub.speed", { speed: formatBytes(speed) })] : []),
    ...(isUnderWay(download) && left !== null && left > 0 ? [t("jobs.left", { time: formatSeconds(left) })] : []),
    t("hub.from", { hub: hubSourceLabels[source] }),
    ...(retries > 0 ? [t("hub.retries", { count: retries })] : []),
  ];
  return words.join(" · ");
}

function Actions({ download: { id, state }, name }: { download: Download; name: string }) {
  const { t } = useTranslation();
  const api = useApi();
  const { run, busy, problem } = useAction();
  const button = (
    key: "pause" | "resume" | "retry" | "cancel" | "dismiss",
    call: "hub.pause" | "hub.resume" | "hub.cancel" | "hub.dismiss",
    icon: ReactNode,
  ) => (
    <Tooltip label={t(`hub.do.${key}`)}>
      <ActionIcon
        variant="subtle"
        size="sm"
        disabled={busy}
        aria-label={t("hub.doWith", { what: t(`hub.do.${key}`), name })}
        onClick={() => run(() => api.call(call, { id }))}
      >
        {icon}
      </ActionIcon>
    </Tooltip>
  );
  const moving = state === "queued" || state === "downloading" || state === "checking";
  return (
    <>
      {moving && button("pause", "hub.pause", <Pause size={14} aria-hidden />)}
      {state === "paused" && button("resume", "hub.resume", <Play size={14} aria-hidden />)}
      {(state === "failed" || state === "cancelled") &&
        button("retry", "hub.resume", <RotateCw size={14} aria-hidden />)}
      {moving || state === "paused" || state === "failed"
        ? button("cancel", "hub.cancel", <X size={14} aria-hidden />)
        : button("dismiss", "hub.dismiss", <X size={14} aria-hidden />)}
      {problem}
    </>
  );
}

/** What a model that is here is for. */
export function OpenLinks({ reference }: { reference: string }) {
  const { t } = useTranslation();
  const model = encodeURIComponent(reference);
  return (
    <Group gap="xs">
      <Button component={Link} href={`/chat?model=${model}`} size="compact-sm">
        {t("hub.open.chat")}
      </Button>
      <Button component={Link} href={`/play?model=${model}`} size="compact-sm" variant="default">
        {t("hub.open.play")}
      </Button>
      <Button component={Link} href={`/train?model=${model}`} size="compact-sm" variant="default">
        {t("hub.open.train")}
      </Button>
    </Group>
  );
}

function Files({ download: { files } }: { download: Download }) {
  const { t } = useTranslation();
  return (
    <Table withRowBorders={false} verticalSpacing={2} fz="xs" aria-label={t("hub.files")}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("hub.file.name")}</Table.Th>
          <Table.Th ta="right">{t("hub.file.size")}</Table.Th>
          <Table.Th w="40%">{t("hub.file.progress")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {files.map(({ path, size, done, state }) => (
          <Table.Tr key={path}>
            <Table.Td>{path}</Table.Td>
            <Table.Td ta="right" className="hone-numbers">
              {formatBytes(size)}
            </Table.Td>
            <Table.Td>
              {state === "downloading" ? (
                <Progress value={(100 * done) / Math.max(1, size)} size="sm" aria-label={path} />
              ) : (
                t(`hub.file.state.${state}`)
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
