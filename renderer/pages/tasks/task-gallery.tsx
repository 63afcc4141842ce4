/** What there is to train on: a card for each task. */

import { ActionIcon, Badge, Button, Group, Menu, SimpleGrid, Skeleton, Stack, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { CircleHelp, EllipsisVertical, FolderOpen, Plus, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import type { ListedTask } from "../../../core/contract/api/task-calls.ts";
import { errorMessage } from "../../../core/contract/errors.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { DeleteDialog } from "../../components/delete-dialog.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { usePickPath } from "../../components/use-pick-path.tsx";
import { MethodBadges } from "./method-badges.tsx";
import { NewTask } from "./new-task.tsx";
import { TaskDrawing } from "./task-drawing.tsx";
import { taskLink } from "./task-links.ts";
import classes from "./tasks.module.css";
import { useTaskWords } from "./use-task-words.ts";

export function TaskGallery() {
  const { t } = useTranslation();
  const api = useApi();
  const [, navigate] = useLocation();
  const loaded = useCall("tasks.list", {}, { follow: "tasks" });
  const [making, setMaking] = useState(false);
  const [error, setError] = useState<unknown>();
  const { pick, dialog } = usePickPath();
  const openFolder = async () => {
    const [path] = await pick({ kind: "folder", title: t("tasks.open") });
    if (path === undefined) return;
    try {
      navigate(taskLink((await api.call("tasks.open", { path })).reference));
    } catch (failed) {
      setError(failed);
    }
  };
  return (
    <Page
      title={t("nav.tasks")}
      lead={t("tasks.lead")}
      actions={
        <>
          <Button
            variant="default"
            component={Link}
            href="/tasks/advise"
            leftSection={<CircleHelp size={16} aria-hidden />}
          >
            {t("tasks.advise")}
          </Button>
          <Button
            variant="default"
            leftSection={<FolderOpen size={16} aria-hidden />}
            onClick={() => void openFolder()}
          >
            {t("tasks.open")}
          </Button>
          <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setMaking(true)}>
            {t("tasks.new")}
          </Button>
        </>
      }
    >
      {dialog}
      {error !== undefined && <ErrorBox error={error} />}
      <NewTask opened={making} onClose={() => setMaking(false)} />
      <LoadedView of={loaded}>
        {({ tasks }) => {
          const own = tasks.filter(({ place }) => place !== "built-in");
          return (
            <>
              <Cards title={t("tasks.own")} tasks={own} empty={t("tasks.ownEmpty")} />
              <Cards title={t("tasks.withHone")} tasks={tasks.filter(({ place }) => place === "built-in")} />
            </>
          );
        }}
      </LoadedView>
    </Page>
  );
}

function Cards({ title, tasks, empty }: { title: string; tasks: readonly ListedTask[]; empty?: string }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        {title}
      </Title>
      {tasks.length === 0 && (
        <Text size="sm" className="hone-muted">
          {empty}
        </Text>
      )}
      <SimpleGrid cols={{ base: 2, lg: 3 }} spacing="md">
        {tasks.map((task) => (
          <TaskCard key={task.reference} task={task} />
        ))}
      </SimpleGrid>
    </Stack>
  );
}

function TaskCard({ task }: { task: ListedTask }) {
  const { t } = useTranslation();
  const words = useTaskWords()(task);
  // Opening a task may run its scripts, so each card fills by itself.
  const loaded = useCall("tasks.read", { task: task.reference }, { follow: "tasks", enabled: task.problem === null });
  const details = loaded.value;
  const problem =
    task.problem ?? (loaded.state === "failed" && loaded.error instanceof Error ? loaded.error.message : null);
  return (
    <Stack gap="xs" className="hone-card" component="article" aria-label={words.title}>
      <TaskDrawing picture={task.picture} />
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Link href={taskLink(task.reference, problem === null ? "rows" : "files")} className={classes.link}>
          {words.title}
        </Link>
        {task.place !== "built-in" && <TaskMenu task={task} />}
      </Group>
      <Text size="sm" className="hone-muted" lineClamp={3}>
        {words.description}
      </Text>
      {problem !== null ? (
        <Group gap={6} wrap="nowrap" align="flex-start">
          <TriangleAlert size={16} color="var(--hone-bad)" aria-hidden style={{ flexShrink: 0 }} />
          <Text size="sm" c="var(--hone-bad)" style={{ overflowWrap: "anywhere" }} lineClamp={4}>
            {t("tasks.problem", { problem })}
          </Text>
        </Group>
      ) : details === undefined ? (
        <Skeleton h={22} />
      ) : (
        <>
          <Group gap={4}>
            <MethodBadges methods={details.methods} />
            {details.game && (
              <Badge size="sm" variant="default" tt="none">
                {t("tasks.game")}
              </Badge>
            )}
          </Group>
          <Text size="xs" className="hone-muted hone-numbers">
            {t("tasks.counts", {
              train: details.rows.train,
              validation: details.rows.validation,
              heldOut: details.rows["held-out"],
            })}
            {" · "}
            {details.limits.turns === 1 ? t("tasks.oneTurn") : t("tasks.turns", { count: details.limits.turns })}
          </Text>
          {details.outcomes.length > 0 && (
            <Text size="xs" className="hone-muted" lineClamp={2}>
              {t("tasks.measures", { list: details.outcomes.map(({ label }) => label).join(", ") })}
            </Text>
          )}
        </>
      )}
    </Stack>
  );
}

function TaskMenu({ task: { reference, name, place, path } }: { task: ListedTask }) {
  const { t } = useTranslation();
  const api = useApi();
  const [asking, setAsking] = useState(false);
  const remove = () => api.call("tasks.remove", { task: reference });
  const forget = () =>
    remove().catch((failed: unknown) => {
      notifications.show({ color: "red", title: t("common.error.title"), message: errorMessage(failed) });
    });
  const { shell } = api;
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={t("tasks.actions", { name })}>
            <EllipsisVertical size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {shell.reveal !== undefined && path !== null && (
            <Menu.Item onClick={() => void shell.reveal?.(path)}>{t("tasks.reveal")}</Menu.Item>
          )}
          <Menu.Item
            {...(place === "library" && { color: "red" })}
            onClick={() => (place === "library" ? setAsking(true) : void forget())}
          >
            {place === "library" ? t("common.delete") : t("tasks.forget")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {asking && (
        <DeleteDialog title={t("tasks.delete.title", { name })} remove={remove} onClose={() => setAsking(false)}>
          <Text size="sm">{t("tasks.delete.text", { path })}</Text>
        </DeleteDialog>
      )}
    </>
  );
}
