/** Which column is what: as detected, or as the person says. */

import { Button, Group, Select } from "@mantine/core";
import { Wand2 } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { DataInspection } from "../../../core/contract/api/data-calls.ts";

/** Fields that a person can name columns for; the last of each list may be left out. */
const fieldsOf: Record<string, { needed: string[]; optional: string[] }> = {
  messages: { needed: ["messages"], optional: ["system", "tools"] },
  completion: { needed: ["prompt", "completion"], optional: ["system", "tools"] },
  preference: { needed: ["prompt", "chosen", "rejected"], optional: ["system", "tools"] },
  prompt: { needed: ["prompt"], optional: ["system", "tools"] },
  text: { needed: ["text"], optional: [] },
};

interface MappingFormProps {
  file: DataInspection;
  map: Record<string, string>;
  onMap: (map: Record<string, string>) => void;
}

export function MappingForm({ file, map, onMap }: MappingFormProps) {
  const { t } = useTranslation();
  const [shape, setShape] = useState<string>("auto");
  /** May be incomplete; only a complete one is given on. */
  const [chosen, setChosen] = useState<Record<string, string>>({});
  const fields = fieldsOf[shape];

  const tell = (next: Record<string, string>, of: string) => {
    setChosen(next);
    if (fieldsOf[of]?.needed.every((field) => next[field] !== undefined) === true) onMap(next);
  };
  const chooseShape = (next: string) => {
    setShape(next);
    if (next === "auto") {
      setChosen({});
      return onMap({});
    }
    const { needed, optional } = fieldsOf[next];
    const known = { ...file.suggestion, ...file.mapping, ...map };
    const kept = [...needed, ...optional].flatMap((field) =>
      known[field] === undefined ? [] : [[field, known[field]]],
    );
    tell(Object.fromEntries(kept) as Record<string, string>, next);
  };
  const { suggestion } = file;
  const takeSuggestion = () => {
    if (suggestion === null) return;
    const fits = Object.entries(fieldsOf).find(([, { needed }]) => needed.join() === Object.keys(suggestion).join());
    if (fits === undefined) return;
    setShape(fits[0]);
    tell(suggestion, fits[0]);
  };
  // Where nothing else is known the guess is the beginning: it is seen here, and nothing is copied yet.
  useEffect(() => {
    if (file.shape === null) takeSuggestion();
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  return (
    <Group align="flex-end" gap="sm">
      <Select
        label={t("data.map.rowsAre")}
        w={250}
        data={["auto", ...Object.keys(fieldsOf)].map((value) => ({
          value,
          label: value === "auto" ? t("data.map.auto") : t(`data.shape.${value}`),
        }))}
        value={shape}
        onChange={(value) => {
          if (value !== null) chooseShape(value);
        }}
      />
      {fields !== undefined &&
        [...fields.needed, ...fields.optional].map((field) => (
          <Select
            key={field}
            w={170}
            label={t(`data.field.${field}`)}
            data={[...file.columns]}
            value={chosen[field] ?? null}
            placeholder={t(fields.needed.includes(field) ? "data.map.choose" : "data.map.none")}
            required={fields.needed.includes(field)}
            clearable={fields.optional.includes(field)}
            onChange={(column) => {
              const next = Object.fromEntries(Object.entries(chosen).filter(([one]) => one !== field));
              tell(column === null ? next : { ...next, [field]: column }, shape);
            }}
          />
        ))}
      {shape === "auto" && suggestion !== null && (
        <Button variant="light" leftSection={<Wand2 size={16} aria-hidden />} onClick={takeSuggestion}>
          {t("data.map.suggest", {
            mapping: Object.entries(suggestion)
              .map(([field, column]) => `${column} → ${t(`data.field.${field}`)}`)
              .join(", "),
          })}
        </Button>
      )}
    </Group>
  );
}
