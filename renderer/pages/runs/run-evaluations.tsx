/** What was measured before, while and after training. */

import { SegmentedControl, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import { useCall } from "../../app/hone-context.tsx";
import { EvaluationTable } from "../../components/evaluation-table.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";

const parts = ["held-out", "validation"] as const;

export function RunEvaluations({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  const [part, setPart] = useState<string>(parts[0]);
  const loaded = useCall("runs.evaluations", { run: run.name, name: part }, { follow: "evaluations" });
  return (
    <Stack gap="sm">
      <SegmentedControl
        data={parts.map((value) => ({ value, label: t(`runs.evaluations.${value}`) }))}
        value={part}
        onChange={setPart}
        aria-label={t("runs.evaluations.part")}
        w="fit-content"
      />
      <Text size="sm" className="hone-muted" maw={720}>
        {t(`runs.evaluations.about.${part}`)}
      </Text>
      <LoadedView of={loaded}>
        {({ evaluations, change }) => {
          const [first, last] = [evaluations.at(0), evaluations.at(-1)];
          if (first === undefined || last === undefined) return <Text>{t("runs.evaluations.none")}</Text>;
          const shown = first === last ? [first] : [first, last];
          return (
            <Stack gap="sm" className="hone-card">
              {change?.reward != null && (
                <Text fw={600} role="status">
                  {t(verdict(change.reward), {
                    mean: signed(change.reward.mean),
                    lo: signed(change.reward.lo),
                    hi: signed(change.reward.hi),
                  })}
                </Text>
              )}
              <EvaluationTable
                reports={shown.map(({ step, report }) => ({
                  label: step === 0 ? t("runs.evaluations.before") : t("runs.evaluations.after", { step }),
                  report,
                }))}
              />
            </Stack>
          );
        }}
      </LoadedView>
    </Stack>
  );
}

/** A change whose interval holds 0 may be chance. */
function verdict({ lo, hi }: { lo: number; hi: number }): string {
  return lo > 0 ? "runs.evaluations.better" : hi < 0 ? "runs.evaluations.worse" : "runs.evaluations.unclear";
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
}
