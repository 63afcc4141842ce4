/** Answers that a person writes to try a reward on: lines of a small table. */

import { ActionIcon, Button, Stack, Table, Textarea, TextInput } from "@mantine/core";
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { HandSample, LabSource } from "../../../core/contract/api/reward-calls.ts";

type HandSource = Extract<LabSource, { kind: "hand" }>;

export function HandSamples({ source, onChange }: { source: HandSource; onChange: (source: HandSource) => void }) {
  const { t } = useTranslation();
  const { samples } = source;
  const write = (changed: HandSample[]) => onChange({ kind: "hand", samples: changed });
  const set = (place: number, change: Partial<HandSample>) =>
    write(samples.map((sample, i) => (i === place ? { ...sample, ...change } : sample)));
  return (
    <Stack gap="xs">
      <Table aria-label={t("rewards.source.hand")} verticalSpacing={4} horizontalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("rewards.hand.prompt")}</Table.Th>
            <Table.Th>{t("rewards.hand.answer")}</Table.Th>
            <Table.Th>{t("rewards.hand.row")}</Table.Th>
            <Table.Th w={32}>
              <span className="hone-unseen">{t("rewards.hand.remove")}</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {samples.map((sample, i) => (
            <Table.Tr key={i}>
              <Table.Td>
                <Textarea
                  size="xs"
                  autosize
                  maxRows={4}
                  value={sample.prompt}
                  aria-label={t("rewards.hand.promptOf", { number: i + 1 })}
                  onChange={(event) => set(i, { prompt: event.currentTarget.value })}
                />
              </Table.Td>
              <Table.Td>
                <Textarea
                  size="xs"
                  autosize
                  maxRows={4}
                  value={sample.completion}
                  aria-label={t("rewards.hand.answerOf", { number: i + 1 })}
                  onChange={(event) => set(i, { completion: event.currentTarget.value })}
                />
              </Table.Td>
              <Table.Td>
                <RowInput
                  row={sample.row}
                  label={t("rewards.hand.rowOf", { number: i + 1 })}
                  onChange={(row) => set(i, { row })}
                />
              </Table.Td>
              <Table.Td>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  disabled={samples.length === 1}
                  onClick={() => write(samples.filter((_, j) => j !== i))}
                  aria-label={t("rewards.hand.removeOne", { number: i + 1 })}
                >
                  <X size={14} aria-hidden />
                </ActionIcon>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={<Plus size={14} aria-hidden />}
        style={{ alignSelf: "flex-start" }}
        onClick={() => write([...samples, { ...(samples.at(-1) ?? { prompt: "", row: {} }), completion: "" }])}
      >
        {t("rewards.hand.add")}
      </Button>
    </Stack>
  );
}

interface RowInputProps {
  row: Record<string, unknown>;
  label: string;
  onChange: (row: Record<string, unknown>) => void;
}

/** What is typed stays until it is an object. */
function RowInput({ row, label, onChange }: RowInputProps) {
  const { t } = useTranslation();
  const [text, setText] = useState(JSON.stringify(row));
  const [bad, setBad] = useState(false);
  return (
    <TextInput
      size="xs"
      aria-label={label}
      value={text}
      error={bad && t("rewards.ownAnswer.badRow")}
      spellCheck={false}
      onChange={(event) => {
        const given = event.currentTarget.value;
        setText(given);
        try {
          const value: unknown = JSON.parse(given);
          const right = typeof value === "object" && value !== null && !Array.isArray(value);
          setBad(!right);
          if (right) onChange(value as Record<string, unknown>);
        } catch {
          setBad(true);
        }
      }}
    />
  );
}
