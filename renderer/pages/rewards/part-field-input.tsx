/** One option of a part, with the input that suits its type. */

import { Autocomplete, JsonInput, NumberInput, Select, Switch, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { PartField } from "./part-fields.ts";

interface PartFieldInputProps {
  field: PartField;
  /** As it stands in the file; undefined: what is usual counts. */
  value: unknown;
  columns: readonly string[];
  disabled: boolean;
  onChange: (value: unknown) => void;
}

export function PartFieldInput({ field, value, columns, disabled, onChange }: PartFieldInputProps) {
  const { t } = useTranslation();
  const { name, kind, required, usual } = field;
  const common = {
    label: t(`rewards.option.${name}.label`),
    description: t(`rewards.option.${name}.hint`),
    required,
    disabled,
    size: "sm",
  } as const;
  const orNothing = (text: string) => onChange(text === "" ? undefined : text);
  switch (kind) {
    case "switch":
      return (
        <Switch
          {...common}
          checked={typeof value === "boolean" ? value : usual === true}
          onChange={(event) => {
            const on = event.currentTarget.checked;
            onChange(on === usual ? undefined : on);
          }}
        />
      );
    case "number":
      return (
        <NumberInput
          {...common}
          value={typeof value === "number" ? value : typeof usual === "number" ? usual : ""}
          {...(field.min !== null && { min: field.min })}
          {...(field.max !== null && { max: field.max })}
          onChange={(given) => onChange(typeof given === "number" && given !== usual ? given : undefined)}
        />
      );
    case "choice":
      return (
        <Select
          {...common}
          data={[...field.choices]}
          value={typeof value === "string" ? value : typeof usual === "string" ? usual : null}
          onChange={(given) => onChange(given === null || given === usual ? undefined : given)}
          allowDeselect={false}
        />
      );
    case "list":
      return (
        <TagsInput
          {...common}
          value={Array.isArray(value) ? value.map(String) : Array.isArray(usual) ? usual.map(String) : []}
          onChange={(list) => onChange(list.length === 0 ? undefined : list)}
        />
      );
    case "column":
      return (
        <Autocomplete
          {...common}
          data={[...columns]}
          value={typeof value === "string" ? value : ""}
          placeholder="answer"
          onChange={orNothing}
        />
      );
    case "long":
      return (
        <Textarea
          {...common}
          autosize
          minRows={2}
          maxRows={8}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => orNothing(event.currentTarget.value)}
        />
      );
    case "text":
      return (
        <TextInput
          {...common}
          value={typeof value === "string" ? value : typeof usual === "string" ? usual : ""}
          spellCheck={false}
          onChange={(event) => {
            // A required text may stand empty while it is written: the trial says what is wrong.
            const given = event.currentTarget.value;
            if (required) onChange(given);
            else orNothing(given);
          }}
        />
      );
    case "json":
      return <JsonField {...{ ...common, value, onChange }} />;
  }
}

interface JsonFieldProps {
  label: string;
  description: string;
  required: boolean;
  disabled: boolean;
  size: "sm";
  value: unknown;
  onChange: (value: unknown) => void;
}

/** Keeps what is typed until it is JSON; a plain word is taken for a text. */
function JsonField({ value, onChange, ...common }: JsonFieldProps) {
  const { t } = useTranslation();
  const shown = value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  const [text, setText] = useState(shown);
  useEffect(() => {
    setText((before) => (sameJson(before, value) ? before : shown));
  }, [shown, value]);
  const open = /^\s*[[{"]/.test(text) && parsed(text) === undefined;
  return (
    <JsonInput
      {...common}
      autosize
      minRows={1}
      maxRows={12}
      value={text}
      error={open ? t("rewards.form.notJson") : undefined}
      onChange={(given) => {
        setText(given);
        if (given.trim() === "") onChange(undefined);
        else if (parsed(given) !== undefined) onChange(parsed(given));
        else if (!/^\s*[[{"]/.test(given)) onChange(given);
      }}
    />
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function sameJson(text: string, value: unknown): boolean {
  if (text === "") return value === undefined;
  if (text === value) return true;
  const read = parsed(text);
  return read === undefined ? /^\s*[[{"]/.test(text) : JSON.stringify(read) === JSON.stringify(value);
}
