/** What is going on, in words: for the eye, and for who listens. */

import { useTranslation } from "react-i18next";
import { percent } from "../../components/board.tsx";
import { isOver, lastModelPly, playerOf, referenceOf, sideAt } from "../../stores/play-store.ts";
import { useOpponentName } from "./opponent-select.tsx";
import { usePlay } from "./use-play.ts";
import type { Lens } from "./use-lens.ts";

export interface GameText {
  title: string;
  detail: string;
  /** Read out only. */
  numbers: string;
  tone: "good" | "bad" | "you" | "plain";
}

export function useGameText(lens: Lens): GameText {
  const { t } = useTranslation();
  const opponentName = useOpponentName();
  const state = usePlay((all) => all);
  const { position, moves, modelSide, opponent, busy, writing, answers } = state;
  const isPerson = opponent.kind === "person";
  /** Who made a move may be another checkpoint than the present one. */
  const madeBy = (ply: number) => answers[ply]?.answer?.model ?? nameOf(sideAt(ply));
  const nameOf = (side: "x" | "o") => (side === modelSide ? referenceOf(state) : opponentName(opponent));
  const ply = lastModelPly(state);
  const played = ply === undefined ? undefined : moves[ply];
  const share = played === undefined ? undefined : lens.shares?.[played - 1];
  const numbers =
    played === undefined
      ? ""
      : share === undefined
        ? t("play.said.move", { square: played })
        : t("play.said.moveShare", { square: played, share: percent(share) });
  if (position === undefined) return { title: t("common.loading"), detail: "", numbers: "", tone: "plain" };
  if (state.forfeit !== undefined) {
    const side = state.forfeit;
    const illegal = answers[moves.length]?.illegal ?? null;
    const what =
      illegal?.failure === "occupied"
        ? t("play.failure.occupiedSquare", { square: illegal.square })
        : t(`play.failure.${illegal?.failure ?? "no_call"}`);
    return {
      title:
        side === modelSide && isPerson
          ? t("play.end.youWinForfeit")
          : t("play.end.forfeit", { winner: nameOf(side === "x" ? "o" : "x") }),
      detail: t("play.end.forfeitWhy", { name: madeBy(moves.length), what }),
      numbers: "",
      tone: side === modelSide ? "good" : "bad",
    };
  }
  if (position.result !== null) {
    const { result } = position;
    if (result === "draw") return { title: t("play.end.draw"), detail: t("play.end.drawWhy"), numbers, tone: "plain" };
    const isModel = result === modelSide;
    return {
      title: isModel || !isPerson ? t("play.end.wins", { name: nameOf(result) }) : t("play.end.youWin"),
      detail: t("play.end.line", { squares: (position.line ?? []).join(" ") }),
      numbers,
      tone: isModel ? "bad" : "good",
    };
  }
  const last = position.moves.at(-1);
  const lastText =
    last === undefined
      ? t("play.turn.first")
      : last.side === modelSide || !isPerson
        ? t("play.turn.played", { name: madeBy(moves.length - 1), square: last.square })
        : t("play.turn.youPlayed", { square: last.square });
  const verdict =
    last === undefined ? "" : last.missed_win ? t("play.turn.missedWin") : last.blunder ? t("play.turn.blunder") : "";
  const detail = [lastText, verdict].filter((part) => part !== "").join(" ");
  if (busy) {
    const name = nameOf(position.to_move);
    return {
      title:
        writing === undefined
          ? t("play.turn.thinks", { name })
          : t("play.turn.writes", { name, count: writing.tokens }),
      detail,
      numbers: "",
      tone: "plain",
    };
  }
  const isYours = playerOf(state, position.to_move) === undefined && !isOver(state);
  return {
    title: isYours
      ? t("play.turn.yours", { side: sideAt(moves.length).toUpperCase() })
      : t("play.turn.paused", { name: nameOf(position.to_move) }),
    detail,
    numbers,
    tone: isYours ? "you" : "plain",
  };
}
