/** What can be done with a run, as a menu. */

import { ActionIcon, Button, Group, Menu, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { EllipsisVertical, MessageSquare, Play, RotateCcw, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import type { ListedRun } from "../../../core/contract/api/run-calls.ts";
import { errorMessage } from "../../../core/contract/errors.ts";
import { formatBytes } from "../../../core/contract/units.ts";
import { useApi } from "../../app/hone-context.tsx";
import { DeleteDialog } from "../../components/delete-dialog.tsx";
import { useRunState } from "./run-state-badge.tsx";

export function RunActions({ run }: { run: ListedRun }) {
  const { t } = useTranslation();
  const api = useApi();
  const [, navigate] = useLocation();
  const [deleting, dialog] = useDisclosure(false);
  const state = useRunState(run);
  // What was trained is to be tried: a game on the board, everything else in words.
  const isGame = run.task === "tic-tac-toe";
  const tryLink = `/${isGame ? "play" : "chat"}?model=${encodeURIComponent(run.name)}`;
  const isIdle = state === "finished" || state === "unfinished";

  const resume = async () => {
    try {
      await api.call("train.resume", { run: run.name });
      navigate(`/runs/${encodeURIComponent(run.name)}`);
    } catch (failed) {
      notifications.show({ color: "red", title: t("common.error.title"), message: errorMessage(failed) });
    }
  };
  const remove = async () => {
    const { freed } = await api.call("runs.delete", { run: run.name });
    notifications.show({ message: t("runs.deleted", { name: run.name, size: formatBytes(freed) }) });
  };
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      {state === "unfinished" && (
        <Button size="compact-xs" leftSection={<RotateCcw size={12} aria-hidden />} onClick={() => void resume()}>
          {t("runs.resume")}
        </Button>
      )}
      {state === "finished" && run.checkpoints.length > 0 && (
        <Button component={Link} href={tryLink} size="compact-xs" variant="default">
          {t(isGame ? "runs.play" : "runs.chat")}
        </Button>
      )}
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="subtle" aria-label={t("runs.more", { name: run.name })}>
            <EllipsisVertical size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            component={Link}
            href={tryLink}
            leftSection={isGame ? <Play size={14} aria-hidden /> : <MessageSquare size={14} aria-hidden />}
            disabled={run.checkpoints.length === 0}
          >
            {t(isGame ? "runs.play" : "runs.chat")}
          </Menu.Item>
          <Menu.Item component={Link} href={`/train?model=${encodeURIComponent(run.name)}`}>
            {t("runs.trainFrom")}
          </Menu.Item>
          <Menu.Item component={Link} href={`/train?like=${encodeURIComponent(run.name)}`}>
            {t("runs.trainLike")}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item
            color="red"
            leftSection={<Trash2 size={14} aria-hidden />}
            disabled={!isIdle}
            onClick={dialog.open}
          >
            {t("common.delete")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {deleting && (
        <DeleteDialog title={t("runs.deleteTitle", { name: run.name })} remove={remove} onClose={dialog.close}>
          <Text size="sm">{t("runs.deleteText", { path: run.path, count: run.checkpoints.length })}</Text>
        </DeleteDialog>
      )}
    </Group>
  );
}
