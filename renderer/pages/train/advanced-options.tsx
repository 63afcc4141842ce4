/** Every option that the method uses, in groups, to be searched by either of its names or its sentence. */

import { Stack, Switch, Text, TextInput, Title } from "@mantine/core";
import { Search } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import {
  isUsed,
  optionGroups,
  optionMeta,
  optionNames,
  runConfigSchema,
  type OptionGroup,
  type OptionName,
} from "../../../core/contract/config.ts";
import { methodOf } from "../../stores/train-form.ts";
import { OptionField, useOptionWords } from "./option-field.tsx";
import type { FormPart } from "./subject-fields.tsx";
import classes from "./train.module.css";

/** These have fields of their own above. */
const elsewhere: readonly OptionName[] = ["model", "task", "method", "reward"];

export function AdvancedOptions({ form, given, checked }: FormPart) {
  const { t } = useTranslation();
  const words = useOptionWords();
  const [search, setSearch] = useState("");
  const [onlyChanged, setOnlyChanged] = useState(false);
  const { defaults, errors, changed } = checked;
  const finetuning =
    given.finetuning_type === "full" || given.finetuning_type === "lora" ? given.finetuning_type : null;
  const kind = { method: methodOf(given), finetuning_type: finetuning ?? defaults.finetuning_type };
  const wanted = search.trim().toLowerCase();
  const matches = (name: OptionName) => {
    const { label, help } = words(name);
    return [name, label, help].some((text) => text.toLowerCase().includes(wanted));
  };
  const shown = optionNames.filter(
    (name) =>
      errors[name] !== undefined ||
      (isUsed(name, kind) &&
        !elsewhere.includes(name) &&
        (!onlyChanged || changed.includes(name)) &&
        (wanted === "" || matches(name))),
  );
  const groups = (Object.keys(optionGroups) as OptionGroup[]).flatMap((group) => {
    const names = shown.filter((name) => optionMeta.get(runConfigSchema.shape[name])?.group === group);
    return names.length === 0 ? [] : [{ group, names }];
  });
  return (
    <Stack gap="md">
      <div className={classes.pair}>
        <TextInput
          label={t("train.advanced.search")}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          leftSection={<Search size={14} aria-hidden />}
          placeholder="learning_rate"
        />
        <Switch
          mt={28}
          label={t("train.advanced.onlyChanged", { count: changed.length })}
          checked={onlyChanged}
          onChange={(event) => setOnlyChanged(event.currentTarget.checked)}
        />
      </div>
      <Text size="xs" className="hone-muted" role="status">
        {t("train.advanced.found", { count: shown.length })}
      </Text>
      {groups.map(({ group, names }) => (
        <Stack key={group} gap="xs" component="section" aria-label={t(`train.group.${group}`)}>
          <Title order={2} size="h6">
            {t(`train.group.${group}`)}
          </Title>
          <div className={classes.options}>
            {names.map((name) => (
              <OptionField
                key={name}
                form={form}
                name={name}
                given={given}
                usual={(defaults as Partial<Record<OptionName, unknown>>)[name]}
                isChanged={changed.includes(name)}
                error={errors[name]}
              />
            ))}
          </div>
        </Stack>
      ))}
    </Stack>
  );
}
