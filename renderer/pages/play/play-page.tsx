/** Tic-tac-toe against any checkpoint, and what the model thinks of each position at every stage of its training. */

import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import { ErrorBox } from "../../components/error-box.tsx";
import { Page } from "../../components/page.tsx";
import { referenceOf } from "../../stores/play-store.ts";
import { AnswerCard } from "./answer-card.tsx";
import { ChoiceCard } from "./choice-card.tsx";
import { GameCard } from "./game-card.tsx";
import { GameSetup } from "./game-setup.tsx";
import { MatchCard } from "./match-card.tsx";
import classes from "./play.module.css";
import { TrainingCard } from "./training-card.tsx";
import { usePlay, usePlayStore } from "./use-play.ts";

export default function PlayPage() {
  const { t } = useTranslation();
  const store = usePlayStore();
  const asked = new URLSearchParams(useSearch()).get("model");
  const [, navigate] = useLocation();
  const reference = usePlay(referenceOf);
  const lineError = usePlay((state) => state.lineError);
  useEffect(() => {
    const { getState } = store;
    // The address follows the slider too; only another address is a wish.
    if (asked === null || asked !== referenceOf(getState()) || getState().line === undefined) {
      void store.chooseModel(asked ?? getState().model);
    }
  }, [store, asked]);
  useEffect(() => () => store.leave(), [store]);
  useEffect(() => {
    // As the store has it now: the effect above may just have changed it.
    navigate(`/play?model=${encodeURIComponent(referenceOf(store.getState()))}`, { replace: true });
  }, [store, reference, navigate]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key) || isTyping(event.target))
        return;
      event.preventDefault();
      store.play(Number(event.key));
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [store]);
  return (
    <Page title={t("nav.play")} lead={t("play.lead")}>
      <GameSetup />
      {lineError !== undefined && (
        <ErrorBox error={lineError} onRetry={() => void store.chooseModel(store.getState().model)} />
      )}
      <div className={classes.columns}>
        <GameCard />
        <div className={classes.side}>
          <ChoiceCard />
          <TrainingCard />
          <AnswerCard />
        </div>
      </div>
      <MatchCard />
    </Page>
  );
}

/** Where digits are text or values. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest(
      "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable=true], [role=dialog]",
    ) !== null
  );
}
