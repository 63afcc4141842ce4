/** A game against the lesson's model, before or after its training. */

import { Button, Group, Stack, Text } from "@mantine/core";
import { RotateCcw } from "lucide-react";
import { useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import { useApi } from "../../app/hone-context.tsx";
import { Board } from "../../components/board.tsx";
import { Conversation } from "../../components/conversation.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { createPlayStore, isOver, type PlayState } from "../../stores/play-store.ts";
import type { ActivityProps } from "./activity-props.ts";
import classes from "./play-activity.module.css";

export function PlayActivity({ lesson, step, store: lessonStore, onDone }: ActivityProps<"play">) {
  const { t } = useTranslation();
  const run = useStore(lessonStore, ({ progress }) => progress.run);
  const model = step.model === "base" ? lesson.model : run;
  if (model === null) return <Text>{t("tutorial.play.untrained")}</Text>;
  return <Game key={model} model={model} onDone={onDone} />;
}

function Game({ model, onDone }: { model: string; onDone: () => void }) {
  const { t } = useTranslation();
  const api = useApi();
  const store = useMemo(() => createPlayStore(api), [api]);
  const state = useStore(store);
  const { position, moves, answers, busy, error, lineError } = state;
  const over = isOver(state);
  useEffect(() => {
    void store.chooseModel(model);
    return () => store.leave();
  }, [store, model]);
  useEffect(() => {
    if (over) onDone();
  }, [over, onDone]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const inBoard = event.target instanceof HTMLElement && event.target.closest("input, textarea, [role=dialog]");
      if (inBoard || event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key)) return;
      event.preventDefault();
      store.play(Number(event.key));
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [store]);

  const newest = Math.max(-1, ...Object.keys(answers).map(Number));
  const answer = answers[newest]?.answer ?? null;
  return (
    <div className={classes.game}>
      <Stack gap="sm">
        <Board
          board={position?.board ?? "........."}
          label={t("play.board")}
          size="medium"
          lastMove={moves.at(-1) ?? null}
          winningLine={position?.line ?? null}
          illegalMove={answers[moves.length]?.illegal?.square ?? null}
          onPlay={(square) => store.play(square)}
          disabled={busy || over}
        />
        <Text fw={600} role="status" data-testid="lesson-game">
          {statusOf(state, t)}
        </Text>
        <Group>
          <Button
            variant="default"
            leftSection={<RotateCcw size={15} aria-hidden />}
            onClick={() => store.newGame()}
            disabled={moves.length === 0 && !over}
          >
            {over ? t("tutorial.play.again") : t("tutorial.play.new")}
          </Button>
        </Group>
        {(error ?? lineError) !== undefined && (
          <ErrorBox error={error ?? lineError} onRetry={() => void store.chooseModel(model)} />
        )}
      </Stack>
      <Stack gap="xs" miw={0}>
        {answer !== null && (
          <>
            <Text fw={600} size="sm">
              {t("tutorial.play.wrote")}
            </Text>
            <Conversation
              label={t("tutorial.play.wrote")}
              messages={[
                ...answer.prompt.filter(({ role }) => role === "user").slice(-1),
                { role: "assistant", content: answer.text },
              ]}
            />
          </>
        )}
      </Stack>
    </div>
  );
}

function statusOf(state: PlayState, t: (key: string) => string): string {
  const { position, forfeit, modelSide, busy } = state;
  if (forfeit !== undefined) return t("tutorial.play.illegal");
  const result = position?.result ?? null;
  if (result === "draw") return t("tutorial.play.draw");
  if (result !== null) return t(result === modelSide ? "tutorial.play.lost" : "tutorial.play.won");
  return busy || position === undefined || position.to_move === modelSide
    ? t("tutorial.play.thinking")
    : t("tutorial.play.yourTurn");
}
