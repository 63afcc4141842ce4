/** The slider through training: the same position at every checkpoint, from before training to the end. */

import { ActionIcon, Group, Slider, Stack, Text, Tooltip, UnstyledButton } from "@mantine/core";
import { Pause, Play } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import { formatDecimal } from "../../../core/contract/units.ts";
import { Board, percent } from "../../components/board.tsx";
import { Term } from "../../components/term.tsx";
import { oddsKey } from "../../stores/play-store.ts";
import { allShares, summarizeOdds } from "./odds-summary.ts";
import { ShareBar } from "./odds-bar.tsx";
import classes from "./play.module.css";
import { readyOdds, useLens } from "./use-lens.ts";
import { usePlay, usePlayStore } from "./use-play.ts";

/** Milliseconds for one checkpoint when training is played back. */
const frame = 450;

export function TrainingCard() {
  const { t } = useTranslation();
  const store = usePlayStore();
  const line = usePlay((state) => state.line);
  const index = usePlay((state) => state.index);
  const odds = usePlay((state) => state.odds);
  const lens = useLens();
  const [isRunning, setRunning] = useState(false);
  const current = useRef<HTMLButtonElement>(null);
  const last = (line?.checkpoints.length ?? 1) - 1;
  useEffect(() => {
    current.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [index]);
  useEffect(() => {
    if (!isRunning) return undefined;
    if (index >= last) {
      setRunning(false);
      return undefined;
    }
    const timer = setTimeout(() => store.chooseCheckpoint(index + 1), frame);
    return () => clearTimeout(timer);
  }, [isRunning, index, last, store]);
  const { position } = lens;
  if (line === undefined || position === undefined) return null;
  const { run, checkpoints } = line;
  if (run === null || checkpoints.length < 2) {
    return (
      <section className="hone-card" aria-label={t("play.training.title")}>
        <Text fw={600}>{t("play.training.title")}</Text>
        <Text size="sm" className="hone-muted">
          {run === null ? t("play.training.noRun") : t("play.training.noCheckpoints")}{" "}
          <Link href={run === null ? "/train" : `/runs/${encodeURIComponent(run)}`}>{t("play.training.train")}</Link>
        </Text>
      </section>
    );
  }
  const chosen = checkpoints[index];
  return (
    <Stack className="hone-card" gap="sm" component="section" aria-label={t("play.training.title")}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div>
          <Text fw={600}>{t("play.training.title")}</Text>
          <Text size="sm" className="hone-muted">
            {t("play.training.what", { side: lens.moves.length % 2 === 0 ? "X" : "O" })}
          </Text>
        </div>
        <Tooltip label={isRunning ? t("play.pause") : t("play.training.run")}>
          <ActionIcon
            variant="default"
            size="lg"
            aria-label={isRunning ? t("play.pause") : t("play.training.run")}
            onClick={() => {
              if (!isRunning && index >= last) store.chooseCheckpoint(0);
              setRunning(!isRunning);
            }}
          >
            {isRunning ? <Pause size={16} aria-hidden /> : <Play size={16} aria-hidden />}
          </ActionIcon>
        </Tooltip>
      </Group>
      <Slider
        min={0}
        max={last}
        value={index}
        onChange={(value) => {
          setRunning(false);
          store.chooseCheckpoint(value);
        }}
        label={(value) => t("play.step", { step: checkpoints[value]?.step ?? 0 })}
        marks={checkpoints.length <= 40 ? checkpoints.map((_, value) => ({ value })) : []}
        thumbLabel={t("play.training.slider")}
        thumbProps={{ "aria-valuetext": t("play.step", { step: chosen?.step ?? 0 }) }}
      />
      <Group justify="space-between" gap="sm">
        <Text size="sm" fw={600} className="hone-numbers" data-testid="checkpoint">
          {chosen?.step === 0 ? t("play.training.start") : t("play.step", { step: chosen?.step ?? 0 })}
        </Text>
        {chosen?.reward != null && (
          <Text size="sm" className="hone-numbers">
            <Term name="reward" /> {formatDecimal(chosen.reward)}
          </Text>
        )}
      </Group>
      <div className={classes.film} role="group" aria-label={t("play.training.film")}>
        {checkpoints.map(({ reference, step }, i) => {
          const entry = odds[oddsKey(reference, lens.moves)];
          const found = readyOdds(entry);
          const squares = found === undefined ? null : allShares(found, found.drawn);
          const summary = squares === null ? undefined : summarizeOdds(squares, position);
          const failed = entry !== undefined && entry !== "loading" && "error" in entry;
          const best = summary === undefined ? "" : percent(summary.best);
          return (
            <UnstyledButton
              key={reference}
              className={classes.frame}
              {...(i === index && { "aria-current": "true" as const, ref: current })}
              onClick={() => {
                setRunning(false);
                store.chooseCheckpoint(i);
              }}
            >
              <span className="hone-unseen">
                {t(summary === undefined ? "play.training.frameWaits" : "play.training.frame", { step, best })}
              </span>
              <span className="hone-numbers" aria-hidden>
                {step}
              </span>
              <Board
                size="small"
                board={position.board}
                label=""
                probabilities={squares}
                lastMove={found?.greedy.square ?? null}
              />
              {summary !== undefined && (
                <div style={{ width: 70 }}>
                  <ShareBar summary={summary} />
                </div>
              )}
              <span className={`hone-numbers ${found === undefined ? "hone-muted" : ""}`} aria-hidden={!failed}>
                {failed ? t("play.training.gone") : found === undefined ? "…" : best}
              </span>
            </UnstyledButton>
          );
        })}
      </div>
      <Text size="xs" className="hone-muted">
        {t("play.training.legend")}
      </Text>
    </Stack>
  );
}
