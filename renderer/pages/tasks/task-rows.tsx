/** The rows of a task, one at a time, as a model sees them. */

import { Button, Group, NumberInput, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { TaskDetails, TaskRowView } from "../../../core/contract/api/task-calls.ts";
import { splits, type Split } from "../../../core/contract/eval.ts";
import { useCall } from "../../app/hone-context.tsx";
import { Board } from "../../components/board.tsx";
import { Conversation } from "../../components/conversation.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Term } from "../../components/term.tsx";
import classes from "./tasks.module.css";

export function TaskRows({ task }: { task: TaskDetails }) {
  const { t } = useTranslation();
  const [split, setSplit] = useState<Split>(splits.find((one) => task.rows[one] > 0) ?? "train");
  const [place, setPlace] = useState(0);
  const total = task.rows[split];
  const at = Math.min(place, Math.max(0, total - 1));
  const loaded = useCall("tasks.rows", { task: task.reference, split, offset: at, limit: 1 }, { follow: "tasks" });
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <SegmentedControl
          value={split}
          onChange={(value) => {
            setSplit(value);
            setPlace(0);
          }}
          aria-label={t("tasks.rows.part")}
          data={splits.map((one) => ({ value: one, label: t(`tasks.split.${one}`, { count: task.rows[one] }) }))}
        />
        <Group gap="xs">
          <Button
            variant="default"
            size="sm"
            disabled={at === 0}
            onClick={() => setPlace(at - 1)}
            leftSection={<ChevronLeft size={16} aria-hidden />}
          >
            {t("tasks.rows.previous")}
          </Button>
          <NumberInput
            aria-label={t("tasks.rows.number")}
            value={at + 1}
            min={1}
            max={Math.max(1, total)}
            onChange={(value) => {
              if (typeof value === "number" && value >= 1 && value <= total) setPlace(value - 1);
            }}
            w={90}
            size="sm"
          />
          <Text size="sm" className="hone-numbers">
            {t("tasks.rows.of", { total })}
          </Text>
          <Button
            variant="default"
            size="sm"
            disabled={at >= total - 1}
            onClick={() => setPlace(at + 1)}
            rightSection={<ChevronRight size={16} aria-hidden />}
          >
            {t("tasks.rows.next")}
          </Button>
        </Group>
      </Group>
      <Text size="sm" className="hone-muted">
        <Term name={`split_${split}`} /> · {t("tasks.rows.problems", { count: task.problems })}
      </Text>
      <LoadedView of={loaded}>
        {({ rows: [row] }) =>
          row === undefined ? <Text>{t("tasks.rows.none")}</Text> : <Row key={row.id} row={row} />
        }
      </LoadedView>
    </Stack>
  );
}

function Row({ row }: { row: TaskRowView }) {
  const { t } = useTranslation();
  return (
    <div className={classes.row}>
      <Stack gap="sm" className="hone-card" miw={0}>
        <Title order={2} size="h5">
          {t("tasks.rows.prompt", { id: row.id })}
        </Title>
        {row.board !== null && <Board board={row.board} label={t("tasks.rows.board")} size="medium" />}
        <Conversation messages={row.prompt} label={t("tasks.rows.promptLabel")} />
        {row.tools.length > 0 && (
          <>
            <Text fw={600} size="sm">
              {t("tasks.rows.tools")}
            </Text>
            {row.tools.map((tool) => (
              <details key={tool.function.name}>
                <summary>
                  <code>{tool.function.name}</code> {tool.function.description}
                </summary>
                <pre className={classes.text} tabIndex={0}>
                  {JSON.stringify(tool.function.parameters ?? {}, undefined, 2)}
                </pre>
              </details>
            ))}
          </>
        )}
      </Stack>
      <Stack gap="sm" className="hone-card" miw={0}>
        <Title order={2} size="h5">
          {t("tasks.rows.solution")}
        </Title>
        {row.solution === null ? (
          <Text size="sm" className="hone-muted">
            {t("tasks.rows.noSolution")}
          </Text>
        ) : (
          <Conversation messages={row.solution} label={t("tasks.rows.solution")} />
        )}
        {row.preference !== null && (
          <>
            <Title order={2} size="h5">
              {t("tasks.rows.rejected")}
            </Title>
            <Conversation messages={row.preference.rejected} label={t("tasks.rows.rejected")} />
          </>
        )}
        {row.board === null && (
          <>
            <Title order={2} size="h5">
              {t("tasks.rows.drawing")}
            </Title>
            <pre className={classes.text} tabIndex={0}>
              {row.drawing}
            </pre>
          </>
        )}
      </Stack>
    </div>
  );
}
