/** What the model makes of the position that is looked at, at the present checkpoint. */

import { Button, Checkbox, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { StepForward } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Term } from "../../components/term.tsx";
import { OddsBar } from "./odds-bar.tsx";
import { useLens } from "./use-lens.ts";
import { usePlay, usePlayStore } from "./use-play.ts";

export function ChoiceCard() {
  const { t } = useTranslation();
  const store = usePlayStore();
  const shares = usePlay((state) => state.shares);
  const hints = usePlay((state) => state.hints);
  const lens = useLens();
  return (
    <Stack className="hone-card" gap="sm" component="section" aria-label={t("play.odds.title")}>
      <Group justify="space-between" gap="xs">
        <Text fw={600}>{t("play.odds.title")}</Text>
        <Group gap="md">
          <Checkbox
            size="sm"
            checked={hints}
            onChange={(event) => store.show({ hints: event.currentTarget.checked })}
            label={t("play.hints")}
          />
          <SegmentedControl
            size="xs"
            aria-label={t("play.shares.label")}
            value={shares}
            onChange={(kind) => store.show({ shares: kind })}
            data={(["all", "exact", "none"] as const).map((kind) => ({
              value: kind,
              label: t(`play.shares.${kind}`),
            }))}
          />
        </Group>
      </Group>
      <OddsBar lens={lens} />
      {hints && (
        <Text size="xs" className="hone-muted">
          {t("play.hintsWhat")} <Term name="minimax" />
        </Text>
      )}
      {lens.canMoveAgain && (
        <Group>
          <Button
            variant="light"
            size="compact-sm"
            leftSection={<StepForward size={14} aria-hidden />}
            onClick={() => store.moveAgain()}
          >
            {t("play.moveAgain", { model: lens.label })}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
