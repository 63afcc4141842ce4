/** The next run: what is learnt, by which model, how thoroughly; what it will take; and its beginning. */

import { Anchor, Button, Group, Kbd, Stack, Switch, Text } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { Play } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import { useStore } from "zustand";
import { optionNames, type OptionName } from "../../../core/contract/config.ts";
import { formatSeconds } from "../../../core/contract/units.ts";
import { useApi, useApp } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { activeJobs } from "../../stores/app-store.ts";
import { checkForm, createTrainForm, type Given, type TrainForm } from "../../stores/train-form.ts";
import { AdvancedOptions } from "./advanced-options.tsx";
import { ConfigFiles } from "./config-files.tsx";
import { EstimateCard } from "./estimate-card.tsx";
import { PresetChoice } from "./preset-choice.tsx";
import { SubjectFields } from "./subject-fields.tsx";
import classes from "./train.module.css";

/** What was chosen stays while other pages are looked at. */
const form = createTrainForm();

export function TrainSetup({ query }: { query: URLSearchParams }) {
  const { t } = useTranslation();
  const api = useApi();
  const [, navigate] = useLocation();
  const state = useStore(form);
  const checked = checkForm(state);
  const expert = useApp(({ settings }) => settings?.expert ?? false);
  const [starting, setStarting] = useState(false);
  const [error, setError] = useState<unknown>();
  useWanted(query, form, setError);
  useOrigin(form);

  const canStart = checked.config !== null && !starting;
  const start = async () => {
    if (!canStart) return;
    setStarting(true);
    setError(undefined);
    try {
      const { job } = await api.call("train.start", { config: checked.input });
      navigate(`/train?job=${job}`);
    } catch (failed) {
      setError(failed);
    } finally {
      setStarting(false);
    }
  };
  useHotkeys([["mod+Enter", () => void start()]], []);
  const wrong = Object.keys(checked.errors).length;
  return (
    <div className={classes.setup}>
      <Stack gap="md" miw={0}>
        <RunningNow />
        <SubjectFields form={form} given={state.given} checked={checked} />
        <PresetChoice form={form} given={state.given} checked={checked} />
        <Stack gap="sm" className="hone-card">
          <Switch
            label={t("train.advanced.show")}
            description={t("train.advanced.about", { count: checked.changed.length })}
            checked={expert}
            onChange={(event) => void api.call("settings.set", { expert: event.currentTarget.checked })}
          />
          {(expert || hasHiddenError(Object.keys(checked.errors) as OptionName[])) && (
            <AdvancedOptions form={form} given={state.given} checked={checked} />
          )}
        </Stack>
      </Stack>
      <Stack gap="md" className={classes.side}>
        <Stack gap="xs" className="hone-card">
          <Button
            size="md"
            fullWidth
            leftSection={<Play size={16} aria-hidden />}
            disabled={!canStart}
            loading={starting}
            onClick={() => void start()}
          >
            {t("train.start")}
          </Button>
          <Text size="xs" className="hone-muted" ta="center">
            <Kbd size="xs">{modKey}</Kbd> <Kbd size="xs">Enter</Kbd>
          </Text>
          {wrong > 0 && (
            <Text size="sm" c="var(--hone-bad)" role="alert">
              {t("train.wrong", { count: wrong })}
            </Text>
          )}
          {checked.problem !== null && <ErrorBox error={checked.problem} />}
          {error !== undefined && <ErrorBox error={error} />}
          <Anchor component={Link} href={adviceLink(state.given)} size="sm" ta="center">
            {t("train.advice")}
          </Anchor>
        </Stack>
        <EstimateCard checked={checked} />
        <ConfigFiles form={form} checked={checked} />
      </Stack>
    </div>
  );
}

const modKey = navigator.platform.startsWith("Mac") ? "⌘" : "Ctrl";

/** Fields that are always in sight; every other one is among the advanced options. */
const shownAlways: readonly OptionName[] = ["model", "task", "method", "reward"];

function hasHiddenError(names: readonly OptionName[]): boolean {
  return names.some((name) => !shownAlways.includes(name));
}

function adviceLink({ task, model }: Given): string {
  const query = new URLSearchParams();
  if (typeof task === "string") query.set("task", task);
  if (typeof model === "string") query.set("model", model);
  return `/tasks/advise?${query.toString()}`;
}

/** What another page has sent the person here with; `like` is a run whose options are taken over. */
function useWanted(query: URLSearchParams, target: TrainForm, onError: (error: unknown) => void): void {
  const api = useApi();
  const [, navigate] = useLocation();
  const wanted = query.toString();
  useEffect(() => {
    if (wanted === "") return undefined;
    const abort = new AbortController();
    const take = async () => {
      const values = new URLSearchParams(wanted);
      const like = values.get("like");
      try {
        let given: Given = target.getState().given;
        if (like !== null) {
          const { config } = await api.call("runs.read", { run: like }, { signal: abort.signal });
          given = { ...config, output_dir: undefined, threads: undefined, memory_limit: undefined };
          given = Object.fromEntries(Object.entries(given).filter(([, value]) => value != null));
        }
        const named = optionNames.flatMap((name) => {
          const text = values.get(name);
          return text === null ? [] : [[name, numberOr(text)] as const];
        });
        const data = values.get("data");
        const isNew = values.has("task") || data !== null;
        // A reward and a mapping belong to the task that they were chosen for.
        const { reward: _reward, map: _map, group: _group, ...others } = given;
        target.replace({
          ...(isNew ? others : given),
          ...(data !== null && { task: data }),
          ...Object.fromEntries(named),
        });
        navigate("/train", { replace: true });
      } catch (failed) {
        if (!abort.signal.aborted) onError(failed);
      }
    };
    void take();
    return () => abort.abort();
  }, [wanted, api, navigate, target, onError]);
}

function numberOr(text: string): unknown {
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** A run's checkpoint and a task folder bring defaults of their own. */
function useOrigin(target: TrainForm): void {
  const api = useApi();
  const { model, task } = useStore(target, ({ given }) => given);
  useEffect(() => {
    const abort = new AbortController();
    if (typeof model !== "string" || model === "") return undefined;
    const asked = { model, task: typeof task === "string" && task !== "" ? task : null };
    api.call("train.origin", asked, { signal: abort.signal }).then(
      (origin) => {
        if (!abort.signal.aborted) target.setOrigin(origin);
      },
      // What is wrong with the model or the task is told by the estimate.
      () => {
        if (!abort.signal.aborted) target.setOrigin({});
      },
    );
    return () => abort.abort();
  }, [api, target, model, task]);
}

/** A run that trains now: the next one waits for it. */
function RunningNow() {
  const { t } = useTranslation();
  const jobs = useApp((app) => app.jobs);
  const active = activeJobs(jobs).filter(({ kind }) => kind !== "download");
  const [first] = active;
  if (first === undefined) return null;
  return (
    <Group className="hone-card" justify="space-between" role="status">
      <Text size="sm">
        {t("train.busy", { title: first.title, count: active.length })}
        {first.seconds_left !== null && ` ${t("jobs.left", { time: formatSeconds(first.seconds_left) })}.`}
      </Text>
      {first.kind === "train" && (
        <Button component={Link} href={`/train?job=${first.id}`} size="compact-sm" variant="default">
          {t("train.watch")}
        </Button>
      )}
    </Group>
  );
}
