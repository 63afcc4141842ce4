/** A new task: from a template, or from one's own data. */

import { Button, Group, Modal, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { DataColumns } from "../../../core/contract/api/task-calls.ts";
import { taskTemplateNames } from "../../../core/contract/api/task-calls.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { ChoiceCards } from "../../components/choice-cards.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { PathPicker } from "../../components/path-picker.tsx";
import { taskLink } from "./task-links.ts";

type Template = (typeof taskTemplateNames)[number];

export function NewTask({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t("tasks.new")}
      size="lg"
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <NewTaskForm onClose={onClose} />
    </Modal>
  );
}

function NewTaskForm({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const api = useApi();
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const [template, setTemplate] = useState<Template>("qa");
  const [folder, setFolder] = useState("");
  const [source, setSource] = useState("");
  const [prompt, setPrompt] = useState<string | null>(null);
  const [answer, setAnswer] = useState<string | null>(null);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [looked] = useDebouncedValue(source, 300);
  const columns = useCall("tasks.columns", { source: looked === "" ? "-" : looked }, { enabled: looked !== "" });
  const known = looked === "" ? undefined : columns.value;
  const asked = prompt ?? (known === undefined || known.has_prompt ? null : usualPrompt(known));
  const right = answer ?? (known === undefined ? null : usualAnswer(known));
  const make = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const { reference } = await api.call("tasks.create", {
        name,
        template,
        folder: folder === "" ? null : folder,
        data: template === "data" ? { source, prompt: asked, answer: right } : null,
      });
      onClose();
      navigate(taskLink(reference, "files"));
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
    >
      <Stack>
        <TextInput
          label={t("tasks.make.name")}
          description={t("tasks.make.nameHint")}
          placeholder="my-task"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          spellCheck={false}
          data-autofocus
          required
        />
        <ChoiceCards
          label={t("tasks.make.template")}
          value={template}
          onChange={setTemplate}
          choices={taskTemplateNames.map((value) => ({
            value,
            title: t(`tasks.template.${value}.title`),
            text: t(`tasks.template.${value}.text`),
          }))}
        />
        {template === "data" && (
          <>
            <PathPicker
              kind="file"
              extensions={["jsonl", "ndjson", "json", "csv", "tsv", "parquet"]}
              label={t("tasks.make.source")}
              description={t("tasks.make.sourceHint")}
              value={source}
              onChange={setSource}
              required
            />
            {columns.state === "failed" && looked !== "" && <ErrorBox error={columns.error} />}
            {known !== undefined && (
              <>
                <Text size="sm" className="hone-muted">
                  {t("tasks.make.rows", {
                    count: known.rows,
                    columns: known.columns.map((one) => one.name).join(", "),
                  })}
                </Text>
                {!known.has_prompt && (
                  <Textarea
                    label={t("tasks.make.prompt")}
                    description={t("tasks.make.promptHint")}
                    value={asked ?? ""}
                    onChange={(event) => setPrompt(event.currentTarget.value)}
                    autosize
                    minRows={2}
                    required
                  />
                )}
                <Select
                  label={t("tasks.make.answer")}
                  description={t("tasks.make.answerHint")}
                  data={known.columns.map((one) => ({
                    value: one.name,
                    label: `${one.name}: ${one.sample.slice(0, 60)}`,
                  }))}
                  value={right}
                  onChange={setAnswer}
                  clearable
                />
              </>
            )}
          </>
        )}
        <PathPicker
          kind="folder"
          label={t("tasks.make.folder")}
          description={t("tasks.make.folderHint")}
          value={folder}
          onChange={setFolder}
        />
        {error !== undefined && <ErrorBox error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("common.cancel")}
          </Button>
          <Button type="submit" loading={busy} disabled={name === "" || (template === "data" && known === undefined)}>
            {t("tasks.make.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The first column, to be changed. */
function usualPrompt({ columns }: DataColumns): string {
  return columns
    .slice(0, 1)
    .map(({ name }) => `{{${name}}}`)
    .join("");
}

function usualAnswer({ columns }: DataColumns): string | null {
  return columns.find(({ name }) => ["answer", "label", "target", "output", "completion"].includes(name))?.name ?? null;
}
