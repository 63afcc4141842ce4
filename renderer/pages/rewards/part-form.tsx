/** A reward of built-in parts as a form. The JSON text stays what counts: the form reads it and writes it. */

import { ActionIcon, Button, Group, Menu, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { ChevronDown, ChevronUp, Plus, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import { PartFieldInput } from "./part-field-input.tsx";
import { newPart, partFields, partTypes, readParts, withOption, writeParts, type PartValue } from "./part-fields.ts";
import classes from "./rewards.module.css";

interface PartFormProps {
  text: string;
  onChange: (text: string) => void;
  /** Of the rows that the reward is tried on, to choose from. */
  columns: readonly string[];
  disabled: boolean;
}

export function PartForm({ text, onChange, columns, disabled }: PartFormProps) {
  const { t } = useTranslation();
  const parts = readParts(text);
  if (parts === undefined) return <Text size="sm">{t("rewards.form.unreadable")}</Text>;
  const write = (changed: readonly PartValue[]) => onChange(writeParts(changed));
  return (
    <Stack gap="sm">
      <Text size="sm" className="hone-muted">
        {t("rewards.form.sum")}
      </Text>
      {parts.map((part, i) => (
        <PartCard
          // Parts have no identity but their place.
          key={i}
          part={part}
          place={i}
          last={parts.length - 1}
          columns={columns}
          disabled={disabled}
          onChange={(changed) => write(parts.map((one, j) => (j === i ? changed : one)))}
          onRemove={() => write(parts.filter((_, j) => j !== i))}
        />
      ))}
      <Menu position="bottom-start" width={380}>
        <Menu.Target>
          <Button variant="default" leftSection={<Plus size={16} aria-hidden />} disabled={disabled}>
            {t("rewards.form.add")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah="50vh" style={{ overflowY: "auto" }}>
          {partTypes.map((type) => (
            <Menu.Item key={type} onClick={() => write([...parts, newPart(type, parts)])}>
              <Text size="sm" fw={600}>
                {t(`rewards.type.${type}.name`)}
              </Text>
              <Text size="xs" className="hone-muted">
                {t(`rewards.type.${type}.what`)}
              </Text>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </Stack>
  );
}

interface PartCardProps {
  part: PartValue;
  place: number;
  last: number;
  columns: readonly string[];
  disabled: boolean;
  onChange: (part: PartValue) => void;
  onRemove: () => void;
}

/** Options that are seen at once; the others are one click away. */
const always = [
  "column",
  "value",
  "pattern",
  "max",
  "min",
  "schema",
  "required",
  "forbidden",
  "file",
  "command",
  "url",
  "model",
  "tags",
];

function PartCard({ part, place, last, columns, disabled, onChange, onRemove }: PartCardProps) {
  const { t } = useTranslation();
  const [open, { toggle }] = useDisclosure(false);
  const name = typeof part["name"] === "string" ? part["name"] : part.type;
  const fields = partFields(part.type).filter((field) => field.name !== "name" && field.name !== "weight");
  const shown = fields.filter((field) => open || field.required || always.includes(field.name));
  const hidden = fields.length - fields.filter((field) => field.required || always.includes(field.name)).length;
  const set = (option: string, value: unknown) => onChange(withOption(part, option, value));
  return (
    <Stack
      gap="xs"
      className={classes.part}
      role="group"
      aria-label={t("rewards.form.part", { number: place + 1, name })}
    >
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div>
          <Text fw={600} size="sm">
            {t(`rewards.type.${part.type}.name`)}
          </Text>
          <Text size="xs" className="hone-muted">
            {t(`rewards.type.${part.type}.what`)}
          </Text>
        </div>
        <ActionIcon
          variant="subtle"
          color="gray"
          disabled={disabled || last === 0}
          onClick={onRemove}
          aria-label={t("rewards.form.remove", { name })}
        >
          <Trash2 size={16} aria-hidden />
        </ActionIcon>
      </Group>
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <NumberInput
          label={t("terms.reward_weight.word")}
          value={typeof part["weight"] === "number" ? part["weight"] : 1}
          onChange={(value) => {
            if (typeof value === "number") set("weight", value === 1 ? undefined : value);
          }}
          step={0.1}
          w={110}
          disabled={disabled}
        />
        <TextInput
          label={t("rewards.option.name.label")}
          value={name}
          onChange={(event) => {
            const value = event.currentTarget.value;
            set("name", value === part.type || value === "" ? undefined : value);
          }}
          disabled={disabled}
          style={{ flex: 1 }}
        />
      </Group>
      {shown.map((field) => (
        <PartFieldInput
          key={field.name}
          field={field}
          value={part[field.name]}
          columns={columns}
          disabled={disabled}
          onChange={(value) => set(field.name, value)}
        />
      ))}
      {hidden > 0 && (
        <Button
          variant="subtle"
          size="compact-xs"
          onClick={toggle}
          aria-expanded={open}
          leftSection={open ? <ChevronUp size={14} aria-hidden /> : <ChevronDown size={14} aria-hidden />}
          style={{ alignSelf: "flex-start" }}
        >
          {open ? t("rewards.form.less") : t("rewards.form.more", { count: hidden })}
        </Button>
      )}
    </Stack>
  );
}
