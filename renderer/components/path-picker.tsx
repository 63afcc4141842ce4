/** A field for the path of a file or folder on this machine: typed, or chosen. */

import { ActionIcon, TextInput, Tooltip, type TextInputProps } from "@mantine/core";
import { FolderOpen } from "lucide-react";
import { useTranslation } from "react-i18next";
import { usePickPath, type PickOptions } from "./use-pick-path.tsx";

interface PathPickerProps
  extends
    Pick<PickOptions, "kind" | "extensions">,
    Pick<TextInputProps, "description" | "error" | "placeholder" | "required" | "disabled"> {
  label: string;
  /** Empty: nothing chosen. */
  value: string;
  onChange: (path: string) => void;
}

export function PathPicker({ kind, extensions, label, value, onChange, ...input }: PathPickerProps) {
  const { t } = useTranslation();
  const { pick, dialog } = usePickPath();
  const choose = async () => {
    const [path] = await pick({ kind, title: label, ...(extensions !== undefined && { extensions }) });
    if (path !== undefined) onChange(path);
  };
  return (
    <>
      <TextInput
        {...input}
        label={label}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        spellCheck={false}
        rightSection={
          <Tooltip label={t("common.path.choose")}>
            <ActionIcon
              variant="subtle"
              disabled={input.disabled === true}
              onClick={() => void choose()}
              aria-label={t("common.path.chooseFor", { label })}
            >
              <FolderOpen size={16} aria-hidden />
            </ActionIcon>
          </Tooltip>
        }
      />
      {dialog}
    </>
  );
}
