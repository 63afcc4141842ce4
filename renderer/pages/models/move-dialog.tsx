/** Moving the models folder to another place: what it means first, then its progress. It may be stopped at any time. */

import { Button, Group, Modal, Progress, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { errorFromData } from "../../../core/contract/errors.ts";
import type { MoveResult } from "../../../core/contract/hub.ts";
import { formatBytes } from "../../../core/contract/units.ts";
import { useApi, useApp, useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { PathPicker } from "../../components/path-picker.tsx";
import { useAction } from "../../components/use-action.tsx";

interface MoveDialogProps {
  unfinished: { from: string; to: string } | null;
  onClose: () => void;
}

export function MoveDialog({ unfinished, onClose }: MoveDialogProps) {
  const { t } = useTranslation();
  const api = useApi();
  const [to, setTo] = useState(unfinished?.to ?? "");
  const [id, setId] = useState<string | null>(null);
  const { run, busy, problem } = useAction();
  const job = useApp(({ jobs }) => jobs.find((one) => one.id === id));
  const plan = useCall("models.plan_move", { to }, { enabled: to.trim() !== "" && id === null });
  const moving = job !== undefined && job.ended === null;
  const result = job?.state === "done" ? (job.result as MoveResult) : undefined;
  const share = job?.progress == null ? 0 : (100 * job.progress.done) / Math.max(1, job.progress.total);
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={t("models.move.title")}
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <Stack>
        {unfinished !== null && id === null && (
          <Text size="sm" role="status">
            {t("models.move.unfinished", unfinished)}
          </Text>
        )}
        {id === null && (
          <>
            <PathPicker
              kind="folder"
              label={t("models.move.to")}
              description={t("models.move.hint")}
              value={to}
              onChange={setTo}
              disabled={unfinished !== null}
            />
            {to.trim() !== "" && (
              <LoadedView of={plan}>
                {({ from, files, bytes, bytes_to_copy: copy, free_bytes: free }) => (
                  <Text size="sm">
                    {t("models.move.plan", { from, count: files, bytes: formatBytes(bytes) })}{" "}
                    {copy === 0
                      ? t("models.move.sameDisk")
                      : t("models.move.copy", { bytes: formatBytes(copy), free: formatBytes(free) })}
                  </Text>
                )}
              </LoadedView>
            )}
          </>
        )}
        {moving && (
          <Stack gap={4} role="status">
            <Text size="sm">
              {t(`models.move.phase.${job.phase === "deleting" ? "deleting" : "copying"}`)}
              {job.progress !== null &&
                ` · ${t("hub.amount", { done: formatBytes(job.progress.done), total: formatBytes(job.progress.total) })}`}
            </Text>
            <Progress value={share} aria-label={t("models.move.title")} />
          </Stack>
        )}
        {result !== undefined && (
          <Text size="sm" role="status">
            {t("models.move.done", { count: result.files, to: result.to })}
            {result.left.length > 0 && ` ${t("models.move.left", { count: result.left.length, from: result.from })}`}
          </Text>
        )}
        {job?.state === "stopped" && <Text size="sm">{t("models.move.stopped")}</Text>}
        {job?.error != null && <ErrorBox error={errorFromData(job.error)} />}
        {problem}
        <Group justify="flex-end">
          {unfinished !== null && !moving && result === undefined && (
            <Button
              variant="subtle"
              color="red"
              disabled={busy}
              onClick={() => run(() => api.call("models.give_up_move", {}).then(onClose))}
            >
              {t("models.move.giveUp")}
            </Button>
          )}
          {moving ? (
            <Button variant="default" onClick={() => void api.call("jobs.stop", { id: job.id, save: true })}>
              {t("models.move.stop")}
            </Button>
          ) : (
            <Button variant="default" onClick={onClose}>
              {t(result === undefined ? "common.cancel" : "common.close")}
            </Button>
          )}
          {!moving && result === undefined && (
            <Button
              loading={busy}
              disabled={to.trim() === "" || (id === null && plan.value === undefined)}
              onClick={() => run(async () => setId(await api.call("models.move", { to })))}
            >
              {t(unfinished === null ? "models.move.start" : "models.move.goOn")}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}
