/** The model's choice that is looked at: the position before it, and how likely each square is there. */

import { useTranslation } from "react-i18next";
import type { MoveOdds, Position, DrawnAnswers } from "../../../core/contract/api/play-calls.ts";
import {
  lastModelPly,
  lensMoves,
  oddsKey,
  referenceOf,
  type OddsEntry,
  type PlayState,
} from "../../stores/play-store.ts";
import { allShares, summarizeOdds, type OddsSummary } from "./odds-summary.ts";
import { usePlay } from "./use-play.ts";

export interface Lens {
  moves: number[];
  position: Position | undefined;
  /** The checkpoint in a few words. */
  label: string;
  odds: MoveOdds | undefined;
  error: unknown;
  drawn: DrawnAnswers | null;
  isLoading: boolean;
  isDrawing: boolean;
  /** What the squares show. */
  shares: number[] | null;
  summary: OddsSummary | undefined;
  /** The present checkpoint is not the one that made the model's last move. */
  canMoveAgain: boolean;
}

export function useLens(): Lens {
  const { t } = useTranslation();
  const state = usePlay((all) => all);
  const moves = lensMoves(state);
  const key = oddsKey(referenceOf(state), moves);
  const position = state.positions[moves.join("")];
  const entry = state.odds[key];
  const drawnEntry = state.sampled[key];
  const odds = readyOdds(entry);
  const drawn = (drawnEntry === "loading" ? undefined : drawnEntry) ?? odds?.drawn ?? null;
  const shares = odds === undefined ? null : state.shares === "exact" ? odds.squares : allShares(odds, drawn);
  const step = state.line?.checkpoints[state.index]?.step ?? null;
  return {
    moves,
    position,
    label: step === null ? referenceOf(state) : t("play.step", { step }),
    odds,
    error: entry !== undefined && entry !== "loading" && "error" in entry ? entry.error : undefined,
    drawn,
    isLoading: entry === "loading",
    isDrawing: drawnEntry === "loading",
    shares,
    summary: shares === null || position === undefined ? undefined : summarizeOdds(shares, position),
    canMoveAgain: canMoveAgain(state),
  };
}

export function readyOdds(entry: OddsEntry | undefined): MoveOdds | undefined {
  return entry === undefined || entry === "loading" || "error" in entry ? undefined : entry;
}

function canMoveAgain(state: PlayState): boolean {
  const ply = lastModelPly(state);
  const made = ply === undefined ? undefined : state.answers[ply]?.answer?.model;
  return made !== undefined && state.line?.run != null && !state.busy && made !== referenceOf(state);
}
