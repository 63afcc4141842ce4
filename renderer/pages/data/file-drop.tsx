/** Where a file of rows comes from: dropped, chosen, pasted, or its path typed. Each leads to the import of that file. */

import { Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { useWindowEvent } from "@mantine/hooks";
import { ClipboardPaste, FolderOpen } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { useApi } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { usePickPath } from "../../components/use-pick-path.tsx";
import classes from "./data.module.css";

export const dataExtensions = ["jsonl", "ndjson", "json", "csv", "tsv", "tab", "parquet", "txt", "md"];

export function FileDrop({ large = false }: { large?: boolean }) {
  const { t } = useTranslation();
  const api = useApi();
  const [, navigate] = useLocation();
  const { pick, dialog } = usePickPath();
  const [over, setOver] = useState(false);
  const [pasting, setPasting] = useState(false);
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  const open = async (find: () => Promise<string | undefined>) => {
    setBusy(true);
    setError(undefined);
    try {
      const path = await find();
      if (path !== undefined) navigate(`/data/-/import?file=${encodeURIComponent(path)}`);
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  // A file that misses the frame must not be opened by the browser.
  useWindowEvent("dragover", (event) => event.preventDefault());
  useWindowEvent("drop", (event) => event.preventDefault());
  const choose = () =>
    open(async () => (await pick({ kind: "file", title: t("data.import.choose"), extensions: dataExtensions }))[0]);

  return (
    <Stack gap="sm">
      <div
        className={classes.drop}
        data-over={over}
        data-large={large}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          const [file] = event.dataTransfer.files;
          if (file !== undefined) void open(() => api.shell.pathOf(file));
        }}
      >
        <div>
          <Text fw={500}>{t("data.import.drop")}</Text>
          <Text size="sm" className="hone-muted">
            {t("data.import.formats")}
          </Text>
        </div>
        <Group gap="xs">
          <Button
            variant="default"
            leftSection={<FolderOpen size={16} aria-hidden />}
            loading={busy}
            onClick={() => void choose()}
          >
            {t("data.import.choose")}
          </Button>
          <Button
            variant="default"
            leftSection={<ClipboardPaste size={16} aria-hidden />}
            aria-expanded={pasting}
            onClick={() => setPasting(!pasting)}
          >
            {t("data.import.paste")}
          </Button>
        </Group>
      </div>
      {pasting && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void open(async () => (await api.call("data.paste", { text })).path);
          }}
        >
          <Stack gap="xs">
            <Textarea
              label={t("data.import.pasteLabel")}
              placeholder={'{"prompt": "…", "completion": "…"}'}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              autosize
              minRows={4}
              maxRows={14}
              data-autofocus
              styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
            />
            <Group justify="flex-end">
              <Button type="submit" disabled={text.trim() === ""} loading={busy}>
                {t("data.import.look")}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
      {error !== undefined && <ErrorBox error={error} />}
      {dialog}
    </Stack>
  );
}
