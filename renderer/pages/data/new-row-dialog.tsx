/** A new row, or one that was set aside and is mended: as JSON, checked before it is kept. */

import { Button, Group, Modal, Stack, Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { isRecord } from "../../../core/contract/is-record.ts";
import { ErrorBox } from "../../components/error-box.tsx";
import type { Changes } from "./use-changes.ts";

interface NewRowDialogProps {
  changes: Changes;
  record: Record<string, unknown>;
  /** What is wrong with it so far. */
  hint?: string;
  onClose: () => void;
  onAdded: (row: number) => void;
}

export function NewRowDialog({ changes, record, hint, onClose, onAdded }: NewRowDialogProps) {
  const { t } = useTranslation();
  const [text, setText] = useState(() => JSON.stringify(record, undefined, 2));
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const read = readRecord(text);
  const add = async () => {
    if (read === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      const { rows } = await changes.make("data.add", { records: [read] });
      onClose();
      onAdded(rows);
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <Modal opened onClose={onClose} title={t("data.row.new")} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <Stack>
          <Textarea
            label={t("data.row.json")}
            description={hint}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void add();
            }}
            error={read === undefined ? t("data.row.noJson") : undefined}
            autosize
            minRows={6}
            maxRows={20}
            data-autofocus
            styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
          />
          {error !== undefined && <ErrorBox error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t("common.cancel")}
            </Button>
            <Button type="submit" disabled={read === undefined} loading={busy}>
              {t("data.row.addThis")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** The object that a text is; undefined when it is none. */
export function readRecord(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
