/** Many games between the model and another player, with the score as it grows. */

import { Button, Group, NumberInput, Progress, Select, Stack, Table, Text } from "@mantine/core";
import { Play, Square } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { secondsLeft } from "../../../core/contract/numbers.ts";
import type { MatchCell, MatchScore, Player } from "../../../core/contract/api/play-calls.ts";
import { formatSeconds } from "../../../core/contract/units.ts";
import { useApi } from "../../app/hone-context.tsx";
import { Board, percent } from "../../components/board.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { Term } from "../../components/term.tsx";
import { opponentReference, referenceOf, type Opponent } from "../../stores/play-store.ts";
import { boardOf } from "./odds-summary.ts";
import { OpponentSelect, useOpponentName } from "./opponent-select.tsx";
import classes from "./play.module.css";
import { usePlay } from "./use-play.ts";

const counts = ["10", "50", "100", "500"];

export function MatchCard() {
  const { t } = useTranslation();
  const api = useApi();
  const opponentName = useOpponentName();
  const line = usePlay((state) => state.line);
  const first = usePlay(referenceOf);
  const [opponent, setOpponent] = useState<Opponent>({ kind: "random" });
  const second = usePlay((state) => opponentReference({ ...state, opponent }));
  const [count, setCount] = useState("50");
  const [temperature, setTemperature] = useState(1);
  const [shown, setShown] = useState<{ score: MatchScore; names: [string, string] }>();
  const [error, setError] = useState<unknown>();
  const [isRunning, setRunning] = useState(false);
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const start = async () => {
    abort.current = new AbortController();
    const stream = crypto.randomUUID();
    const names: [string, string] = [first, opponentName(opponent)];
    const stop = api.subscribe("stream", (news) => setShown({ score: news as MatchScore, names }), stream);
    setError(undefined);
    setShown(undefined);
    setRunning(true);
    try {
      const other: Player =
        opponent.kind === "random" || opponent.kind === "minimax"
          ? { kind: opponent.kind }
          : { kind: "model", model: second ?? first };
      const score = await api.call(
        "play.match",
        {
          first: { kind: "model", model: first },
          second: other,
          count: Number(count),
          temperature,
          seed: Math.floor(Math.random() * 2 ** 30),
          stream,
        },
        { signal: abort.current.signal },
      );
      setShown({ score, names });
    } catch (problem) {
      setError(problem);
    } finally {
      stop();
      setRunning(false);
    }
  };
  return (
    <Stack className="hone-card" gap="sm" component="section" aria-label={t("play.match.title")}>
      <div>
        <Text fw={600}>{t("play.match.title")}</Text>
        <Text size="sm" className="hone-muted">
          {t("play.match.what", { model: first })}
        </Text>
      </div>
      <Group align="flex-start" gap="md">
        <OpponentSelect
          label={t("play.match.against")}
          value={opponent}
          onChange={setOpponent}
          line={line}
          person={false}
        />
        <Select
          w={130}
          label={t("play.match.count")}
          data={counts}
          value={count}
          onChange={(value) => setCount(value ?? "50")}
        />
        <NumberInput
          w={110}
          label={<Term name="temperature" />}
          aria-label={t("terms.temperature.word")}
          value={temperature}
          onChange={(value) => {
            if (typeof value === "number") setTemperature(value);
          }}
          min={0}
          max={5}
          step={0.1}
        />
        {isRunning ? (
          <Button
            mt={24}
            variant="default"
            leftSection={<Square size={14} aria-hidden />}
            onClick={() => abort.current.abort()}
          >
            {t("play.match.stop")}
          </Button>
        ) : (
          <Button mt={24} leftSection={<Play size={14} aria-hidden />} onClick={() => void start()}>
            {t("play.match.start")}
          </Button>
        )}
      </Group>
      {temperature === 0 && (
        <Text size="sm" c="var(--hone-warn)">
          {t("play.match.greedy")}
        </Text>
      )}
      {error !== undefined && <ErrorBox error={error} onRetry={() => void start()} />}
      {shown !== undefined && <Score {...shown} isRunning={isRunning} />}
    </Stack>
  );
}

