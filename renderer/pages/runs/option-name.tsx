/** An option by its plain name with TRL's beside it; its sentence as a tooltip. */

import { Text, Tooltip } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { optionMeta, runConfigSchema, type OptionName as Name } from "../../../core/contract/config.ts";
import { optionLabels } from "../../../core/contract/option-labels.ts";

export function OptionName({ name }: { name: Name }) {
  const { t } = useTranslation();
  const help = optionMeta.get(runConfigSchema.shape[name])?.help ?? "";
  return (
    <Tooltip label={t(`options.${name}.help`, { defaultValue: help })}>
      <Text span size="sm" tabIndex={0}>
        {t(`options.${name}.label`, { defaultValue: optionLabels[name] })}{" "}
        <Text span size="xs" className="hone-muted" ff="monospace">
          {name}
        </Text>
      </Text>
    </Tooltip>
  );
}
