/** All of a model's answers at one position in one bar: good moves, others, taken squares, and what is no such call. */

import { Group, Loader, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { percent } from "../../components/board.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { Term } from "../../components/term.tsx";
import { isMostlyOther, type OddsSummary } from "./odds-summary.ts";
import classes from "./play.module.css";
import type { Lens } from "./use-lens.ts";

const kinds = ["best", "worse", "taken", "other"] as const;

export function OddsBar({ lens, drawn }: { lens: Lens; drawn: boolean }) {
  const { t } = useTranslation();
  const { summary, odds, sampled, error, isLoading, label, moves } = lens;
  if (error !== undefined && !drawn) return <ErrorBox error={error} />;
  const side = moves.length % 2 === 0 ? "X" : "O";
  return (
    <Stack gap={6} data-testid="odds">
      <Text size="sm">
        {t(drawn ? "play.odds.captionDrawn" : "play.odds.captionExact", {
          model: label,
          side,
          count: sampled?.count ?? 0,
        })}{" "}
        <Term name={drawn ? "drawn_odds" : "exact_odds"} />
      </Text>
      {summary === undefined ? (
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
                {t(drawn && kind === "other" ? "play.odds.noSquare" : `play.odds.${kind}`)} {percent(summary[kind])}
              </span>
            ))}
          </div>
          {drawn && sampled !== undefined && Object.keys(sampled.failures).length > 0 && (
            <Text size="xs" className="hone-muted">
              {Object.entries(sampled.failures)
                .map(([failure, count]) => `${t(`play.failure.${failure}`)}: ${count}`)
                .join(" · ")}
            </Text>
          )}
          {!drawn && odds !== undefined && isMostlyOther(odds) && (
            <Text size="xs" className="hone-muted">
              {t("play.odds.mostlyOther")}
            </Text>
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
