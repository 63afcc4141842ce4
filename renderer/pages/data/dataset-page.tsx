/** One dataset: its rows, what they are like, what was changed, and what could not be read. */

import { ActionIcon, Alert, Button, Menu, Stack, Tabs, Text, Tooltip } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { ArrowLeft, Ellipsis, Redo2, Undo2 } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation, useSearchParams } from "wouter";
import type { DatasetView } from "../../../core/contract/api/data-calls.ts";
import { HoneError } from "../../../core/contract/errors.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { DeleteDataset } from "./delete-dataset.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { HistoryTab } from "./history-tab.tsx";
import { RowsTab } from "./rows-tab.tsx";
import { SetAsideTab } from "./set-aside-tab.tsx";
import { SplitDialog } from "./split-dialog.tsx";
import { StatisticsTab } from "./statistics-tab.tsx";
import { TrainLinks } from "./train-links.tsx";
import { useChanges } from "./use-changes.ts";

export function DatasetPage({ name }: { name: string }) {
  const { t } = useTranslation();
  const loaded = useCall("data.open", { name }, { follow: "datasets" });
  if (loaded.state === "ready") return <Opened view={loaded.value} reload={loaded.reload} />;
  return (
    <Page title={name} actions={<Back />}>
      {loaded.state === "failed" && loaded.error instanceof HoneError && loaded.error.code !== "no-such-dataset" && (
        <Text>{t("data.cannotOpen")}</Text>
      )}
      <LoadedView of={loaded}>{() => null}</LoadedView>
    </Page>
  );
}

function Back() {
  const { t } = useTranslation();
  return (
    <Button component={Link} href="/data" variant="default" leftSection={<ArrowLeft size={16} aria-hidden />}>
      {t("nav.data")}
    </Button>
  );
}

type Dialog = "export" | "split" | "delete";

function Opened({ view, reload }: { view: DatasetView; reload: () => void }) {
  const { t } = useTranslation();
  const { name, shape, methods, set_aside_count } = view;
  const [, navigate] = useLocation();
  const [params, setParams] = useSearchParams();
  const tab = params.get("tab") ?? "rows";
  const changes = useChanges(view);
  const [error, setError] = useState<unknown>();
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [goTo, setGoTo] = useState<{ row: number }>();

  const step = (call: "data.undo" | "data.redo") => {
    setError(undefined);
    changes.make(call, {}).then(
      ({ row }) => {
        if (row !== null) setGoTo({ row });
      },
      (failed: unknown) => {
        setError(failed);
        reload();
      },
    );
  };
  const undo = () => {
    if (view.undo !== null) step("data.undo");
  };
  const redo = () => {
    if (view.redo !== null) step("data.redo");
  };
  // Within a text field these keys undo typing.
  useHotkeys([
    ["mod+Z", undo],
    ["mod+shift+Z", redo],
    ["mod+Y", redo],
  ]);
  const close = () => setDialog(null);
  return (
    <Page
      title={name}
      lead={
        <>
          {t("data.summary", {
            count: changes.rows,
            rows: formatCount(changes.rows),
            shape: shape === null ? t("data.shape.none") : t(`data.shape.${shape}`),
          })}
        </>
      }
      actions={
        <>
          <Back />
          <StepButton label={t("data.undo")} what={view.undo} onClick={undo} icon={<Undo2 size={16} aria-hidden />} />
          <StepButton label={t("data.redo")} what={view.redo} onClick={redo} icon={<Redo2 size={16} aria-hidden />} />
          <TrainLinks name={name} methods={methods} />
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="default" size="lg" aria-label={t("data.more")}>
                <Ellipsis size={16} aria-hidden />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item component={Link} href={`/data/${encodeURIComponent(name)}/rate`}>
                {t("data.rate.menu")}
              </Menu.Item>
              <Menu.Item onClick={() => setDialog("split")}>{t("data.split.menu")}</Menu.Item>
              <Menu.Item onClick={() => setDialog("export")}>{t("data.export.menu")}</Menu.Item>
              <Menu.Divider />
              <Menu.Item color="red" onClick={() => setDialog("delete")}>
                {t("data.delete.menu")}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </>
      }
    >
      <span role="status" className="hone-unseen">
        {changes.said}
      </span>
      {error !== undefined && <ErrorBox error={error} />}
      {view.warnings.map((warning) => (
        <Alert key={warning} variant="light" color="orange" p="xs">
          {warning}
        </Alert>
      ))}
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(next) =>
          setParams((before) => {
            const after = new URLSearchParams(before);
            after.set("tab", next ?? "rows");
            return after;
          })
        }
      >
        <Tabs.List mb="sm">
          <Tabs.Tab value="rows">{t("data.tab.rows")}</Tabs.Tab>
          <Tabs.Tab value="statistics">{t("data.tab.statistics")}</Tabs.Tab>
          <Tabs.Tab value="history">{t("data.tab.history", { changes: formatCount(changes.point) })}</Tabs.Tab>
          {set_aside_count > 0 && (
            <Tabs.Tab value="aside">{t("data.tab.aside", { rows: formatCount(set_aside_count) })}</Tabs.Tab>
          )}
        </Tabs.List>
        <Tabs.Panel value="rows">
          <RowsTab view={view} changes={changes} goTo={goTo} onStale={reload} />
        </Tabs.Panel>
        <Tabs.Panel value="statistics">
          <StatisticsTab view={view} changes={changes} />
        </Tabs.Panel>
        <Tabs.Panel value="history">
          <HistoryTab view={view} changes={changes} />
        </Tabs.Panel>
        <Tabs.Panel value="aside">
          <Stack>
            <SetAsideTab view={view} changes={changes} />
          </Stack>
        </Tabs.Panel>
      </Tabs>
      {dialog === "export" && <ExportDialog view={view} onClose={close} />}
      {dialog === "split" && <SplitDialog view={view} onClose={close} />}
      {dialog === "delete" && (
        <DeleteDataset
          dataset={{ name, rows: changes.rows, point: changes.point }}
          onClose={close}
          onDeleted={() => navigate("/data")}
        />
      )}
    </Page>
  );
}

interface StepButtonProps {
  label: string;
  /** What would be undone or redone; null: nothing. */
  what: string | null;
  onClick: () => void;
  icon: ReactNode;
}

function StepButton({ label, what, onClick, icon }: StepButtonProps) {
  return (
    <Tooltip label={what === null ? label : `${label}: ${what}`}>
      <ActionIcon variant="default" size="lg" aria-label={label} disabled={what === null} onClick={onClick}>
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}
