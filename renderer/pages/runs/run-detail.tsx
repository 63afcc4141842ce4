/** One run: its curves, its answers, what it was made of, and what a person noted. */

import {
  Anchor,
  Badge,
  Breadcrumbs,
  Button,
  Group,
  Stack,
  Table,
  Tabs,
  TagsInput,
  Text,
  Textarea,
} from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation, useSearch } from "wouter";
import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import { formatBytes, formatCount } from "../../../core/contract/units.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { formatTime } from "../../i18n/i18n.ts";
import { compareConfigs } from "./config-diff.ts";
import { OptionName } from "./option-name.tsx";
import { RolloutExplorer } from "./rollout-explorer.tsx";
import { RunActions } from "./run-actions.tsx";
import { RunCheckpoints } from "./run-checkpoints.tsx";
import { RunEvaluations } from "./run-evaluations.tsx";
import { RunExport } from "./run-export.tsx";
import { RunStateBadge } from "./run-state-badge.tsx";
import { LiveRun } from "../../components/live-run/live-run.tsx";
import { measuredText, shortModel } from "./run-texts.ts";

const tabs = ["curves", "answers", "evaluations", "checkpoints", "options", "notes"] as const;

export function RunDetail({ name }: { name: string }) {
  const { t } = useTranslation();
  const loaded = useCall("runs.read", { run: name }, { follow: "runs" });
  return (
    <Page
      title={name}
      lead={
        <Breadcrumbs>
          <Anchor component={Link} href="/runs" size="sm">
            {t("nav.runs")}
          </Anchor>
          <Text size="sm">{name}</Text>
        </Breadcrumbs>
      }
      {...(loaded.value !== undefined && { actions: <RunActions run={loaded.value} /> })}
    >
      <LoadedView of={loaded}>{(run) => <Details run={run} />}</LoadedView>
    </Page>
  );
}

function Details({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const wanted = new URLSearchParams(useSearch()).get("tab");
  const tab = tabs.find((one) => one === wanted) ?? "curves";
  const show = (next: string | null) => {
    navigate(`/runs/${encodeURIComponent(run.name)}?tab=${next ?? "curves"}`, { replace: true });
  };
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <RunStateBadge run={run} />
        <Text size="sm">
          {shortModel(run.model)} · {shortModel(run.task)} · {run.method.toUpperCase()} · {run.finetuning_type}
        </Text>
        <Text size="sm" className="hone-muted hone-numbers">
          {measuredText(run, t)}
        </Text>
        {run.tags.map((tag) => (
          <Badge key={tag} size="sm" variant="outline">
            {tag}
          </Badge>
        ))}
      </Group>
      <Tabs value={tab} onChange={show} keepMounted={false}>
        <Tabs.List mb="sm">
          {tabs.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`runs.tab.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="curves">
          <LiveRun run={run.name} />
        </Tabs.Panel>
        <Tabs.Panel value="answers">
          <RolloutExplorer run={run.name} task={run.task} steps={run.rollout_steps} />
        </Tabs.Panel>
        <Tabs.Panel value="evaluations">
          <RunEvaluations run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="checkpoints">
          <RunCheckpoints run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="options">
          <Options run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="notes">
          <Notes run={run} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

function Options({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  const { record } = run;
  const facts: readonly [string, string][] = [
    [t("runs.fact.created"), formatTime(run.created)],
    [t("runs.fact.version"), `Hone ${record.hone_version}, ${record.engine_version}`],
    [t("runs.fact.model"), `${record.model.architecture}, ${formatCount(record.model.parameters)}`],
    [t("runs.fact.trainable"), formatCount(record.model.trainable_parameters)],
    [t("runs.fact.rows"), `${record.data.train} / ${record.data.validation} / ${record.data.held_out}`],
    [t("runs.fact.size"), formatBytes(run.size)],
    [t("runs.fact.folder"), run.path],
  ];
  return (
    <Stack gap="md">
      <Table withRowBorders={false} aria-label={t("runs.tab.options")}>
        <Table.Tbody>
          {facts.map(([label, value]) => (
            <Table.Tr key={label}>
              <Table.Th w={220} scope="row">
                {label}
              </Table.Th>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Table striped aria-label={t("runs.tab.options")}>
        <Table.Tbody>
          {compareConfigs([run.config]).map(({ name, values }) => (
            <Table.Tr key={name}>
              <Table.Th w={320} scope="row">
                <OptionName name={name} />
              </Table.Th>
              <Table.Td ff="monospace" style={{ overflowWrap: "anywhere" }}>
                {values[0]}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <RunExport run={run} />
    </Stack>
  );
}

function Notes({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  const api = useApi();
  const [tags, setTags] = useState(run.tags);
  const [notes, setNotes] = useState(run.notes);
  const [error, setError] = useState<unknown>();
  const changed = notes !== run.notes || tags.join("\n") !== run.tags.join("\n");
  const save = async () => {
    try {
      await api.call("runs.annotate", { run: run.name, tags, notes });
      setError(undefined);
    } catch (failed) {
      setError(failed);
    }
  };
  return (
    <Stack gap="sm" maw={720}>
      <TagsInput
        label={t("runs.notes.tags")}
        description={t("runs.notes.tagsHint")}
        value={tags}
        onChange={setTags}
        maxTags={20}
      />
      <Textarea
        label={t("runs.notes.notes")}
        autosize
        minRows={6}
        value={notes}
        onChange={(event) => setNotes(event.currentTarget.value)}
      />
      {error !== undefined && <ErrorBox error={error} />}
      <Group>
        <Button disabled={!changed} onClick={() => void save()}>
          {t("common.save")}
        </Button>
      </Group>
    </Stack>
  );
}
