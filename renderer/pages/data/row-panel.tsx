/** The chosen row: its fields to edit, the same as JSON, and as the tokens that training sees. */

import { Button, Group, Stack, Tabs, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { DatasetView } from "../../../core/contract/api/data-calls.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { ErrorBox } from "../../components/error-box.tsx";
import { isMessages, MessagesEditor } from "./messages-editor.tsx";
import { readRecord } from "./new-row-dialog.tsx";
import { TokensView } from "./tokens-view.tsx";
import type { RowDraft } from "./use-row-draft.ts";
import classes from "./data.module.css";

/** Of the field of a column, to go there. */
export function fieldId(column: string): string {
  return `data-field-${column}`;
}

interface RowPanelProps {
  view: DatasetView;
  row: number | null;
  draft: RowDraft;
}

export function RowPanel({ view, row, draft }: RowPanelProps) {
  const { t } = useTranslation();
  const [tab, setTab] = useState<string | null>("fields");
  const frame = `hone-card ${classes.panel}`;
  if (row === null) {
    return (
      <div className={frame}>
        <Text className="hone-muted">{t("data.row.none")}</Text>
        <Text className="hone-muted" size="sm" mt="sm">
          {t("data.row.keys")}
        </Text>
      </div>
    );
  }
  return (
    <section
      className={frame}
      aria-label={t("data.row.title", { row: formatCount(row) })}
      onKeyDown={(event) => {
        if (!draft.dirty) return;
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void draft.save();
        else if (event.key === "Escape") draft.revert();
      }}
    >
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap" mih={30}>
          <Text fw={600}>{t("data.row.title", { row: formatCount(row) })}</Text>
          {draft.dirty && (
            <Group gap={6} wrap="nowrap">
              <Button size="compact-sm" variant="default" onClick={draft.revert}>
                {t("data.row.revert")}
              </Button>
              <Button size="compact-sm" loading={draft.saving} onClick={() => void draft.save()}>
                {t("common.save")}
              </Button>
            </Group>
          )}
        </Group>
        {draft.error !== undefined && <ErrorBox error={draft.error} />}
        {draft.view !== undefined && (
          <Tabs value={tab} onChange={setTab} keepMounted={false}>
            <Tabs.List mb="sm">
              <Tabs.Tab value="fields">{t("data.row.fields")}</Tabs.Tab>
              <Tabs.Tab value="tokens">{t("data.row.tokens")}</Tabs.Tab>
              <Tabs.Tab value="json">JSON</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="fields">
              <Fields draft={draft} />
            </Tabs.Panel>
            <Tabs.Panel value="tokens">
              <TokensView name={view.name} row={row} point={draft.view.point} dirty={draft.dirty} />
            </Tabs.Panel>
            <Tabs.Panel value="json">
              <JsonField
                key={row}
                value={draft.record}
                label={t("data.row.json")}
                onChange={(value) => draft.set(value as Row)}
                whole
              />
            </Tabs.Panel>
          </Tabs>
        )}
      </Stack>
    </section>
  );
}

type Row = Record<string, unknown>;

function Fields({ draft: { record, set } }: { draft: RowDraft }) {
  const { t } = useTranslation();
  return (
    <Stack gap="sm">
      {Object.entries(record).map(([column, value]) => {
        const change = (next: unknown) => set({ ...record, [column]: next });
        if (isMessages(value)) {
          return <MessagesEditor key={column} id={fieldId(column)} label={column} messages={value} onChange={change} />;
        }
        if (typeof value === "string") {
          return (
            <Textarea
              key={column}
              id={fieldId(column)}
              label={column}
              value={value}
              onChange={(event) => change(event.currentTarget.value)}
              autosize
              minRows={1}
              maxRows={16}
            />
          );
        }
        return <JsonField key={column} id={fieldId(column)} label={column} value={value} onChange={change} />;
      })}
      <Text size="xs" className="hone-muted">
        {t("data.row.saveKeys")}
      </Text>
    </Stack>
  );
}

interface JsonFieldProps {
  id?: string;
  label: string;
  value: unknown;
  onChange: (value: unknown) => void;
  /** Only an object will do. */
  whole?: boolean;
}

/** What is no text, as JSON; what is no JSON yet is kept here until it is. */
function JsonField({ id, label, value, onChange, whole = false }: JsonFieldProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState<string>();
  const own = JSON.stringify(value, undefined, whole ? 2 : undefined);
  const bad = typed !== undefined && read(typed, whole) === undefined;
  return (
    <Textarea
      {...(id !== undefined && { id })}
      label={label}
      value={typed ?? own}
      error={bad ? t(whole ? "data.row.noJson" : "data.row.noValue") : undefined}
      onChange={(event) => {
        const text = event.currentTarget.value;
        setTyped(text);
        const found = read(text, whole);
        if (found !== undefined) onChange(found.value);
      }}
      onBlur={() => {
        if (!bad) setTyped(undefined);
      }}
      autosize
      minRows={1}
      maxRows={24}
      spellCheck={false}
      styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
    />
  );
}

function read(text: string, whole: boolean): { value: unknown } | undefined {
  if (whole) {
    const record = readRecord(text);
    return record === undefined ? undefined : { value: record };
  }
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
