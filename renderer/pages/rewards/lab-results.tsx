/** What the reward makes of the answers: how it is spread, what the edit has changed, what looks wrong. */

import { Alert, Group, Loader, SimpleGrid, Stack, Switch, Table, Text, Title } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import type { LabResult } from "../../../core/contract/api/reward-calls.ts";
import type { RewardTrial } from "../../../core/contract/reward.ts";
import { formatPercent } from "../../../core/contract/units.ts";
import { Term } from "../../components/term.tsx";
import type { LabStore } from "../../stores/lab-store.ts";
import { sharedHistogram, type SharedBin } from "./lab-figures.ts";
import classes from "./rewards.module.css";

export function LabResults({ store }: { store: LabStore }) {
  const { t } = useTranslation();
  const { result, stale, running, source } = useStore(store);
  const trial = result?.trial ?? null;
  return (
    <Stack gap="sm" className="hone-card" aria-busy={running}>
      <Group justify="space-between">
        <Title order={2} size="h5">
          {t("rewards.result.title")}
        </Title>
        <Group gap={6} role="status" aria-live="polite">
          {running && <Loader size="xs" aria-hidden />}
          <Text size="sm" className="hone-muted">
            {running
              ? t("rewards.result.running")
              : trial === null
                ? ""
                : t("rewards.result.of", { count: trial.samples, available: result?.available ?? trial.samples })}
          </Text>
        </Group>
      </Group>
      {source === null && <Text size="sm">{t("rewards.result.noSource")}</Text>}
      {result !== null && trial === null && <Text size="sm">{t("rewards.result.nothing")}</Text>}
      {result !== null && trial !== null && (
        <Stack gap="sm" {...(stale && { className: classes.stale })}>
          <Tiles result={result} trial={trial} />
          <Histogram result={result} />
          {result.change !== null && <Change change={result.change} trial={trial} before={result.before} />}
          <Parts trial={trial} />
          <Warnings trial={trial} />
        </Stack>
      )}
    </Stack>
  );
}

function Tile({ label, value, before }: { label: ReactNode; value: string; before?: string | null }) {
  return (
    <div>
      <Text size="xs" className="hone-muted" component="div">
        {label}
      </Text>
      <Text fw={600} size="lg" className="hone-numbers">
        {value}
        {before != null && before !== value && (
          <Text span size="sm" className="hone-muted" ml={6}>
            ({before})
          </Text>
        )}
      </Text>
    </div>
  );
}

function Tiles({ trial, result: { before } }: { result: LabResult; trial: RewardTrial }) {
  const { t } = useTranslation();
  const groups = ({ groups: { zero_variance, count } }: RewardTrial) => `${zero_variance} / ${count}`;
  return (
    <>
      <SimpleGrid cols={4} spacing="xs">
        <Tile
          label={t("rewards.result.mean")}
          value={trial.total.mean.toFixed(3)}
          before={before?.total.mean.toFixed(3) ?? null}
        />
        <Tile
          label={<Term name="standard_deviation" />}
          value={trial.total.std.toFixed(3)}
          before={before?.total.std.toFixed(3) ?? null}
        />
        <Tile
          label={<Term name="zero_variance">{t("rewards.result.zeroVariance")}</Term>}
          value={groups(trial)}
          before={before === null ? null : groups(before)}
        />
        <Tile label={t("rewards.result.failed")} value={String(trial.failed)} />
      </SimpleGrid>
      {before !== null && (
        <Text size="xs" className="hone-muted">
          {t("rewards.result.inBrackets")}
        </Text>
      )}
    </>
  );
}

