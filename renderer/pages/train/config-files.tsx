/** The same run without a window: as a command, and as a file. */

import { Button, Code, CopyButton, Group, Stack, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { Check, Copy, FolderOpen, Save } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { trainCommand } from "../../../core/contract/train-command.ts";
import { useApi } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { usePickPath } from "../../components/use-pick-path.tsx";
import type { CheckedForm, TrainForm } from "../../stores/train-form.ts";

export function ConfigFiles({ form, checked }: { form: TrainForm; checked: CheckedForm }) {
  const { t } = useTranslation();
  const api = useApi();
  const { pick, pickSave, dialog } = usePickPath();
  const [error, setError] = useState<unknown>();
  const command = trainCommand(checked.input);
  const act = async (work: () => Promise<void>) => {
    setError(undefined);
    try {
      await work();
    } catch (failed) {
      setError(failed);
    }
  };
  const open = async () => {
    const [path] = await pick({ kind: "file", title: t("train.files.open"), extensions: ["json"] });
    if (path !== undefined) form.replace(await api.call("train.read_config", { path }));
  };
  const save = async () => {
    const path = await pickSave({ title: t("train.files.save"), name: "train.json" });
    if (path === null) return;
    await api.call("train.write_config", { path, config: checked.input });
    notifications.show({ message: t("train.files.saved", { path }) });
  };
  return (
    <Stack gap="xs" className="hone-card" component="section" aria-label={t("train.files.title")}>
      <Title order={2} size="h6">
        {t("train.files.title")}
      </Title>
      <Code block tabIndex={0} style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {command}
      </Code>
      <Group gap="xs">
        <CopyButton value={command}>
          {({ copied, copy }) => (
            <Button
              size="compact-sm"
              variant="default"
              disabled={checked.config === null}
              leftSection={copied ? <Check size={13} aria-hidden /> : <Copy size={13} aria-hidden />}
              onClick={copy}
            >
              {copied ? t("train.files.copied") : t("train.files.copy")}
            </Button>
          )}
        </CopyButton>
        <Button
          size="compact-sm"
          variant="default"
          disabled={checked.config === null}
          leftSection={<Save size={13} aria-hidden />}
          onClick={() => void act(save)}
        >
          {t("train.files.save")}
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<FolderOpen size={13} aria-hidden />}
          onClick={() => void act(open)}
        >
          {t("train.files.open")}
        </Button>
      </Group>
      <Text size="xs" className="hone-muted">
        {t("train.files.about")}
      </Text>
      {dialog}
      {error !== undefined && <ErrorBox error={error} />}
    </Stack>
  );
}
