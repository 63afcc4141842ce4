/** Models that are somewhere on this machine already: their folder is looked at from now on. Nothing is copied. */

import { Button, Group, Stack, Text } from "@mantine/core";
import { useWindowEvent } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { File as FileIcon, FolderPlus } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useApi } from "../../app/hone-context.tsx";
import { useAction } from "../../components/use-action.tsx";
import { usePickPath } from "../../components/use-pick-path.tsx";
import classes from "./models.module.css";

export function AddModels() {
  const { t } = useTranslation();
  const api = useApi();
  const { pick, dialog } = usePickPath();
  const { run, busy, problem } = useAction();
  const [over, setOver] = useState(false);
  const [noPath, setNoPath] = useState(false);
  useWindowEvent("dragover", (event) => event.preventDefault());
  useWindowEvent("drop", (event) => event.preventDefault());

  const add = (path: string) => {
    run(async () => {
      const { folder, models } = await api.call("models.add_folder", { path });
      notifications.show({
        title: t("models.add.done", { count: models }),
        message: folder,
        color: "teal",
        closeButtonProps: { "aria-label": t("common.close") },
      });
    });
  };
  const choose = (kind: "folder" | "file") => async () => {
    setNoPath(false);
    const [path] = await pick({
      kind,
      title: t(`models.add.${kind}`),
      ...(kind === "file" && { extensions: ["gguf"] }),
    });
    if (path !== undefined) add(path);
  };
  const drop = (file: File) => {
    // A browser tells no path, and to send it the file would be a copy that nobody asked for.
    if (api.host === "browser") setNoPath(true);
    else void api.shell.pathOf(file).then(add);
  };
  return (
    <Stack gap="xs">
      <div
        className={classes.drop}
        data-over={over}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          const [file] = event.dataTransfer.files;
          if (file !== undefined) drop(file);
        }}
      >
        <div>
          <Text fw={500}>{t("models.add.title")}</Text>
          <Text size="sm" className="hone-muted">
            {t("models.add.text")}
          </Text>
        </div>
        <Group gap="xs">
          <Button
            variant="default"
            leftSection={<FolderPlus size={16} aria-hidden />}
            loading={busy}
            onClick={() => void choose("folder")()}
          >
            {t("models.add.folder")}
          </Button>
          <Button
            variant="default"
            leftSection={<FileIcon size={16} aria-hidden />}
            disabled={busy}
            onClick={() => void choose("file")()}
          >
            {t("models.add.file")}
          </Button>
        </Group>
      </div>
      {noPath && (
        <Text size="sm" c="var(--hone-warn)" role="status">
          {t("models.add.noPath")}
        </Text>
      )}
      {problem}
      {dialog}
    </Stack>
  );
}
