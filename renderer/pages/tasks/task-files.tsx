/** The files of a task folder in an editor, with a check of the task beside it after every change that is saved. */

import { Alert, Button, Group, Modal, NavLink, Stack, Text, TextInput, Title } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { FilePlus, FileText, Save, TriangleAlert } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { FileEntry, TextFile } from "../../../core/contract/api/task-calls.ts";
import { errorMessage, HoneError } from "../../../core/contract/errors.ts";
import { formatBytes } from "../../../core/contract/units.ts";
import type { TaskCheck } from "../../../core/contract/task.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { CodeEditor, languageOf, type CodeDiagnostic } from "../../components/code-editor.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { placeOf } from "./finding-place.ts";
import { taskCompletions } from "./task-completions.ts";
import { Findings } from "./task-check-view.tsx";
import classes from "./tasks.module.css";

export function TaskFiles({ reference }: { reference: string }) {
  const listed = useCall("tasks.files", { task: reference }, { follow: "tasks" });
  const checked = useCall("tasks.check", { task: reference }, { follow: "tasks" });
  const [file, setFile] = useState("task.json");
  return (
    <LoadedView of={listed}>
      {({ files }) => (
        <div className={classes.files}>
          <FileList reference={reference} files={files} chosen={file} onChoose={setFile} />
          <FileView
            key={file}
            reference={reference}
            file={file}
            entry={files.find(({ name }) => name === file)}
            check={checked.value}
          />
          <LoadedView of={checked}>{(check) => <Findings check={check} />}</LoadedView>
        </div>
      )}
    </LoadedView>
  );
}

interface FileListProps {
  reference: string;
  files: readonly FileEntry[];
  chosen: string;
  onChoose: (file: string) => void;
}

function FileList({ reference, files, chosen, onChoose }: FileListProps) {
  const { t } = useTranslation();
  const api = useApi();
  const [adding, setAdding] = useState(false);
  const [name, setName] = useState("");
  const [error, setError] = useState<unknown>();
  const add = async () => {
    try {
      await api.call("tasks.write_file", { task: reference, file: name, text: "", version: null });
      setAdding(false);
      onChoose(name);
    } catch (failed) {
      setError(failed);
    }
  };
  return (
    <Stack gap="xs" component="nav" aria-label={t("tasks.files.title")}>
      {files.map(({ name: file, size }) => (
        <NavLink
          key={file}
          component="button"
          active={file === chosen}
          label={file}
          description={formatBytes(size)}
          leftSection={<FileText size={16} aria-hidden />}
          onClick={() => onChoose(file)}
        />
      ))}
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={<FilePlus size={14} aria-hidden />}
        onClick={() => {
          setName("");
          setError(undefined);
          setAdding(true);
        }}
      >
        {t("tasks.files.add")}
      </Button>
      <Modal
        opened={adding}
        onClose={() => setAdding(false)}
        title={t("tasks.files.add")}
        closeButtonProps={{ "aria-label": t("common.close") }}
      >
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void add();
          }}
        >
          <Stack>
            <TextInput
              label={t("tasks.files.name")}
              placeholder="environment.ts"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              data-autofocus
              required
            />
            {error !== undefined && <ErrorBox error={error} />}
            <Group justify="flex-end">
              <Button type="submit">{t("common.save")}</Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </Stack>
  );
}

interface FileViewProps {
  reference: string;
  file: string;
  entry: FileEntry | undefined;
  check: TaskCheck | undefined;
}

function FileView({ reference, file, entry, check }: FileViewProps) {
  const { t } = useTranslation();
  const loaded = useCall("tasks.read_file", { task: reference, file }, { enabled: entry?.editable === true });
  if (entry === undefined) return <Text size="sm">{t("tasks.files.gone", { file })}</Text>;
  if (!entry.editable) return <Text size="sm">{t("tasks.files.notEditable", { file })}</Text>;
  return (
    <LoadedView of={loaded}>
      {(content) => (
        <FileEditor
          key={content.version}
          reference={reference}
          file={file}
          opened={content}
          check={check}
          reload={loaded.reload}
        />
      )}
    </LoadedView>
  );
}

