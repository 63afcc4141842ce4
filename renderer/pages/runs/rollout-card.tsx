/** One answer: what the model saw, what it wrote, and what that was worth. */

import { Badge, Button, Group, Stack, Text, Tooltip } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { RolloutLine } from "../../../core/contract/run.ts";
import { Board } from "../../components/board.tsx";
import { Term } from "../../components/term.tsx";
import classes from "./rollout-card.module.css";

interface RolloutCardProps {
  task: string;
  line: RolloutLine;
  onPrompt?: (rowId: string) => void;
}

export function RolloutCard({ task, line, onPrompt }: RolloutCardProps) {
  const { t } = useTranslation();
  const board = task === "tic-tac-toe" ? boardOf(line.row_id) : undefined;
  const square = board === undefined ? undefined : squareOf(line.completion);
  const taken = board !== undefined && square !== undefined && board[square - 1] !== ".";
  return (
    <Stack gap={6} className={classes.card} component="article" aria-label={`${line.row_id} ${line.sample_index + 1}`}>
      <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
        <Group gap={6}>
          <Badge variant="light" color={line.reward > 0 ? "teal" : line.reward < 0 ? "red" : "gray"} autoContrast>
            {t("runs.answers.reward", { reward: line.reward.toFixed(2) })}
          </Badge>
          <Text size="xs" className="hone-muted hone-numbers">
            <Term name="advantage">{t("runs.answers.advantage", { advantage: line.advantage.toFixed(2) })}</Term>
          </Text>
        </Group>
        <Text size="xs" className="hone-muted hone-numbers">
          {t("runs.answers.tokens", { count: line.completion_ids.length })}
        </Text>
      </Group>
      <Group gap="sm" wrap="nowrap" align="flex-start">
        {board !== undefined && (
          <Board
            board={board}
            label={t("runs.answers.board", { board: line.row_id, square: square ?? "–" })}
            size="small"
            {...(square !== undefined && (taken ? { illegalMove: square } : { lastMove: square }))}
          />
        )}
        <Text size="xs" className={classes.text}>
          {line.completion === "" ? "–" : line.completion}
        </Text>
      </Group>
      <Group gap={4}>
        {line.failure !== null && (
          <Badge size="xs" color="red" variant="outline" autoContrast>
            {line.failure}
          </Badge>
        )}
        <Badge size="xs" color="gray" variant="outline" autoContrast>
          {line.stop_reason}
        </Badge>
        {Object.entries(line.reward_parts).map(([name, value]) => (
          <Tooltip key={name} label={t("runs.answers.part", { name })}>
            <Badge size="xs" variant="default" tt="none">
              {name} {value.toFixed(2)}
            </Badge>
          </Tooltip>
        ))}
        {onPrompt !== undefined && (
          <Button size="compact-xs" variant="subtle" onClick={() => onPrompt(line.row_id)}>
            {t("runs.answers.history")}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

/** Tic-tac-toe calls its rows by their boards. */
function boardOf(rowId: string): string | undefined {
  return /[XO.]{9}/.exec(rowId)?.[0];
}

/** The square that an answer's call names. */
function squareOf(completion: string): number | undefined {
  const found = /"square"\s*:\s*"?(\d)/.exec(completion)?.[1];
  const square = Number(found);
  return square >= 1 && square <= 9 ? square : undefined;
}
