/** An answer to a tic-tac-toe board, drawn: the board that the row is called by, and the square that the answer calls. */

import { useTranslation } from "react-i18next";
import { Board } from "./board.tsx";

export function AnswerBoard({ rowId, completion }: { rowId: string; completion: string }) {
  const { t } = useTranslation();
  const board = boardOf(rowId);
  if (board === undefined) return null;
  const square = squareOf(completion);
  const taken = square !== undefined && board[square - 1] !== ".";
  return (
    <Board
      board={board}
      label={t("evaluation.board", { board, square: square ?? "–" })}
      size="small"
      {...(square !== undefined && (taken ? { illegalMove: square } : { lastMove: square }))}
    />
  );
}

/** Tic-tac-toe calls its rows by their boards. */
function boardOf(rowId: string): string | undefined {
  return /[XO.]{9}/.exec(rowId)?.[0];
}

/** The square that an answer's call names. */
function squareOf(completion: string): number | undefined {
  const square = Number(/"square"\s*:\s*"?(\d)/.exec(completion)?.[1]);
  return square >= 1 && square <= 9 ? square : undefined;
}
