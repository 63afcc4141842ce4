/** One task: its rows, its rules, a check of it, its files. */

import { Badge, Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { CircleHelp, TrendingUp } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import type { TaskDetails } from "../../../core/contract/api/task-calls.ts";
import { useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { MeasureTask } from "./measure-task.tsx";
import { MethodBadges } from "./method-badges.tsx";
import { TaskCheckView } from "./task-check-view.tsx";
import { TaskFiles } from "./task-files.tsx";
import { adviceLink, taskLink, taskTabs, type TaskTab } from "./task-links.ts";
import { TaskRows } from "./task-rows.tsx";
import { TaskRules } from "./task-rules.tsx";
import classes from "./tasks.module.css";
import { useTaskWords } from "./use-task-words.ts";

export function TaskDetail({ reference, tab }: { reference: string; tab: string }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const listed = useCall("tasks.list", {}, { follow: "tasks" });
  const loaded = useCall("tasks.read", { task: reference }, { follow: "tasks" });
  const entry = listed.value?.tasks.find((task) => task.reference === reference);
  const words = useTaskWords();
  const details = loaded.value;
  const { title, description } = words(
    details ?? entry ?? { name: reference, title: reference, description: "", path: "" },
  );
  const path = details?.path ?? entry?.path ?? null;
  const tabs = taskTabs.filter((one) => one !== "files" || path !== null);
  const shown = tabs.find((one) => one === tab) ?? "rows";
  return (
    <Page
      title={title}
      lead={
        <>
          {description}
          <Group gap="xs" mt={4}>
            <Link href="/tasks" className={classes.back}>
              {t("nav.tasks")}
            </Link>
            {details !== undefined && <MethodBadges methods={details.methods} />}
            <Badge size="sm" variant="default" tt="none">
              {path === null ? t("tasks.withHoneOne") : reference}
            </Badge>
          </Group>
        </>
      }
      actions={
        <>
          <Button
            component={Link}
            href={adviceLink(reference)}
            variant="default"
            leftSection={<CircleHelp size={16} aria-hidden />}
          >
            {t("tasks.adviseOne")}
          </Button>
          <Button
            component={Link}
            href={`/train?task=${encodeURIComponent(reference)}`}
            leftSection={<TrendingUp size={16} aria-hidden />}
          >
            {t("tasks.train")}
          </Button>
        </>
      }
    >
      <Tabs
        value={shown}
        onChange={(value) => navigate(taskLink(reference, (value ?? "rows") as TaskTab))}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          {tabs.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`tasks.tab.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="rows">
          <Opened loaded={loaded} reference={reference}>
            {(task) => <TaskRows task={task} />}
          </Opened>
        </Tabs.Panel>
        <Tabs.Panel value="rules">
          <Opened loaded={loaded} reference={reference}>
            {(task) => <TaskRules task={task} />}
          </Opened>
        </Tabs.Panel>
        <Tabs.Panel value="check">
          <Stack gap="md">
            <TaskCheckView reference={reference} />
            <MeasureTask reference={reference} />
          </Stack>
        </Tabs.Panel>
        {path !== null && (
          <Tabs.Panel value="files">
            <TaskFiles reference={reference} />
          </Tabs.Panel>
        )}
      </Tabs>
    </Page>
  );
}

interface OpenedProps {
  loaded: ReturnType<typeof useCall<"tasks.read">>;
  reference: string;
  children: (task: TaskDetails) => React.ReactNode;
}

/** A task that cannot be opened is mended in its files. */
function Opened({ loaded, reference, children }: OpenedProps) {
  const { t } = useTranslation();
  if (loaded.state === "failed") {
    return (
      <>
        <ErrorBox error={loaded.error} onRetry={loaded.reload} />
        <Text size="sm" mt="sm">
          <Link href={taskLink(reference, "files")} className={classes.back}>
            {t("tasks.mend")}
          </Link>
        </Text>
      </>
    );
  }
  return <LoadedView of={loaded}>{children}</LoadedView>;
}
