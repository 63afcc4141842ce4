/** One option: its plain name, its TRL name, one sentence, whether it differs from its default, and what is wrong with it. */

import { ActionIcon, Select, Stack, Switch, Text, TextInput, Tooltip } from "@mantine/core";
import { RotateCcw } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { optionMeta, runConfigSchema, type OptionName } from "../../../core/contract/config.ts";
import { kindOf } from "../../../core/contract/option-kind.ts";
import { optionLabels } from "../../../core/contract/option-labels.ts";
import { parseBytes } from "../../../core/contract/units.ts";
import type { FieldError, Given, TrainForm } from "../../stores/train-form.ts";
import classes from "./train.module.css";

interface OptionFieldProps {
  form: TrainForm;
  name: OptionName;
  given: Given;
  usual: unknown;
  isChanged: boolean;
  error: FieldError | undefined;
}

export function OptionField({ form, name, given, usual, isChanged, error }: OptionFieldProps) {
  const { t } = useTranslation();
  const words = useOptionWords();
  const errorText = useFieldError();
  const { label, help } = words(name);
  const schema = runConfigSchema.shape[name];
  const kind = kindOf(schema);
  const value = given[name];
  const common = {
    label: (
      <span className={classes.label}>
        <span className={isChanged ? classes.changed : undefined}>{label}</span>
        <Text span size="xs" ff="monospace" className="hone-muted">
          {name}
        </Text>
        {isChanged && <span className="hone-unseen">{t("train.advanced.changed")}</span>}
      </span>
    ),
    description: help,
    error: errorText(error),
  };
  const reset = value !== undefined && (
    <Tooltip label={t("train.advanced.reset", { value: shown(usual, t) })}>
      <ActionIcon
        variant="subtle"
        size="sm"
        aria-label={t("train.advanced.resetOf", { label, value: shown(usual, t) })}
        onClick={() => form.set(name, undefined)}
      >
        <RotateCcw size={13} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
  if (kind.type === "boolean" || kind.type === "choice") {
    const isNullable = schema.safeParse(null).success;
    const choices = kind.type === "choice" ? [...kind.values] : ["true", "false"];
    if (kind.type === "boolean" && !isNullable) {
      return (
        <Stack gap={4}>
          <Switch
            {...common}
            checked={(value ?? usual) === true}
            onChange={(event) => form.set(name, event.currentTarget.checked)}
          />
          <span>{reset}</span>
        </Stack>
      );
    }
    const now = value ?? usual;
    return (
      <Select
        {...common}
        data={[
          ...(isNullable ? [{ value: "", label: t("train.advanced.automatic") }] : []),
          ...choices.map((one) => ({ value: one, label: one })),
        ]}
        value={now == null ? "" : textOf(now)}
        onChange={(text) => form.set(name, choiceValue(text, kind.type === "boolean"))}
        rightSection={reset}
      />
    );
  }
  return <TextField name={name} form={form} value={value} usual={usual} common={common} reset={reset} />;
}

function choiceValue(text: string | null, isBoolean: boolean): unknown {
  if (text === null || text === "") return undefined;
  return isBoolean ? text === "true" : text;
}

interface TextFieldProps {
  name: OptionName;
  form: TrainForm;
  value: unknown;
  usual: unknown;
  common: object;
  reset: React.ReactNode;
}

/** Numbers are typed as text, so that `3e-4` is one, and what is none is shown with its error and not swallowed. */
function TextField({ name, form, value, usual, common, reset }: TextFieldProps) {
  const { t } = useTranslation();
  const written = value === undefined ? "" : textOf(value);
  const [text, setText] = useState(written);
  // What was typed and what is kept may be written differently: `1e-3` and `0.001`.
  useEffect(() => {
    setText((before) => (sameText(name, before, value) ? before : written));
  }, [name, value, written]);
  return (
    <TextInput
      {...common}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        form.set(name, valueOf(name, event.currentTarget.value));
      }}
      placeholder={shown(usual, t)}
      rightSection={reset}
      spellCheck={false}
    />
  );
}

function sameText(name: OptionName, text: string, value: unknown): boolean {
  return JSON.stringify(valueOf(name, text)) === JSON.stringify(value);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

function valueOf(name: OptionName, text: string): unknown {
  if (text.trim() === "") return undefined;
  const { type } = kindOf(runConfigSchema.shape[name]);
  if (name === "memory_limit") return parseBytes(text) ?? text;
  if (type === "number") return Number.isNaN(Number(text)) ? text : Number(text);
  if (type !== "list") return text;
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function shown(value: unknown, t: (key: string) => string): string {
  return value == null ? t("train.advanced.automatic") : textOf(value);
}

/** The plain name and the sentence of an option, in the person's language. */
export function useOptionWords(): (name: OptionName) => { label: string; help: string } {
  const { t } = useTranslation();
  return (name) => ({
    label: t(`options.${name}.label`, { defaultValue: optionLabels[name] }),
    help: capitalized(
      t(`options.${name}.help`, { defaultValue: optionMeta.get(runConfigSchema.shape[name])?.help ?? "" }),
    ),
  });
}

/** The sentences are written to stand behind a flag's name. */
function capitalized(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

export function useFieldError(): (error: FieldError | undefined) => string | undefined {
  const { t } = useTranslation();
  return (error) => {
    if (error === undefined) return undefined;
    if (error.kind !== "other") return t(`train.error.${error.kind}`, { bound: error.bound });
    return [error.text, error.fix].flatMap((part) => (part === undefined ? [] : capitalized(part))).join(". ");
  };
}
