/** Who plays against the model: the person, a fixed player, its own beginning, an earlier self, or any other model. */

import { Select, Stack } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { TrainingLine } from "../../../core/contract/api/play-calls.ts";
import { ModelPicker } from "../../components/model-picker.tsx";
import type { Opponent } from "../../stores/play-store.ts";

interface OpponentSelectProps {
  label: string;
  value: Opponent;
  onChange: (opponent: Opponent) => void;
  line: TrainingLine | undefined;
  /** Default true. */
  person?: boolean;
}

export function OpponentSelect({ label, value, onChange, line, person = true }: OpponentSelectProps) {
  const { t } = useTranslation();
  const checkpoints = line?.run == null ? [] : line.checkpoints;
  const option = (kind: Exclude<Opponent["kind"], "self">) => ({ value: kind, label: t(`play.opponent.${kind}`) });
  const groups = [
    {
      group: t("play.opponent.fixed"),
      items: [...(person ? [option("person")] : []), option("random"), option("minimax")],
    },
    ...(checkpoints.length > 0
      ? [
          {
            group: t("play.opponent.sameRun"),
            items: [
              option("base"),
              ...checkpoints
                .filter(({ step }) => step !== null && step > 0)
                .map(({ step }) => ({ value: `self:${step}`, label: t("play.opponent.self", { step }) })),
            ],
          },
        ]
      : []),
    { group: t("play.opponent.others"), items: [option("model")] },
  ];
  const choose = (chosen: string | null) => {
    if (chosen === null) return;
    if (chosen.startsWith("self:")) onChange({ kind: "self", step: Number(chosen.slice(5)) });
    else if (chosen === "model") onChange({ kind: "model", model: "starter" });
    else onChange({ kind: chosen as "person" | "random" | "minimax" | "base" });
  };
  return (
    <Stack gap="xs">
      <Select
        label={label}
        data={groups}
        value={value.kind === "self" ? `self:${value.step}` : value.kind}
        onChange={choose}
        maxDropdownHeight={360}
      />
      {value.kind === "model" && (
        <ModelPicker
          label={t("play.opponent.which")}
          value={value.model}
          onChange={(model) => onChange({ kind: "model", model })}
        />
      )}
    </Stack>
  );
}

/** The opponent's name in a sentence. */
export function useOpponentName(): (opponent: Opponent) => string {
  const { t } = useTranslation();
  return (opponent) =>
    opponent.kind === "self"
      ? t("play.opponent.self", { step: opponent.step })
      : opponent.kind === "model"
        ? opponent.model
        : t(`play.opponent.${opponent.kind}`);
}