interface FileEditorProps {
  reference: string;
  file: string;
  opened: TextFile;
  check: TaskCheck | undefined;
  reload: () => void;
}

/** Milliseconds without a key stroke before the file is saved and checked. */
const pause = 700;

function FileEditor({ reference, file, opened, check, reload }: FileEditorProps) {
  const { t } = useTranslation();
  const api = useApi();
  const [text, setText] = useState(opened.text);
  const [saved, setSaved] = useState(opened);
  const [error, setError] = useState<unknown>();
  const conflict = error instanceof HoneError && error.code === "file-changed";
  // One save after the other: each begins from the version that the one before has written.
  const last = useRef<{ version: string; done: Promise<void> }>({ version: opened.version, done: Promise.resolve() });
  const write = async (content: string, over: boolean) => {
    try {
      const { version } = over ? await api.call("tasks.read_file", { task: reference, file }) : last.current;
      const written = await api.call("tasks.write_file", { task: reference, file, text: content, version });
      last.current.version = written.version;
      setSaved(written);
      setError(undefined);
    } catch (failed) {
      setError(failed);
    }
  };
  const save = (content: string, over = false) => {
    last.current.done = last.current.done.then(() => write(content, over));
  };
  const soon = useDebouncedCallback(save, { delay: pause, flushOnUnmount: true });
  const words = useMemo(() => taskCompletions(file, t), [file, t]);
  const diagnostics = useMemo(() => diagnosticsOf(check, saved), [check, saved]);
  const edited = text !== saved.text;
  return (
    <Stack gap="xs" miw={0}>
      <Group justify="space-between">
        <Title order={2} size="h5">
          {file}
        </Title>
        <Group gap="xs">
          <Text size="sm" className="hone-muted" role="status">
            {edited ? t("tasks.files.edited") : t("tasks.files.saved")}
          </Text>
          <Button
            size="compact-sm"
            variant="default"
            disabled={text === opened.text}
            onClick={() => {
              setText(opened.text);
              save(opened.text);
            }}
          >
            {t("tasks.files.undo")}
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<Save size={14} aria-hidden />}
            disabled={!edited}
            onClick={() => save(text)}
          >
            {t("common.save")}
          </Button>
        </Group>
      </Group>
      {conflict && (
        <Alert color="orange" icon={<TriangleAlert size={16} aria-hidden />} role="alert">
          <Stack gap="xs">
            <Text size="sm">{errorMessage(error)}</Text>
            <Group gap="xs">
              <Button size="compact-sm" variant="default" onClick={reload}>
                {t("tasks.files.theirs")}
              </Button>
              <Button size="compact-sm" variant="default" onClick={() => save(text, true)}>
                {t("tasks.files.mine")}
              </Button>
            </Group>
          </Stack>
        </Alert>
      )}
      {error !== undefined && !conflict && <ErrorBox error={error} />}
      <CodeEditor
        value={text}
        onChange={(value) => {
          setText(value);
          soon(value);
        }}
        language={languageOf(file)}
        label={t("tasks.files.editor", { file })}
        diagnostics={diagnostics}
        completions={words}
        minHeight="420px"
        onSave={() => save(text)}
      />
      <Text size="xs" className="hone-muted">
        {t("rewards.editorKeys")} {t("tasks.files.auto")}
      </Text>
    </Stack>
  );
}

/** Findings that name a place in this file. */
function diagnosticsOf(check: TaskCheck | undefined, { path, text }: TextFile): CodeDiagnostic[] {
  return (check?.findings ?? []).flatMap(({ severity, message, fix }) => {
    const place = placeOf(message, path, text);
    if (place === undefined) return [];
    return [{ ...place, severity: severity === "note" ? ("info" as const) : severity, message: `${message}\n${fix}` }];
  });
}
