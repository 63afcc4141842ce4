/** The moves of the game, each of which can be looked at again: the position before it, and what the model thought of it. */

import { Button, Group, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import classes from "./play.module.css";
import { usePlay, usePlayStore } from "./use-play.ts";

export function MoveList() {
  const { t } = useTranslation();
  const store = usePlayStore();
  const moves = usePlay((state) => state.position?.moves ?? noMoves);
  const look = usePlay((state) => state.look);
  if (moves.length === 0) return null;
  return (
    <Group gap={6} align="center" role="group" aria-label={t("play.moves.label")}>
      <div className={classes.plies}>
        {moves.map(({ square, side, blunder, missed_win: missed }, ply) => {
          const verdict = missed ? t("play.moves.missedWin") : blunder ? t("play.moves.blunder") : t("play.moves.best");
          const text = `${side.toUpperCase()}${square}${blunder || missed ? "??" : ""}`;
          return (
            <Button
              key={ply}
              size="compact-xs"
              variant={look === ply ? "filled" : "default"}
              color={look === ply ? "steel" : "gray"}
              aria-pressed={look === ply}
              aria-label={t("play.moves.one", { text, ply: ply + 1, verdict })}
              title={verdict}
              onClick={() => store.lookAt(look === ply ? undefined : ply)}
            >
              {text}
            </Button>
          );
        })}
      </div>
      {look !== undefined ? (
        <Button size="compact-xs" variant="subtle" onClick={() => store.lookAt(undefined)}>
          {t("play.moves.back")}
        </Button>
      ) : (
        <Text size="xs" className="hone-muted">
          {t("play.moves.hint")}
        </Text>
      )}
    </Group>
  );
}

const noMoves: never[] = [];
