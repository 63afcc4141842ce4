/** Chooses a model by the word that `--model` takes: the starter, a model on this machine, or a run's checkpoint. */

import { Group, Select, type ComboboxItemGroup, type SelectProps } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { LocalModel } from "../../core/contract/hub.ts";
import type { RunSummary } from "../../core/contract/cli-json.ts";
import { formatBytes, formatDecimal } from "../../core/contract/units.ts";
import { useCall } from "../app/hone-context.tsx";
import { ErrorBox } from "./error-box.tsx";

interface ModelPickerProps extends Pick<SelectProps, "description" | "error" | "required" | "disabled"> {
  label: string;
  /** `starter`, `owner/name`, a path, `RUN` (its best checkpoint) or `RUN:step`; null: nothing chosen. */
  value: string | null;
  onChange: (reference: string) => void;
  /** Whether models that a run has made can be chosen. Default: yes. */
  runs?: boolean;
}

/** Two fields: which model, and for a run which of its checkpoints. A value that is not on the lists stays, as it was given. */
export function ModelPicker({ label, value, onChange, runs = true, ...select }: ModelPickerProps) {
  const { t } = useTranslation();
  const models = useCall("models.list", {}, { follow: "models" });
  const listed = useCall("runs.list", {}, { follow: "runs" });
  const usable = (models.value?.models ?? []).filter(isUsable);
  const trained = runs ? (listed.value?.runs ?? []).filter(({ checkpoints }) => checkpoints.length > 0) : [];
  const { model, run, step } = splitReference(value, trained);
  const groups: ComboboxItemGroup<{ value: string; label: string }>[] = [
    { group: t("common.model.local"), items: usable.map((one) => ({ value: one.reference, label: localLabel(one) })) },
    { group: t("common.model.runs"), items: trained.map(({ name }) => ({ value: name, label: name })) },
  ];
  const known = groups.some(({ items }) => items.some((item) => item.value === model));
  if (model !== null && !known)
    groups.push({ group: t("common.model.given"), items: [{ value: model, label: model }] });
  const failed = models.state === "failed" ? models : listed.state === "failed" ? listed : undefined;
  return (
    <>
      <Group gap="xs" align="flex-start" wrap="nowrap">
        <Select
          {...select}
          flex={1}
          label={label}
          data={groups.filter(({ items }) => items.length > 0)}
          value={model}
          onChange={(chosen) => {
            if (chosen !== null) onChange(chosen);
          }}
          searchable
          maxDropdownHeight={360}
          nothingFoundMessage={t("common.model.none")}
          placeholder={models.state === "loading" ? t("common.loading") : t("common.model.choose")}
        />
        {run !== undefined && (
          <Select
            w={190}
            label={t("common.model.checkpoint")}
            disabled={select.disabled === true}
            data={stepChoices(run, t)}
            value={step}
            onChange={(chosen) => {
              if (chosen !== null) onChange(chosen === "best" ? run.name : `${run.name}:${chosen}`);
            }}
            searchable
            maxDropdownHeight={360}
          />
        )}
      </Group>
      {failed !== undefined && <ErrorBox error={failed.error} onRetry={failed.reload} />}
    </>
  );
}

function isUsable(model: LocalModel): boolean {
  return model.kind === "model" && model.complete && model.unsupported === null;
}

function localLabel({ name, quant, bytes }: LocalModel): string {
  return [name, quant, formatBytes(bytes)].filter((part) => part !== null).join(" · ");
}

/** `RUN:step` is told apart from a path with a colon by the list of runs. */
function splitReference(
  value: string | null,
  runs: readonly RunSummary[],
): { model: string | null; run?: RunSummary; step: string } {
  if (value === null) return { model: null, step: "best" };
  const whole = runs.find(({ name }) => name === value);
  if (whole !== undefined) return { model: value, run: whole, step: "best" };
  const colon = value.lastIndexOf(":");
  const run = runs.find(({ name }) => name === value.slice(0, colon));
  if (colon < 0 || run === undefined) return { model: value, step: "best" };
  const step = value.slice(colon + 1);
  return { model: run.name, run, step: step === "last" ? String(run.checkpoints.at(-1)) : step };
}

function stepChoices({ best, checkpoints }: RunSummary, t: ReturnType<typeof useTranslation>["t"]) {
  const newestFirst = [...checkpoints].reverse().map((step) => ({
    value: String(step),
    label: t("common.model.step", { step }),
  }));
  return [
    {
      value: "best",
      label:
        best === null
          ? t("common.model.newest")
          : t("common.model.best", { step: best.step, value: formatDecimal(best.value) }),
    },
    ...newestFirst,
    { value: "0", label: t("common.model.start") },
  ];
}
