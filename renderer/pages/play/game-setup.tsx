/** Who plays: the model, its opponent, the sides, and how the model draws its answers. */

import { Input, NumberInput, SegmentedControl, Stack } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { ModelPicker } from "../../components/model-picker.tsx";
import { Term } from "../../components/term.tsx";
import { referenceOf } from "../../stores/play-store.ts";
import { OpponentSelect } from "./opponent-select.tsx";
import classes from "./game-setup.module.css";
import { usePlay, usePlayStore } from "./use-play.ts";

export function GameSetup() {
  const { t } = useTranslation();
  const store = usePlayStore();
  const reference = usePlay(referenceOf);
  const line = usePlay((state) => state.line);
  const opponent = usePlay((state) => state.opponent);
  const modelSide = usePlay((state) => state.modelSide);
  const temperature = usePlay((state) => state.temperature);
  return (
    <section className={`hone-card ${classes.setup}`} aria-label={t("play.setup")}>
      <div className={classes.model}>
        <ModelPicker label={t("play.model")} value={reference} onChange={(model) => void store.chooseModel(model)} />
      </div>
      <div className={classes.opponent}>
        <OpponentSelect
          label={t("play.opponent.label")}
          value={opponent}
          onChange={(chosen) => store.chooseOpponent(chosen)}
          line={line}
        />
      </div>
      <Stack gap={4}>
        <Input.Label component="div" id="play-side">
          {t("play.modelSide")}
        </Input.Label>
        <SegmentedControl
          aria-labelledby="play-side"
          value={modelSide}
          onChange={(side) => store.chooseSide(side)}
          data={[
            { value: "x", label: t("play.side.x") },
            { value: "o", label: t("play.side.o") },
          ]}
        />
      </Stack>
      <NumberInput
        className={classes.temperature}
        label={<Term name="temperature" />}
        aria-label={t("terms.temperature.word")}
        value={temperature}
        onChange={(value) => {
          if (typeof value === "number") store.chooseTemperature(value);
        }}
        min={0}
        max={5}
        step={0.1}
        clampBehavior="strict"
      />
    </section>
  );
}
