/** The board, whose turn it is, what has been played, and what can be done about it. */

import { ActionIcon, Button, Group, Stack, Text, Tooltip } from "@mantine/core";
import { Pause, Play, RotateCcw, Save, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { PlaySide } from "../../../core/contract/api/play-calls.ts";
import { Board } from "../../components/board.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { Term } from "../../components/term.tsx";
import { isOver, playerOf, referenceOf } from "../../stores/play-store.ts";
import { KeepGame } from "./keep-game.tsx";
import { MoveList } from "./move-list.tsx";
import { useOpponentName } from "./opponent-select.tsx";
import classes from "./play.module.css";
import { useGameText } from "./use-game-text.ts";
import { useLens } from "./use-lens.ts";
import { usePlay, usePlayStore } from "./use-play.ts";

export function GameCard() {
  const { t } = useTranslation();
  const store = usePlayStore();
  const state = usePlay((all) => all);
  const [keeping, setKeeping] = useState(false);
  const lens = useLens();
  const text = useGameText(lens);
  const { position, look, moves, forfeit, busy, opponent, shares, hints } = state;
  const looked = look === undefined ? position : lens.position;
  const isTurn = position !== undefined && !isOver(state) && playerOf(state, position.to_move) === undefined;
  const wrong = forfeit === undefined ? undefined : state.answers[moves.length]?.illegal;
  const isWatched = opponent.kind !== "person";
  return (
    <Stack className="hone-card" gap="sm" component="section" aria-label={t("play.game")}>
      <PlayerLine side={state.modelSide === "x" ? "o" : "x"} />
      <Board
        board={looked?.board ?? "........."}
        label={look === undefined ? t("play.board") : t("play.boardBefore", { ply: look + 1 })}
        lastMove={look === undefined ? (moves.at(-1) ?? null) : (moves[look] ?? null)}
        winningLine={look === undefined ? (position?.line ?? null) : null}
        probabilities={shares === "none" ? null : lens.shares}
        values={hints ? (looked?.values ?? null) : null}
        blunders={look === undefined ? blunderSquares(position) : []}
        illegalMove={look === undefined ? (wrong?.square ?? null) : null}
        onPlay={(square) => store.play(square)}
        disabled={!isTurn || busy || look !== undefined}
      />
      <PlayerLine side={state.modelSide} />
      <div className={classes.status} data-tone={text.tone} role="status" data-testid="game-status">
        <Text size="sm" fw={600}>
          {text.title}
        </Text>
        <Text size="sm" className="hone-muted">
          {text.detail}
        </Text>
        <span className="hone-unseen">{text.numbers}</span>
      </div>
      {state.error !== undefined && <ErrorBox error={state.error} onRetry={() => store.moveAgain()} />}
      <Group gap="xs">
        <Button size="xs" leftSection={<RotateCcw size={15} aria-hidden />} onClick={() => store.newGame()}>
          {t("play.newGame")}
        </Button>
        <Button
          size="xs"
          variant="default"
          leftSection={<Undo2 size={15} aria-hidden />}
          disabled={moves.length === 0 && forfeit === undefined}
          onClick={() => store.undo()}
        >
          {t("play.undo")}
        </Button>
        {isWatched && (
          <Tooltip label={state.running ? t("play.pause") : t("play.goOn")}>
            <ActionIcon
              size={30}
              variant="default"
              aria-label={state.running ? t("play.pause") : t("play.goOn")}
              disabled={isOver(state)}
              onClick={() => store.setRunning(!state.running)}
            >
              {state.running ? <Pause size={16} aria-hidden /> : <Play size={16} aria-hidden />}
            </ActionIcon>
          </Tooltip>
        )}
        <Button
          size="xs"
          variant="subtle"
          leftSection={<Save size={15} aria-hidden />}
          disabled={moves.length === 0}
          onClick={() => setKeeping(true)}
        >
          {t("play.keep.open")}
        </Button>
      </Group>
      <MoveList />
      <Text size="xs" className="hone-muted">
        {t("play.keys")}
      </Text>
      <KeepGame opened={keeping} onClose={() => setKeeping(false)} />
    </Stack>
  );
}

function PlayerLine({ side }: { side: PlaySide }) {
  const { t } = useTranslation();
  const opponentName = useOpponentName();
  const state = usePlay((all) => all);
  const isModel = side === state.modelSide;
  const isTurn = !isOver(state) && state.position?.to_move === side;
  return (
    <div className={classes.player} data-turn={isTurn || undefined}>
      <span className={classes.mark} data-mark={side}>
        {side.toUpperCase()}
      </span>
      <Text size="sm" span inherit truncate>
        {isModel ? referenceOf(state) : opponentName(state.opponent)}
      </Text>
      {isModel && side === "o" && (
        <Text size="xs" className="hone-muted" span>
          <Term name="plays_o">{t("play.asO")}</Term>
        </Text>
      )}
    </div>
  );
}

function blunderSquares(position: { moves: { square: number; blunder: boolean }[] } | undefined): number[] {
  return (position?.moves ?? []).filter(({ blunder }) => blunder).map(({ square }) => square);
}
