/** One answer: what the model saw, what it wrote, and what that was worth. */

import { Badge, Button, Group, Stack, Text, Tooltip } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { RolloutLine } from "../../../core/contract/run.ts";
import { AnswerBoard } from "../answer-board.tsx";
import { Term } from "../term.tsx";
import classes from "./rollout-card.module.css";

interface RolloutCardProps {
  task: string;
  line: RolloutLine;
  onPrompt?: (rowId: string) => void;
}

export function RolloutCard({ task, line, onPrompt }: RolloutCardProps) {
  const { t } = useTranslation();
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
        {task === "tic-tac-toe" && <AnswerBoard rowId={line.row_id} completion={line.completion} />}
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
