/** Hone's own picker of files and folders, for a browser window: it looks at the machine that Hone runs on. */

import { Button, Checkbox, Group, Modal, NavLink, ScrollArea, Stack, Text, TextInput } from "@mantine/core";
import { CornerLeftUp, File, Folder } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { FolderListing } from "../../core/contract/api/app-calls.ts";
import { formatBytes } from "../../core/contract/units.ts";
import { useCall } from "../app/hone-context.tsx";
import { LoadedView } from "./loaded-view.tsx";
import type { PickOptions } from "./use-pick-path.tsx";

export type PathQuestion = PickOptions | { kind: "save"; title: string; name: string };

interface PathDialogProps {
  question: PathQuestion;
  /** Empty when the dialog was closed without an answer. */
  onAnswer: (paths: string[]) => void;
}

export function PathDialog({ question, onAnswer }: PathDialogProps) {
  const { t } = useTranslation();
  const [path, setPath] = useState<string>();
  const [typed, setTyped] = useState<string>();
  const [chosen, setChosen] = useState<string[]>([]);
  const [name, setName] = useState(question.kind === "save" ? question.name : "");
  const listing = useCall("files.list", {
    ...(path !== undefined && { path }),
    kind: question.kind === "folder" ? "folder" : "file",
  });
  const many = question.kind === "file" && question.many === true;
  const goTo = (folder: string) => {
    setPath(folder);
    setTyped(undefined);
  };
  const folder = listing.value?.path;
  const answer =
    question.kind === "file"
      ? chosen
      : folder === undefined
        ? []
        : question.kind === "folder"
          ? [folder]
          : name.trim() === ""
            ? []
            : [joinPath(folder, name.trim())];
  return (
    <Modal opened onClose={() => onAnswer([])} title={question.title} size="lg">
      <Stack gap="sm">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (typed !== undefined) goTo(typed);
          }}
        >
          <TextInput
            label={t("common.path.folder")}
            value={typed ?? folder ?? path ?? ""}
            onChange={(event) => setTyped(event.currentTarget.value)}
            spellCheck={false}
            description={t("common.path.folderHint")}
          />
        </form>
        <LoadedView of={listing}>
          {(found) => (
            <Entries
              listing={found}
              extensions={question.kind === "file" ? question.extensions : undefined}
              many={many}
              chosen={chosen}
              onFolder={goTo}
              onFile={(file) => {
                if (question.kind === "save") setName(baseName(file));
                else if (many) setChosen(chosen.includes(file) ? without(chosen, file) : [...chosen, file]);
                else onAnswer([file]);
              }}
            />
          )}
        </LoadedView>
        {question.kind === "save" && (
          <TextInput
            label={t("common.path.fileName")}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={() => onAnswer([])}>
            {t("common.cancel")}
          </Button>
          {(question.kind !== "file" || many) && (
            <Button disabled={answer.length === 0} onClick={() => onAnswer(answer)}>
              {question.kind === "save"
                ? t("common.save")
                : question.kind === "folder"
                  ? t("common.path.takeFolder")
                  : t("common.path.takeFiles", { count: chosen.length })}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

interface EntriesProps {
  listing: FolderListing;
  extensions: string[] | undefined;
  many: boolean;
  chosen: readonly string[];
  onFolder: (path: string) => void;
  onFile: (path: string) => void;
}

function Entries({ listing, extensions, many, chosen, onFolder, onFile }: EntriesProps) {
  const { t } = useTranslation();
  const entries = listing.entries.filter(
    ({ kind, name }) =>
      kind === "folder" || extensions === undefined || extensions.some((end) => name.toLowerCase().endsWith(`.${end}`)),
  );
  return (
    <Stack gap="xs">
      <Group gap="xs">
        {listing.places.map(({ name, path }) => (
          <Button key={path} size="compact-xs" variant="default" onClick={() => onFolder(path)}>
            {t(`common.path.place.${name}`, { defaultValue: name })}
          </Button>
        ))}
      </Group>
      <ScrollArea h={320} type="auto" className="hone-card" p={4}>
        {listing.parent !== null && (
          <NavLink
            component="button"
            type="button"
            label={t("common.path.up")}
            leftSection={<CornerLeftUp size={16} aria-hidden />}
            onClick={() => listing.parent !== null && onFolder(listing.parent)}
          />
        )}
        {entries.map(({ name, path, kind, size }) => (
          <NavLink
            key={path}
            component="button"
            type="button"
            label={name}
            {...(kind === "file" && many && { "aria-pressed": chosen.includes(path) })}
            leftSection={
              kind === "folder" ? (
                <Folder size={16} aria-label={t("common.path.aFolder")} />
              ) : many ? (
                <Checkbox checked={chosen.includes(path)} readOnly tabIndex={-1} size="xs" aria-hidden />
              ) : (
                <File size={16} aria-hidden />
              )
            }
            rightSection={
              kind === "file" && (
                <Text size="xs" className="hone-muted hone-numbers">
                  {formatBytes(size)}
                </Text>
              )
            }
            onClick={() => (kind === "folder" ? onFolder(path) : onFile(path))}
          />
        ))}
        {entries.length === 0 && (
          <Text p="sm" size="sm" className="hone-muted">
            {t("common.path.empty")}
          </Text>
        )}
      </ScrollArea>
    </Stack>
  );
}

/** The machine's own way of writing paths is told apart by the folder that it gave. */
function joinPath(folder: string, name: string): string {
  const separator = folder.includes("\\") ? "\\" : "/";
  return folder.endsWith(separator) ? `${folder}${name}` : `${folder}${separator}${name}`;
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? path;
}

function without(list: readonly string[], one: string): string[] {
  return list.filter((other) => other !== one);
}
