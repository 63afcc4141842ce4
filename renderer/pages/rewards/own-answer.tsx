/** What the reward makes of an answer that a person writes. */

import { Group, JsonInput, Stack, Text, Textarea, TextInput, Title } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useTranslation } from "react-i18next";
import { useState } from "react";
import { useStore } from "zustand";
import { useCall } from "../../app/hone-context.tsx";
import { asksOthers, type LabStore } from "../../stores/lab-store.ts";
import { PartValues } from "./part-values.tsx";

export function OwnAnswer({ store }: { store: LabStore }) {
  const { t } = useTranslation();
  const { path, text, kind, result } = useStore(store);
  // The row of the first sample: a reward is written for such rows.
  const first = result?.samples[0];
  const [own, setOwn] = useState<{ prompt?: string; answer?: string; row?: string }>({});
  const prompt = own.prompt ?? first?.prompt ?? "";
  const answer = own.answer ?? "";
  const row = own.row ?? JSON.stringify(first?.row ?? { answer: "4" });
  const [tried] = useDebouncedValue({ text, prompt, answer, row }, 400);
  const columns = readRow(tried.row);
  const idle = asksOthers({ kind, text }) || own.answer === undefined || columns === undefined;
  const loaded = useCall(
    "rewards.try",
    {
      path,
      text: tried.text,
      source: { kind: "hand", samples: [{ prompt: tried.prompt, completion: tried.answer, row: columns ?? {} }] },
    },
    { enabled: !idle },
  );
  const scored = idle ? undefined : loaded.value;
  const [sample] = scored?.samples ?? [];
  return (
    <Stack gap="xs" className="hone-card">
      <Title order={2} size="h5">
        {t("rewards.ownAnswer.title")}
      </Title>
      <Textarea
        label={t("rewards.ownAnswer.answer")}
        placeholder={t("rewards.ownAnswer.placeholder")}
        value={answer}
        onChange={(event) => setOwn({ ...own, answer: event.currentTarget.value })}
        autosize
        minRows={2}
        maxRows={8}
      />
      <Group grow align="flex-start">
        <TextInput
          label={t("rewards.ownAnswer.prompt")}
          value={prompt}
          onChange={(event) => setOwn({ ...own, prompt: event.currentTarget.value })}
        />
        <JsonInput
          label={t("rewards.ownAnswer.row")}
          value={row}
          error={readRow(row) === undefined ? t("rewards.ownAnswer.badRow") : undefined}
          onChange={(value) => setOwn({ ...own, row: value })}
          autosize
          maxRows={6}
        />
      </Group>
      <div role="status" aria-live="polite">
        {idle && asksOthers({ kind, text }) && <Text size="sm">{t("rewards.ownAnswer.judge")}</Text>}
        {!idle && scored?.fault != null && (
          <Text size="sm" c="var(--hone-bad)">
            {scored.fault.error.message}
          </Text>
        )}
        {!idle && sample?.reward != null && (
          <Group gap="lg">
            <Text size="sm">
              {t("rewards.reward")} <b className="hone-numbers">{sample.reward.toFixed(3)}</b>
            </Text>
            <PartValues parts={sample.parts} before={null} />
          </Group>
        )}
      </div>
    </Stack>
  );
}

function readRow(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
