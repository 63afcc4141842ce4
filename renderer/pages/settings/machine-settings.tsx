import { NumberInput, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { formatBytes } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { SettingsSection } from "./settings-section.tsx";
import type { SettingsPartProps } from "./settings-page.tsx";

const gigabyte = 2 ** 30;

export function MachineSettings({ settings, onChange }: SettingsPartProps) {
  const { t } = useTranslation();
  const machine = useCall("app.machine", {});
  return (
    <SettingsSection title={t("settings.machine.title")}>
      <LoadedView of={machine}>
        {({ devices, memory_total, memory_free, disk_free }) => (
          <Stack gap="sm">
            {devices.map(({ name, kind, threads, simd }) => (
              <Stack key={name} gap={0}>
                <Text size="sm" fw={600}>
                  {name}
                </Text>
                <Text size="sm" className="hone-muted">
                  {t(`settings.machine.${kind}`, { threads, simd: simd.toUpperCase() })}
                </Text>
              </Stack>
            ))}
            <Text size="sm" className="hone-numbers">
              {t("settings.machine.memory", { free: formatBytes(memory_free), total: formatBytes(memory_total) })}
              {" · "}
              {t("settings.machine.disk", { free: formatBytes(disk_free) })}
            </Text>
            <OptionalNumber
              label={t("settings.machine.threads")}
              description={t("settings.machine.threadsHint")}
              placeholder={t("settings.machine.allThreads", { count: devices[0]?.threads ?? 1 })}
              value={settings.threads}
              max={devices[0]?.threads ?? 1}
              onChange={(threads) => onChange({ threads: threads === null ? null : Math.round(threads) })}
            />
            <OptionalNumber
              label={t("settings.machine.limit")}
              description={t("settings.machine.limitHint")}
              placeholder={t("settings.machine.noLimit")}
              value={settings.memory_limit === null ? null : settings.memory_limit / gigabyte}
              max={Math.floor(memory_total / gigabyte)}
              decimals={1}
              onChange={(limit) => onChange({ memory_limit: limit === null ? null : Math.round(limit * gigabyte) })}
            />
          </Stack>
        )}
      </LoadedView>
    </SettingsSection>
  );
}

interface OptionalNumberProps {
  label: string;
  description: string;
  /** Says what empty means. */
  placeholder: string;
  value: number | null;
  max: number;
  decimals?: number;
  onChange: (value: number | null) => void;
}

/** Kept when the field is left, so that no half-typed number is. */
function OptionalNumber({ value, max, decimals = 0, onChange, ...field }: OptionalNumberProps) {
  const [typed, setTyped] = useState<number | string>();
  return (
    <NumberInput
      {...field}
      value={typed ?? value ?? ""}
      onChange={setTyped}
      onBlur={() => {
        if (typed === undefined) return;
        const chosen = typed === "" ? null : Number(typed);
        setTyped(undefined);
        if (chosen !== value) onChange(chosen);
      }}
      min={decimals === 0 ? 1 : 0.5}
      max={max}
      clampBehavior="strict"
      decimalScale={decimals}
      allowNegative={false}
    />
  );
}
