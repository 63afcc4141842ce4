/** How thoroughly: three choices, each with exactly what it changes. */

import { Badge, Radio, Stack, Text } from "@mantine/core";
import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";
import { presetOf, presetValues, trainPresets, type TrainPreset } from "../../../core/contract/train-presets.ts";
import { defaultsOf, type CheckedForm } from "../../stores/train-form.ts";
import { useStore } from "zustand";
import { optionLabels } from "../../../core/contract/option-labels.ts";
import type { OptionName } from "../../../core/contract/config.ts";
import type { FormPart } from "./subject-fields.tsx";
import classes from "./train.module.css";

export function PresetChoice({ form, checked }: FormPart) {
  const { t } = useTranslation();
  const { given, origin } = useStore(form);
  const usual = defaultsOf(given, origin);
  const chosen = presetOf(checked.input, usual) ?? null;
  return (
    <Radio.Group
      className="hone-card"
      label={t("train.preset.label")}
      value={chosen}
      onChange={(preset) => form.usePreset(preset)}
    >
      <div className={classes.presets}>
        {trainPresets.map((preset) => (
          <Radio.Card
            key={preset}
            value={preset}
            className={classes.preset}
            aria-label={t(`train.preset.${preset}.name`)}
          >
            <Stack gap={4}>
              <Text fw={600} size="sm" span>
                {t(`train.preset.${preset}.name`)}
              </Text>
              <Text size="xs" className="hone-muted" span>
                {t(`train.preset.${preset}.about`)}
              </Text>
              <Text size="xs" className="hone-numbers" span>
                {changesText(preset, usual, t)}
              </Text>
            </Stack>
          </Radio.Card>
        ))}
      </div>
      {chosen === null && (
        <Badge variant="default" mt="xs">
          {t("train.preset.own")}
        </Badge>
      )}
    </Radio.Group>
  );
}

function changesText(preset: TrainPreset, usual: CheckedForm["defaults"], t: TFunction): string {
  const length = { max_steps: usual.max_steps ?? undefined, num_train_epochs: usual.num_train_epochs ?? undefined };
  const values = { ...length, ...presetValues(preset, usual) };
  return Object.entries(values)
    .flatMap(([name, value]) =>
      value === undefined
        ? []
        : `${t(`options.${name}.label`, { defaultValue: optionLabels[name as OptionName] })}: ${String(value)}`,
    )
    .join(" · ");
}
