/**
 * A tic-tac-toe board: to play on, to look into a model's choice, or (small) as a drawing of one position. Squares are 1 to
 * 9, row by row; every list of nine goes by square − 1.
 */

import type { TFunction } from "i18next";
import { useRef, useState, type CSSProperties, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import type { MoveValue } from "../../core/contract/api/play-calls.ts";
import classes from "./board.module.css";

export interface BoardProps {
  /** Nine characters, row by row: `X`, `O`, `.` (free). */
  board: string;
  /** The accessible name: what this board is. A drawing that only repeats what stands beside it has an empty one. */
  label: string;
  /** `small` is a drawing, without keys and numbers: for rollouts and lists. Default `large`. */
  size?: "small" | "medium" | "large";
  /** The square that was chosen last. */
  lastMove?: number | null;
  /** The three squares that won. */
  winningLine?: readonly number[] | null;
  /** Nine probabilities, 0 to 1, taken squares too: shading, and (not in a drawing) per cent. */
  probabilities?: readonly number[] | null;
  /** Nine values with best play; null on taken squares. */
  values?: readonly (MoveValue | null)[] | null;
  /** Squares whose moves threw away a better outcome. */
  blunders?: readonly number[];
  /** A taken square that was chosen all the same: marked as not allowed. */
  illegalMove?: number | null;
  /** Called for a free square by mouse, Enter, Space, or its number key. Without it the board is to be looked at only. */
  onPlay?: (square: number) => void;
  /** Squares can be reached, but not chosen now (the other side is to move). */
  disabled?: boolean;
}

const squares = [1, 2, 3, 4, 5, 6, 7, 8, 9] as const;

export function Board(props: BoardProps) {
  return props.size === "small" ? <BoardDrawing {...props} /> : <BoardGrid {...props} />;
}

/** 0.1234 as `12 %`; what is not nothing is never shown as 0. */
export function percent(share: number): string {
  if (share > 0 && share < 0.005) return "<1 %";
  if (share < 1 && share > 0.995) return ">99 %";
  return `${Math.round(100 * share)} %`;
}

function BoardDrawing({ board, label, lastMove, winningLine, probabilities, illegalMove, blunders = [] }: BoardProps) {
  return (
    <div className={classes.small} {...(label === "" ? { "aria-hidden": true } : { role: "img", "aria-label": label })}>
      {squares.map((square) => (
        <span
          key={square}
          className={classes.cell}
          style={shade(probabilities?.[square - 1])}
          data-mark={markOf(board, square)}
          data-last={square === lastMove || undefined}
          data-line={winningLine?.includes(square) === true || undefined}
          data-blunder={blunders.includes(square) || undefined}
          data-illegal={square === illegalMove || undefined}
        >
          {board.charAt(square - 1) === "." ? "" : board.charAt(square - 1)}
        </span>
      ))}
    </div>
  );
}

function BoardGrid(props: BoardProps) {
  const { board, label, size = "large", onPlay, disabled = false } = props;
  const { t } = useTranslation();
  const grid = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState(5);
  const canPlay = (square: number) => onPlay !== undefined && !disabled && markOf(board, square) === undefined;
  const reach = (square: number) => {
    setFocused(square);
    grid.current?.querySelector<HTMLElement>(`[data-square="${square}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = neighbour(focused, event.key);
    if (next !== undefined) {
      event.preventDefault();
      reach(next);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (canPlay(focused)) onPlay?.(focused);
    }
  };
  return (
    <div
      ref={grid}
      className={classes.grid}
      data-size={size}
      role="grid"
      aria-label={label}
      aria-readonly={onPlay === undefined || disabled}
      onKeyDown={onKeyDown}
    >
      {[0, 1, 2].map((row) => (
        <div key={row} role="row" className={classes.row}>
          {squares.slice(3 * row, 3 * row + 3).map((square) => (
            <div
              key={square}
              role="gridcell"
              className={classes.cell}
              data-square={square}
              tabIndex={square === focused ? 0 : -1}
              aria-disabled={onPlay !== undefined && !canPlay(square)}
              data-playable={canPlay(square) || undefined}
              style={shade(props.probabilities?.[square - 1])}
              data-mark={markOf(board, square)}
              data-last={square === props.lastMove || undefined}
              data-line={props.winningLine?.includes(square) === true || undefined}
              data-illegal={square === props.illegalMove || undefined}
              onClick={() => {
                setFocused(square);
                if (canPlay(square)) onPlay?.(square);
              }}
              onFocus={() => setFocused(square)}
            >
              <span className="hone-unseen">{cellLabel(t, props, square)}</span>
              <CellContent {...props} square={square} />
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

/** Seen only; `cellLabel` says the same in words. */
function CellContent({ board, values, probabilities, blunders = [], square }: BoardProps & { square: number }) {
  const { t } = useTranslation();
  const mark = markOf(board, square);
  const value = values?.[square - 1];
  const share = probabilities?.[square - 1];
  return (
    <>
      <span className={classes.number} aria-hidden>
        {square}
      </span>
      {mark !== undefined && (
        <svg className={classes.mark} viewBox="0 0 100 100" aria-hidden>
          {mark === "X" ? <path d="M24 24 76 76M76 24 24 76" /> : <circle cx="50" cy="50" r="28" />}
        </svg>
      )}
      {value != null && (
        <span className={classes.value} data-value={value} aria-hidden>
          {t(`play.value.short.${value}`)}
        </span>
      )}
      {blunders.includes(square) && (
        <span className={classes.blunder} aria-hidden>
          ??
        </span>
      )}
      {share !== undefined && (
        <span className={classes.share} aria-hidden data-none={share < 0.005 || undefined}>
          {percent(share)}
        </span>
      )}
    </>
  );
}

function cellLabel(t: TFunction, props: BoardProps, square: number): string {
  const mark = markOf(props.board, square);
  const share = props.probabilities?.[square - 1];
  const value = props.values?.[square - 1];
  return [
    t("play.cell.square", { square }),
    mark ?? t("play.cell.free"),
    props.lastMove === square && t("play.cell.last"),
    props.winningLine?.includes(square) === true && t("play.cell.line"),
    props.blunders?.includes(square) === true && t("play.cell.blunder"),
    props.illegalMove === square && t("play.cell.illegal"),
    share !== undefined && t("play.cell.share", { share: percent(share) }),
    value != null && t(`play.value.long.${value}`),
  ]
    .filter((part) => typeof part === "string")
    .join(", ");
}

function markOf(board: string, square: number): "X" | "O" | undefined {
  const cell = board.charAt(square - 1);
  return cell === "X" || cell === "O" ? cell : undefined;
}

/** Arrows go around neither edge; Home and End are the ends of the row. */
function neighbour(square: number, key: string): number | undefined {
  const column = (square - 1) % 3;
  switch (key) {
    case "ArrowLeft":
      return column > 0 ? square - 1 : square;
    case "ArrowRight":
      return column < 2 ? square + 1 : square;
    case "ArrowUp":
      return square > 3 ? square - 3 : square;
    case "ArrowDown":
      return square < 7 ? square + 3 : square;
    case "Home":
      return square - column;
    case "End":
      return square - column + 2;
    default:
      return undefined;
  }
}

/** By the root, so that a few per cent are seen, and differences between them. */
function shade(share: number | undefined): CSSProperties | undefined {
  return share === undefined ? undefined : ({ "--share": Math.sqrt(share).toFixed(4) } as CSSProperties);
}
