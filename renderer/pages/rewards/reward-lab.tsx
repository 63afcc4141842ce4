/** The reward lab: a reward is written on one side, and what it makes of real answers is seen on the other at once. */

import { Alert, Badge, Button, Group, Menu, Stack, Text, Tooltip } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { History, Play, Save, TriangleAlert } from "lucide-react";
import { useEffect, useState, type MouseEvent } from "react";
import { useTranslation } from "react-i18next";
import { Link, useSearch } from "wouter";
import { useStore } from "zustand";
import type { LabSource } from "../../../core/contract/api/reward-calls.ts";
import { useApi } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import type { Loaded } from "../../app/hone-context.tsx";
import { isEdited, openLab, type LabStore } from "../../stores/lab-store.ts";
import { formatTime } from "../../i18n/i18n.ts";
import { LabEditor } from "./lab-editor.tsx";
import { LabResults } from "./lab-results.tsx";
import { LabSamples } from "./lab-samples.tsx";
import { LabSourceBar } from "./lab-source-bar.tsx";
import { OwnAnswer } from "./own-answer.tsx";
import { firstSource } from "./first-source.ts";
import classes from "./rewards.module.css";

export function RewardLab({ path }: { path: string }) {
  const api = useApi();
  const search = useSearch();
  const [wanted] = useState(() => sourceFrom(search));
  const [loaded, setLoaded] = useState<Loaded<LabStore>>({ state: "loading", value: undefined, error: undefined });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let store: LabStore | undefined;
    let left = false;
    const open = async () => {
      store = await openLab(api, path);
      const sources = wanted === null ? await api.call("rewards.sources", {}) : undefined;
      if (left) return;
      setLoaded({ state: "ready", value: store, error: undefined });
      store.getState().setSource(wanted ?? (sources === undefined ? null : firstSource(sources)));
    };
    open().catch((error: unknown) => {
      if (!left) setLoaded({ state: "failed", value: undefined, error });
    });
    return () => {
      left = true;
      store?.getState().stop();
    };
  }, [api, path, turn, wanted]);
  return (
    <LoadedView of={{ ...loaded, reload: () => setTurn(turn + 1) }}>{(store) => <Lab store={store} />}</LoadedView>
  );
}

/** `?run=NAME&step=3` or `?file=PATH`. */
function sourceFrom(search: string): LabSource | null {
  const query = new URLSearchParams(search);
  const [run, step, file] = [query.get("run"), query.get("step"), query.get("file")];
  if (run !== null) return { kind: "run", run, step: step === null ? null : Number(step) };
  return file === null ? null : { kind: "file", path: file };
}

function Lab({ store }: { store: LabStore }) {
  const { t } = useTranslation();
  const lab = useStore(store);
  const edited = isEdited(lab);
  useHotkeys([["mod+s", () => void lab.save()]], []);
  useEffect(() => {
    const look = () => void lab.look();
    const timer = setInterval(look, 3000);
    window.addEventListener("focus", look);
    return () => {
      clearInterval(timer);
      window.removeEventListener("focus", look);
    };
  }, [lab]);
  const task = lab.source?.kind === "run" ? lab.source.run : null;
  const train = `/train?reward=${encodeURIComponent(lab.path)}${task === null ? "" : `&like=${encodeURIComponent(task)}`}`;
  return (
    <Page
      title={lab.path.split(/[/\\]/).at(-1) ?? lab.path}
      lead={
        <Group gap="xs">
          <Link href="/rewards" className={classes.back}>
            {t("nav.rewards")}
          </Link>
          <Badge size="sm" variant="light" color="gray" autoContrast>
            {t(`rewards.kind.${lab.kind}`)}
          </Badge>
          <Text size="sm" className="hone-muted" role="status">
            {lab.example ? t("rewards.lab.example") : edited ? t("rewards.lab.edited") : t("rewards.lab.saved")}
          </Text>
        </Group>
      }
      actions={
        <>
          <HistoryMenu store={store} />
          <Button
            leftSection={<Save size={16} aria-hidden />}
            variant={edited ? "filled" : "default"}
            disabled={!edited || lab.example}
            loading={lab.saving}
            onClick={() => void lab.save()}
          >
            {t("common.save")}
          </Button>
          <Tooltip label={t("rewards.lab.saveFirst")} disabled={!edited}>
            <Button
              component={Link}
              href={train}
              variant="default"
              leftSection={<Play size={16} aria-hidden />}
              data-disabled={edited || undefined}
              aria-disabled={edited}
              onClick={(event: MouseEvent) => {
                if (edited) event.preventDefault();
              }}
            >
              {t("rewards.lab.train")}
            </Button>
          </Tooltip>
        </>
      }
    >
      {lab.conflict && <Conflict store={store} />}
      {lab.error !== undefined && <ErrorBox error={lab.error} onRetry={() => void lab.run()} />}
      <div className={classes.sides}>
        <Stack gap="md" miw={0}>
          <LabEditor store={store} />
          <OwnAnswer store={store} />
        </Stack>
        <Stack gap="md" miw={0}>
          <LabSourceBar store={store} />
          <LabResults store={store} />
        </Stack>
      </div>
      <LabSamples store={store} />
    </Page>
  );
}

function Conflict({ store }: { store: LabStore }) {
  const { t } = useTranslation();
  const { reload, save } = useStore(store);
  return (
    <Alert
      color="orange"
      icon={<TriangleAlert size={18} aria-hidden />}
      title={t("rewards.conflict.title")}
      role="alert"
    >
      <Stack gap="xs">
        <Text size="sm">{t("rewards.conflict.text")}</Text>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => void reload()}>
            {t("rewards.conflict.theirs")}
          </Button>
          <Button size="xs" variant="default" onClick={() => void save({ over: true })}>
            {t("rewards.conflict.mine")}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

/** Earlier versions, to look at the difference or to go back to. */
function HistoryMenu({ store }: { store: LabStore }) {
  const { t } = useTranslation();
  const api = useApi();
  const { path, history, text, saved, setText, setCompare } = useStore(store);
  const [error, setError] = useState<unknown>();
  const read = async (id: string, show: (content: string) => void) => {
    try {
      show((await api.call("rewards.version", { path, id })).text);
    } catch (failed) {
      setError(failed);
    }
  };
  return (
    <>
      {error !== undefined && <ErrorBox error={error} />}
      <Menu position="bottom-end" width={320}>
        <Menu.Target>
          <Button variant="default" leftSection={<History size={16} aria-hidden />}>
            {t("rewards.history.title", { count: history.length })}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah="60vh" style={{ overflowY: "auto" }}>
          <Menu.Item disabled={text === saved} onClick={() => setText(saved)}>
            {t("rewards.history.undo")}
          </Menu.Item>
          {history.length === 0 && <Menu.Label>{t("rewards.history.none")}</Menu.Label>}
          {history.map(({ id, saved: time }) => {
            const when = formatTime(time);
            return (
              <div key={id}>
                <Menu.Label>{when}</Menu.Label>
                <Menu.Item onClick={() => void read(id, setText)} aria-label={t("rewards.history.back", { when })}>
                  {t("rewards.history.take")}
                </Menu.Item>
                <Menu.Item
                  onClick={() => void read(id, (content) => setCompare({ kind: "version", id, text: content }))}
                  aria-label={t("rewards.history.compareWith", { when })}
                >
                  {t("rewards.history.compare")}
                </Menu.Item>
              </div>
            );
          })}
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
