/** The answers one by one, with what each is worth and why. */

import { Badge, Button, Group, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import type { LabSample } from "../../../core/contract/api/reward-calls.ts";
import { AnswerBoard } from "../../components/answer-board.tsx";
import type { LabStore } from "../../stores/lab-store.ts";
import { orderSamples, sampleOrders, type SampleOrder } from "./lab-figures.ts";
import { PartValues } from "./part-values.tsx";
import classes from "./rewards.module.css";

const atOnce = 10;

export function LabSamples({ store }: { store: LabStore }) {
  const { t } = useTranslation();
  const { result, stale } = useStore(store);
  const [order, setOrder] = useState<SampleOrder>("best");
  const [shown, setShown] = useState(atOnce);
  if (result === null || result.samples.length === 0) return null;
  const samples = orderSamples(result.samples, order);
  return (
    <Stack gap="sm" className="hone-card">
      <Group justify="space-between">
        <Title order={2} size="h5">
          {t("rewards.samples.title")}
        </Title>
        <SegmentedControl
          size="xs"
          aria-label={t("rewards.samples.order")}
          value={order}
          onChange={(value) => {
            setOrder(value);
            setShown(atOnce);
          }}
          data={sampleOrders.map((value) => ({
            value,
            label: t(`rewards.samples.${value}`, { count: orderSamples(result.samples, value).length }),
          }))}
        />
      </Group>
      {samples.length === 0 && (
        <Text size="sm">{t(`rewards.samples.none.${order === "failed" ? "failed" : "changed"}`)}</Text>
      )}
      <Stack gap="xs" {...(stale && { className: classes.stale })}>
        {samples.slice(0, shown).map((sample) => (
          <Sample key={sample.index} sample={sample} />
        ))}
      </Stack>
      {samples.length > shown && (
        <Button variant="default" onClick={() => setShown(shown + 50)} style={{ alignSelf: "center" }}>
          {t("rewards.samples.more", { count: samples.length - shown })}
        </Button>
      )}
    </Stack>
  );
}

function Sample({ sample }: { sample: LabSample }) {
  const { t } = useTranslation();
  const { reward, before, parts, before_parts, error, prompt, completion, row_id, row, info } = sample;
  const [open, setOpen] = useState(false);
  const changed = before !== null && reward !== null && before !== reward;
  return (
    <Stack gap={6} className={classes.part}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Group gap="xs">
          {reward === null ? (
            <Badge color="red" variant="light" autoContrast>
              {t("rewards.samples.error")}
            </Badge>
          ) : (
            <Text fw={700} className="hone-numbers">
              {changed && (
                <Text span className="hone-muted" td="line-through" mr={6}>
                  {before.toFixed(3)}
                </Text>
              )}
              {reward.toFixed(3)}
            </Text>
          )}
          <PartValues parts={parts} before={before_parts} />
        </Group>
        <Text size="xs" className="hone-muted">
          {t("rewards.samples.place", { row: row_id, step: sample.step })}
        </Text>
      </Group>
      {error !== null && (
        <Text size="sm" c="var(--hone-bad)" style={{ overflowWrap: "anywhere" }}>
          {error}
        </Text>
      )}
      <Group wrap="nowrap" align="flex-start" gap="sm">
        <AnswerBoard rowId={row_id} completion={completion} />
        <div className={classes.text} tabIndex={0} aria-label={t("rewards.samples.answer")} role="region">
          {completion === "" ? t("rewards.samples.empty") : completion}
        </div>
      </Group>
      <Button
        variant="subtle"
        size="compact-xs"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        style={{ alignSelf: "flex-start" }}
      >
        {t("rewards.samples.details")}
      </Button>
      {open && (
        <Stack gap={4}>
          <Text size="xs" className="hone-muted">
            {t("rewards.samples.prompt")}
          </Text>
          <div className={classes.text}>{prompt}</div>
          <Text size="xs" className="hone-muted">
            {t("rewards.samples.row")}
          </Text>
          <div className={classes.text}>{JSON.stringify(row, undefined, 2)}</div>
          {info !== null && (
            <>
              <Text size="xs" className="hone-muted">
                {t("rewards.samples.info")}
              </Text>
              <div className={classes.text}>{JSON.stringify(info, undefined, 2)}</div>
            </>
          )}
        </Stack>
      )}
    </Stack>
  );
}
