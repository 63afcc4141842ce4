/** All of a model's answers at one position in one bar: good moves, others, taken squares, and what names no square. */

import { Button, Group, Loader, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { percent } from "../../components/board.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { Term } from "../../components/term.tsx";
import { drawnCount } from "../../stores/play-store.ts";
import type { OddsSummary } from "./odds-summary.ts";
import classes from "./play.module.css";
import type { Lens } from "./use-lens.ts";
import { usePlay, usePlayStore } from "./use-play.ts";

const kinds = ["best", "worse", "taken", "other"] as const;

export function OddsBar({ lens }: { lens: Lens }) {
  const { t } = useTranslation();
  const store = usePlayStore();
  const isExact = usePlay((state) => state.shares === "exact");
  const { summary, odds, drawn, error, isLoading, isDrawing, label, moves } = lens;
  if (error !== undefined) return <ErrorBox error={error} />;
  const side = moves.length % 2 === 0 ? "X" : "O";
  const failures = Object.entries(drawn?.failures ?? {});
  const isKnown = !isExact && drawn !== null;
  return (
    <Stack gap={6} data-testid="odds">
      <Text size="sm">{t("play.odds.caption", { model: label, side })}</Text>
      {summary === undefined || odds === undefined ? (
        <Group gap="xs" h={34}>
          {isLoading && <Loader size="xs" />}
          <Text size="xs" className="hone-muted">
            {isLoading ? t("play.odds.loading") : t("play.odds.none")}
          </Text>
        </Group>
      ) : (
        <>
          <ShareBar summary={summary} />
          <div className={classes.legend} role="list" aria-label={t("play.odds.legend")}>
            {kinds.map((kind) => (
              <span key={kind} role="listitem" className="hone-numbers">
                <span className={`${classes.dot} ${classes.part}`} data-kind={kind} />
                {t(isKnown && kind === "other" ? "play.odds.noSquare" : `play.odds.${kind}`)} {percent(summary[kind])}
              </span>
            ))}
          </div>
          <Text size="xs" className="hone-muted">
            <Term name="exact_odds">{t("play.odds.exactPart", { share: percent(1 - odds.other) })}</Term>{" "}
            {isKnown && <Term name="drawn_odds">{t("play.odds.drawnPart", { count: drawn.count })}</Term>}
            {!isKnown && t("play.odds.restUnknown")}
            {isKnown &&
              failures.length > 0 &&
              ` ${t("play.odds.failures", { list: failures.map(([name, count]) => `${t(`play.failure.${name}`)} (${count})`).join(", ") })}`}
          </Text>
          {!isExact && (drawn?.count ?? 0) < drawnCount && odds.other > 0.005 && (
            <Group>
              <Button size="compact-xs" variant="default" loading={isDrawing} onClick={() => void store.sample()}>
                {t("play.odds.draw", { count: drawnCount })}
              </Button>
            </Group>
          )}
        </>
      )}
    </Stack>
  );
}

export function ShareBar({ summary }: { summary: OddsSummary }) {
  return (
    <div className={classes.bar} aria-hidden>
      {kinds.map((kind) => (
        <span key={kind} className={classes.part} data-kind={kind} style={{ width: `${100 * summary[kind]}%` }} />
      ))}
    </div>
  );
}
