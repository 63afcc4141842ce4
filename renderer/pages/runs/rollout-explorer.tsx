/** The answers of a run, step by step: filtered, in their groups, and how the answer to one prompt changed. */

import { Badge, Button, Group, NumberInput, Pagination, Select, Slider, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { CallInput } from "../../../core/contract/api/api.ts";
import { rolloutOrders } from "../../../core/contract/api/run-calls.ts";
import type { RolloutLine } from "../../../core/contract/run.ts";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Term } from "../../components/term.tsx";
import { PromptHistory } from "./prompt-history.tsx";
import { RolloutCard } from "../../components/live-run/rollout-card.tsx";

const pageSize = 24;

export function RolloutExplorer({ run, task, steps }: { run: string; task: string; steps: readonly number[] }) {
  const { t } = useTranslation();
  const [index, setIndex] = useState(steps.length - 1);
  const [filter, setFilter] = useState({
    text: "",
    least: null as number | null,
    most: null as number | null,
    stop_reason: null as string | null,
    failure: null as string | null,
    order: "group" as (typeof rolloutOrders)[number],
  });
  const [page, setPage] = useState(1);
  const [prompt, setPrompt] = useState<string>();
  const step = steps[Math.min(index, steps.length - 1)] ?? 0;
  // As text, since a new object would be another value each time the page is drawn.
  const [asked] = useDebouncedValue(
    JSON.stringify({ run, step, ...filter, offset: (page - 1) * pageSize, limit: pageSize }),
    120,
  );
  const wanted = JSON.parse(asked) as CallInput<"runs.rollouts">;
  const loaded = useCall("runs.rollouts", wanted, { enabled: steps.length > 0 });
  const change = (more: Partial<typeof filter>) => {
    setFilter({ ...filter, ...more });
    setPage(1);
  };
  if (steps.length === 0) return <Text className="hone-muted">{t("runs.answers.none")}</Text>;
  if (prompt !== undefined) {
    return <PromptHistory run={run} task={task} rowId={prompt} onClose={() => setPrompt(undefined)} />;
  }
  return (
    <Stack gap="sm">
      <Group align="flex-end" gap="sm">
        <Stack gap={4} w={200}>
          <Text size="sm" fw={500} id="answers-step">
            {t("runs.answers.step", { step })}
          </Text>
          <Slider
            min={0}
            max={Math.max(0, steps.length - 1)}
            value={index}
            onChange={(value) => {
              setIndex(value);
              setPage(1);
            }}
            label={(value) => steps[value]}
            thumbProps={{ "aria-labelledby": "answers-step", "aria-valuetext": String(step) }}
          />
        </Stack>
        <TextInput
          label={t("runs.answers.text")}
          value={filter.text}
          onChange={(event) => change({ text: event.currentTarget.value })}
          w={140}
        />
        <NumberInput
          label={t("runs.answers.least")}
          value={filter.least ?? ""}
          onChange={(value) => change({ least: typeof value === "number" ? value : null })}
          step={0.1}
          w={96}
        />
        <NumberInput
          label={t("runs.answers.most")}
          value={filter.most ?? ""}
          onChange={(value) => change({ most: typeof value === "number" ? value : null })}
          step={0.1}
          w={96}
        />
        <Select
          label={t("runs.answers.stopReason")}
          data={loaded.value?.stop_reasons ?? []}
          value={filter.stop_reason}
          onChange={(value) => change({ stop_reason: value })}
          clearable
          allowDeselect
          w={120}
        />
        <Select
          label={t("runs.answers.failure")}
          data={loaded.value?.failures ?? []}
          value={filter.failure}
          onChange={(value) => change({ failure: value })}
          clearable
          allowDeselect
          w={130}
        />
        <Select
          label={t("runs.answers.order.label")}
          data={rolloutOrders.map((value) => ({ value, label: t(`runs.answers.order.${value}`) }))}
          value={filter.order}
          onChange={(value) => change({ order: value ?? "group" })}
          w={150}
        />
      </Group>
      <LoadedView of={loaded}>
        {({ rollouts, total }) => (
          <Stack gap="sm">
            <Text size="sm" className="hone-muted" role="status">
              {t("runs.answers.found", { count: total })}
            </Text>
            {filter.order === "group" ? (
              [...Map.groupBy(rollouts, (line) => line.prompt_index)].map(([key, group]) => (
                <RolloutGroup key={key} task={task} group={group} onPrompt={setPrompt} />
              ))
            ) : (
              <RolloutGrid task={task} rollouts={rollouts} onPrompt={setPrompt} />
            )}
            {total > pageSize && (
              <Pagination
                total={Math.ceil(total / pageSize)}
                value={page}
                onChange={setPage}
                getControlProps={(control) => ({ "aria-label": t(`runs.answers.page.${control}`) })}
              />
            )}
          </Stack>
        )}
      </LoadedView>
    </Stack>
  );
}

interface GroupProps {
  task: string;
  group: readonly RolloutLine[];
  onPrompt: (rowId: string) => void;
}

/** What RL compares with each other: the answers to one prompt. */
function RolloutGroup({ task, group, onPrompt }: GroupProps) {
  const { t } = useTranslation();
  const rewards = group.map((line) => line.reward);
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const isFlat = group.length > 1 && rewards.every((reward) => reward === rewards[0]);
  return (
    <Stack gap={6} className="hone-card" component="section" aria-label={group[0].row_id}>
      <Group justify="space-between">
        <Group gap="xs">
          <Text fw={600} size="sm">
            {group[0].row_id}
          </Text>
          <Text size="sm" className="hone-muted hone-numbers">
            {t("runs.answers.mean", { reward: mean.toFixed(2) })}
          </Text>
          {isFlat && (
            <Badge size="sm" variant="light" color="orange" autoContrast>
              <Term name="zero_variance" />
            </Badge>
          )}
        </Group>
        <Button size="compact-xs" variant="default" onClick={() => onPrompt(group[0].row_id)}>
          {t("runs.answers.history")}
        </Button>
      </Group>
      <RolloutGrid task={task} rollouts={group} />
    </Stack>
  );
}

function RolloutGrid({
  task,
  rollouts,
  onPrompt,
}: {
  task: string;
  rollouts: readonly RolloutLine[];
  onPrompt?: (rowId: string) => void;
}) {
  return (
    <div style={{ display: "grid", gridTemplateColumns: "repeat(auto-fill, minmax(250px, 1fr))", gap: 8 }}>
      {rollouts.map((line) => (
        <RolloutCard key={line.trajectory_id} task={task} line={line} {...(onPrompt !== undefined && { onPrompt })} />
      ))}
    </div>
  );
}
