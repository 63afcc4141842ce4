/** One answer: what the model saw, what it wrote, and what that was worth. */

import { Badge, Button, Group, Stack, Text, Tooltip } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { ShownAnswer } from "../../../core/contract/api/train-calls.ts";
import type { RolloutLine } from "../../../core/contract/run.ts";
import { AnswerBoard } from "../answer-board.tsx";
import { Conversation, TokenText } from "../conversation.tsx";
import { Term } from "../term.tsx";
import classes from "./rollout-card.module.css";

interface RolloutCardProps {
  task: string;
  /** With its tokens, which are then coloured by how likely they were, or without. */
  line: RolloutLine | ShownAnswer;
  onPrompt?: (rowId: string) => void;
}

export function RolloutCard({ task, line, onPrompt }: RolloutCardProps) {
  const { t } = useTranslation();
  const tokens = "tokens" in line ? line.tokens : undefined;
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
          {t("runs.answers.tokens", { count: "tokens" in line ? line.tokens.length : line.completion_ids.length })}
        </Text>
      </Group>
      <Group gap="sm" wrap="nowrap" align="flex-start">
        {task === "tic-tac-toe" && <AnswerBoard rowId={line.row_id} completion={line.completion} />}
        {line.messages !== undefined ? (
          <Conversation messages={line.messages} label={t("train.conversation")} folded={[0]} />
        ) : (
          <Text size="xs" className={classes.text} component="div" tabIndex={0}>
            {tokens !== undefined && tokens.length > 0 ? (
              <TokenText tokens={tokens} />
            ) : line.completion === "" ? (
              "–"
            ) : (
              line.completion
            )}
          </Text>
        )}
      </Group>
      <Group gap={4}>
        {line.failure !== null && (
          <Badge size="xs" variant="default" c="var(--hone-bad)">
            {line.failure}
          </Badge>
        )}
        <Badge size="xs" variant="default">
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
