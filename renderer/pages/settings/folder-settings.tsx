import { ActionIcon, Button, Code, Group, Stack, Text, Tooltip } from "@mantine/core";
import { FolderPlus, SquareArrowOutUpRight, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useApi, useApp } from "../../app/hone-context.tsx";
import { usePickPath } from "../../components/use-pick-path.tsx";
import { SettingsSection } from "./settings-section.tsx";
import type { SettingsPartProps } from "./settings-page.tsx";

export function FolderSettings({ settings, onChange }: SettingsPartProps) {
  const { t } = useTranslation();
  const { shell } = useApi();
  const info = useApp((state) => state.info);
  const { pick, dialog } = usePickPath();
  const folders = settings.model_folders;
  const add = async () => {
    const [path] = await pick({ kind: "folder", title: t("settings.folders.add") });
    if (path !== undefined && !folders.includes(path)) onChange({ model_folders: [...folders, path] });
  };
  return (
    <SettingsSection title={t("settings.folders.title")}>
      <Stack gap={2}>
        <Text size="sm" fw={600}>
          {t("settings.folders.home")}
        </Text>
        <Group gap="xs" wrap="nowrap">
          <Code>{info?.home}</Code>
          {shell.reveal !== undefined && info !== undefined && (
            <Tooltip label={t("settings.folders.reveal")}>
              <ActionIcon
                variant="subtle"
                aria-label={t("settings.folders.reveal")}
                onClick={() => void shell.reveal?.(info.home)}
              >
                <SquareArrowOutUpRight size={16} aria-hidden />
              </ActionIcon>
            </Tooltip>
          )}
        </Group>
        <Text size="sm" className="hone-muted">
          {t("settings.folders.homeHint")}
        </Text>
      </Stack>
      <Stack gap={4}>
        <Text size="sm" fw={600}>
          {t("settings.folders.models")}
        </Text>
        <Text size="sm" className="hone-muted">
          {t("settings.folders.modelsHint")}
        </Text>
        {folders.map((folder) => (
          <Group key={folder} gap="xs" wrap="nowrap" justify="space-between">
            <Code>{folder}</Code>
            <ActionIcon
              variant="subtle"
              aria-label={t("settings.folders.remove", { folder })}
              onClick={() => onChange({ model_folders: folders.filter((other) => other !== folder) })}
            >
              <X size={16} aria-hidden />
            </ActionIcon>
          </Group>
        ))}
        <Group>
          <Button variant="default" leftSection={<FolderPlus size={16} aria-hidden />} onClick={() => void add()}>
            {t("settings.folders.add")}
          </Button>
        </Group>
      </Stack>
      {dialog}
    </SettingsSection>
  );
}