function Score({ score, names, isRunning }: { score: MatchScore; names: [string, string]; isRunning: boolean }) {
  const { t } = useTranslation();
  const { x, o, done, total, seconds, games } = score;
  const left = secondsLeft(seconds, done, total);
  const rows: [string, MatchCell][] = [
    [t("play.match.asX"), x],
    [t("play.match.asO"), o],
    [t("play.match.both"), sum(x, o)],
  ];
  return (
    <Stack gap="sm">
      <Progress value={(100 * done) / total} size="sm" aria-label={t("play.match.progress")} />
      <Text size="sm" role="status" className="hone-numbers" data-testid="match-score">
        {t("play.match.score", {
          first: names[0],
          second: names[1],
          win: x.win + o.win,
          draw: x.draw + o.draw,
          loss: x.loss + o.loss,
          done,
          total,
        })}{" "}
        {isRunning && left !== null && left > 1 && t("play.match.left", { time: formatSeconds(left) })}
        {!isRunning && score.stopped && t("play.match.stopped")}
      </Text>
      <Table className="hone-numbers" withRowBorders={false}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={110}>{t("play.match.theModel")}</Table.Th>
            <Table.Th w="30%">{t("play.match.bar")}</Table.Th>
            <Table.Th ta="right">{t("play.match.win")}</Table.Th>
            <Table.Th ta="right">{t("play.match.draw")}</Table.Th>
            <Table.Th ta="right">{t("play.match.loss")}</Table.Th>
            <Table.Th ta="right">{t("play.match.illegal")}</Table.Th>
            <Table.Th ta="right">{t("play.match.opponentIllegal")}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(([label, cell]) => {
            const all = cell.win + cell.draw + cell.loss;
            return (
              <Table.Tr key={label}>
                <Table.Th scope="row">{label}</Table.Th>
                <Table.Td>
                  <div className={classes.bar} aria-hidden>
                    {(["win", "draw", "loss"] as const).map((kind) => (
                      <span
                        key={kind}
                        className={classes.part}
                        data-kind={kind}
                        style={{ width: all === 0 ? 0 : `${(100 * cell[kind]) / all}%` }}
                      />
                    ))}
                  </div>
                </Table.Td>
                {(["win", "draw", "loss"] as const).map((kind) => (
                  <Table.Td key={kind} ta="right" style={{ whiteSpace: "nowrap" }}>
                    {cell[kind]}{" "}
                    <Text span size="xs" className="hone-muted">
                      {all === 0 ? "" : percent(cell[kind] / all)}
                    </Text>
                  </Table.Td>
                ))}
                <Table.Td ta="right">{cell.illegal}</Table.Td>
                <Table.Td ta="right">{cell.opponent_illegal}</Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
      <div>
        <Text size="xs" className="hone-muted" mb={6}>
          {t("play.match.newest")}
        </Text>
        <div className={classes.games}>
          {games.map(({ side, result, failure, moves }, i) => (
            <div key={score.done - i} className={classes.game}>
              <Board
                size="small"
                board={boardOf(moves)}
                lastMove={moves.at(-1) ?? null}
                label={t("play.match.game", { side: side.toUpperCase(), result: t(`play.match.${result}`) })}
              />
              <span>
                {side.toUpperCase()} {t(`play.match.short.${result}`)}
                {failure === null ? "" : "*"}
              </span>
            </div>
          ))}
        </div>
        {games.some(({ failure }) => failure !== null) && (
          <Text size="xs" className="hone-muted" mt={4}>
            {t("play.match.star")}
          </Text>
        )}
      </div>
    </Stack>
  );
}

function sum(a: MatchCell, b: MatchCell): MatchCell {
  return {
    win: a.win + b.win,
    draw: a.draw + b.draw,
    loss: a.loss + b.loss,
    illegal: a.illegal + b.illegal,
    opponent_illegal: a.opponent_illegal + b.opponent_illegal,
  };
}