function Histogram({ result }: { result: LabResult }) {
  const { t } = useTranslation();
  const [asTable, setAsTable] = useState(false);
  const bins = sharedHistogram(result.samples);
  const most = Math.max(1, ...bins.map(({ now, before }) => Math.max(now, before)));
  const hasBefore = result.before !== null;
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Group gap="md">
          <Text size="xs">
            <span className={`${classes.swatch} ${classes.now}`} aria-hidden />
            {t("rewards.result.now")}
          </Text>
          {hasBefore && (
            <Text size="xs">
              <span className={`${classes.swatch} ${classes.before}`} aria-hidden />
              {t("rewards.result.before")}
            </Text>
          )}
        </Group>
        <Switch
          size="xs"
          label={t("rewards.result.asTable")}
          checked={asTable}
          onChange={(event) => setAsTable(event.currentTarget.checked)}
        />
      </Group>
      {asTable ? (
        <Table aria-label={t("rewards.result.histogram")} verticalSpacing={2}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("rewards.reward")}</Table.Th>
              <Table.Th>{t("rewards.result.now")}</Table.Th>
              {hasBefore && <Table.Th>{t("rewards.result.before")}</Table.Th>}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {bins.map((bin) => (
              <Table.Tr key={bin.from} className="hone-numbers">
                <Table.Td>{spanOf(bin)}</Table.Td>
                <Table.Td>{bin.now}</Table.Td>
                {hasBefore && <Table.Td>{bin.before}</Table.Td>}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      ) : (
        <div className={classes.histogram} role="img" aria-label={t("rewards.result.histogram")}>
          {bins.map((bin) => (
            <div
              key={bin.from}
              className={classes.bin}
              title={`${spanOf(bin)}: ${bin.now}${hasBefore ? ` (${bin.before})` : ""}`}
            >
              <div className={classes.bars}>
                {hasBefore && (
                  <div
                    className={`${classes.bar} ${classes.before}`}
                    style={{ height: `${(100 * bin.before) / most}%` }}
                  />
                )}
                <div className={`${classes.bar} ${classes.now}`} style={{ height: `${(100 * bin.now) / most}%` }} />
              </div>
              <div className={`${classes.tick} hone-muted hone-numbers`}>{short(bin.from)}</div>
            </div>
          ))}
        </div>
      )}
    </Stack>
  );
}

function spanOf({ from, to }: SharedBin): string {
  return from === to ? short(from) : `${short(from)} – ${short(to)}`;
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

interface ChangeProps {
  change: NonNullable<LabResult["change"]>;
  trial: RewardTrial;
  before: RewardTrial | null;
}

/** What an edit comes to: RL learns from the order within a group, so that is what counts most. */
function Change({ change: { changed, higher, lower, reversed_pairs, pairs } }: ChangeProps) {
  const { t } = useTranslation();
  return (
    <Stack gap={2}>
      <Text size="sm">
        {changed === 0 ? t("rewards.change.none") : t("rewards.change.some", { count: changed, higher, lower })}
      </Text>
      {pairs > 0 && (
        <Text size="sm">
          <Term name="reversed_pairs">{t("rewards.change.pairs")}</Term>:{" "}
          <span className="hone-numbers">
            {reversed_pairs} / {pairs} ({formatPercent(reversed_pairs / pairs)})
          </span>
        </Text>
      )}
    </Stack>
  );
}

function Parts({ trial }: { trial: RewardTrial }) {
  const { t } = useTranslation();
  const names = Object.keys(trial.parts);
  if (names.length === 0) return null;
  const apart = trial.agreement.filter(({ rank_correlation: rho }) => rho !== null && rho < -0.2);
  return (
    <Stack gap={4}>
      <Table aria-label={t("rewards.parts.title")} verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("rewards.parts.name")}</Table.Th>
            <Table.Th>
              <Term name="reward_weight" />
            </Table.Th>
            <Table.Th>{t("rewards.result.mean")}</Table.Th>
            <Table.Th>{t("rewards.parts.range")}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Object.entries(trial.parts).map(([name, { weight, mean, min, max }]) => (
            <Table.Tr key={name}>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{name}</Table.Td>
              <Table.Td className="hone-numbers">{weight}</Table.Td>
              <Table.Td className="hone-numbers">{mean.toFixed(3)}</Table.Td>
              <Table.Td className="hone-numbers">
                {min === max ? t("rewards.parts.constant", { value: short(min) }) : `${short(min)} – ${short(max)}`}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {apart.map(({ a, b, rank_correlation: rho }) => (
        <Text key={`${a} ${b}`} size="sm" c="var(--hone-warn)">
          {t("rewards.parts.apart", { a: nameOf(a, t), b: nameOf(b, t), rho: (rho ?? 0).toFixed(2) })}
        </Text>
      ))}
    </Stack>
  );
}

function nameOf(part: string, t: (key: string) => string): string {
  if (part === "reward") return t("rewards.parts.whole");
  return part === "stored_reward" ? t("rewards.parts.stored") : part;
}

function Warnings({ trial }: { trial: RewardTrial }) {
  const { t } = useTranslation();
  const { suspicions, notes, groups } = trial;
  const dull = groups.count > 0 && groups.zero_variance / groups.count > 0.5;
  if (suspicions.length === 0 && notes.length === 0 && !dull) return null;
  return (
    <Stack gap="xs">
      {dull && (
        <Alert color="orange" p="xs" icon={<TriangleAlert size={16} aria-hidden />}>
          <Text size="sm">
            {t("rewards.result.dull", { share: formatPercent(groups.zero_variance / groups.count) })}
          </Text>
        </Alert>
      )}
      {suspicions.map(({ measure, message }) => (
        <Alert
          key={measure}
          color="orange"
          p="xs"
          icon={<TriangleAlert size={16} aria-hidden />}
          title={<Term name="reward_hacking" />}
        >
          <Text size="sm">{message}</Text>
        </Alert>
      ))}
      {notes.map((note) => (
        <Text key={note} size="sm" className="hone-muted">
          {note}
        </Text>
      ))}
    </Stack>
  );
}
