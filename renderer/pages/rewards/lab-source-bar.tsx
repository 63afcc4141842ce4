/** Which answers the reward is tried on, and which reward it is compared with. */

import { Button, Group, Select, Stack, Text, Title } from "@mantine/core";
import { Dices, Play } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import type { LabSources } from "../../../core/contract/api/reward-calls.ts";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { usePickPath } from "../../components/use-pick-path.tsx";
import { asksOthers, type LabStore } from "../../stores/lab-store.ts";
import { formatTime } from "../../i18n/i18n.ts";
import { AskOthers } from "./ask-others.tsx";
import { DrawSamples } from "./draw-samples.tsx";
import { firstHandSamples } from "./first-source.ts";
import { HandSamples } from "./hand-samples.tsx";

export function LabSourceBar({ store }: { store: LabStore }) {
  const { t } = useTranslation();
  const sources = useCall("rewards.sources", {}, { follow: "rewards" });
  return (
    <Stack gap="sm" className="hone-card">
      <Title order={2} size="h5">
        {t("rewards.source.title")}
      </Title>
      <LoadedView of={sources}>{(known) => <Choices store={store} known={known} />}</LoadedView>
    </Stack>
  );
}

function Choices({ store, known }: { store: LabStore; known: LabSources }) {
  const { t } = useTranslation();
  const { source, setSource, compare, setCompare, running, run, kind, text } = useStore(store);
  const [drawing, setDrawing] = useState(false);
  const [asking, setAsking] = useState(false);
  const { pick, dialog } = usePickPath();
  const others = asksOthers({ kind, text });
  const chosenRun = source?.kind === "run" ? known.runs.find((one) => one.run === source.run) : undefined;
  const other = source?.kind === "file" && !known.drawn.some(({ path }) => path === source.path) ? source.path : null;
  const value =
    source === null
      ? null
      : source.kind === "run"
        ? `run:${source.run}`
        : source.kind === "file"
          ? source.path
          : "hand";
  const choose = async (chosen: string | null) => {
    if (chosen === null) return;
    if (chosen === "hand") setSource({ kind: "hand", samples: [...firstHandSamples] });
    else if (chosen === "pick") {
      const [path] = await pick({ kind: "file", title: t("rewards.source.pick"), extensions: ["jsonl", "ndjson"] });
      if (path !== undefined) setSource({ kind: "file", path });
    } else if (chosen.startsWith("run:")) {
      const name = chosen.slice("run:".length);
      const found = known.runs.find((one) => one.run === name);
      setSource({ kind: "run", run: name, step: found?.steps.at(-1) ?? null });
    } else setSource({ kind: "file", path: chosen });
  };
  return (
    <>
      {dialog}
      <Group align="flex-end" gap="xs">
        <Select
          label={t("rewards.source.from")}
          data={[
            {
              group: t("rewards.source.drawn"),
              items: known.drawn.map(({ path, name, samples }) => ({
                value: path,
                label: t("rewards.source.drawnItem", { name, count: samples }),
              })),
            },
            {
              group: t("rewards.source.runs"),
              items: known.runs.map(({ run: name }) => ({ value: `run:${name}`, label: name })),
            },
            {
              group: t("rewards.source.other"),
              items: [
                { value: "hand", label: t("rewards.source.hand") },
                ...(other === null ? [] : [{ value: other, label: other }]),
                { value: "pick", label: t("rewards.source.pick") },
              ],
            },
          ].filter(({ items }) => items.length > 0)}
          value={value}
          onChange={(chosen) => void choose(chosen)}
          allowDeselect={false}
          searchable
          style={{ flex: "1 1 220px" }}
        />
        {chosenRun !== undefined && source?.kind === "run" && (
          <Select
            label={t("rewards.source.step")}
            data={[
              { value: "all", label: t("rewards.source.allSteps") },
              ...[...chosenRun.steps].reverse().map((step) => ({ value: String(step), label: String(step) })),
            ]}
            value={source.step === null ? "all" : String(source.step)}
            onChange={(step) => {
              if (step !== null) setSource({ ...source, step: step === "all" ? null : Number(step) });
            }}
            allowDeselect={false}
            searchable
            w={120}
          />
        )}
        <Button variant="default" leftSection={<Dices size={16} aria-hidden />} onClick={() => setDrawing(true)}>
          {t("rewards.source.draw")}
        </Button>
      </Group>
      {source?.kind === "hand" && <HandSamples source={source} onChange={setSource} />}
      <Group gap="xs" align="flex-end">
        <Select
          label={t("rewards.compare.label")}
          data={[
            { value: "saved", label: t("rewards.compare.saved") },
            { value: "stored", label: t("rewards.compare.stored") },
            ...(compare.kind === "version"
              ? [
                  {
                    value: "version",
                    label: t("rewards.compare.version", { time: formatTime(Number(compare.id)) }),
                  },
                ]
              : []),
          ]}
          value={compare.kind}
          onChange={(chosen) => {
            if (chosen === "saved" || chosen === "stored") setCompare({ kind: chosen });
          }}
          allowDeselect={false}
          style={{ flex: 1 }}
        />
        <Button
          variant="default"
          leftSection={<Play size={16} aria-hidden />}
          loading={running}
          disabled={source === null}
          onClick={() => {
            if (others) setAsking(true);
            else void run();
          }}
        >
          {others ? t("rewards.source.runJudges") : t("rewards.source.run")}
        </Button>
      </Group>
      {others && (
        <Text size="sm" className="hone-muted">
          {t("rewards.source.judges")}
        </Text>
      )}
      {asking && <AskOthers store={store} onClose={() => setAsking(false)} />}
      {drawing && (
        <DrawSamples
          task={chosenRun?.task ?? null}
          onClose={() => setDrawing(false)}
          onDrawn={(path) => {
            setDrawing(false);
            setSource({ kind: "file", path });
          }}
        />
      )}
    </>
  );
}
