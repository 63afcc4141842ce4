/** A reward to change, beside real answers of the model that it is tried on at once. */

import { Button, Group, Loader, Stack, Table, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import type { LabSample } from "../../../core/contract/api/reward-calls.ts";
import { errorFromData } from "../../../core/contract/errors.ts";
import { useApi, useApp, useCall } from "../../app/hone-context.tsx";
import { AnswerBoard } from "../../components/answer-board.tsx";
import { CodeEditor } from "../../components/code-editor.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import type { ActivityProps } from "./activity-props.ts";
import classes from "./reward-activity.module.css";

const drawn = { rows: 6, samples: 3 };

export function RewardActivity({ lesson, step, store, onDone }: ActivityProps<"reward">) {
  const { t } = useTranslation();
  const { progress, keep } = useStore(store);
  const home = useApp(({ info }) => info?.home);
  const text = progress.reward ?? step.reward;
  const [tried] = useDebouncedValue(text, 300);
  const answers = useAnswers({ lesson, step, store, onDone });
  const loaded = useCall(
    "rewards.try",
    {
      // Only its ending counts: nothing is written until the training begins.
      path: `${home ?? ""}/rewards/lesson-${lesson.id}.ts`,
      text: tried,
      source: { kind: "file", path: progress.answers ?? "-" },
      compare: { kind: "stored" },
    },
    { enabled: progress.answers !== null && home !== undefined },
  );
  const result = loaded.value;
  const changed = result?.change?.changed ?? 0;
  const isEdited = tried !== step.reward;
  useEffect(() => {
    if (isEdited && result != null && result.fault === null) onDone();
  }, [isEdited, result, onDone]);

  return (
    <div className={classes.sides}>
      <Stack gap="xs">
        <Group justify="space-between">
          <Text fw={600} size="sm">
            {t("tutorial.reward.editor")}
          </Text>
          <Button
            size="compact-xs"
            variant="default"
            disabled={!isEdited}
            onClick={() => keep({ reward: step.reward })}
          >
            {t("tutorial.reward.reset")}
          </Button>
        </Group>
        <CodeEditor
          language="typescript"
          label={t("tutorial.reward.editor")}
          value={text}
          onChange={(reward) => keep({ reward })}
          diagnostics={
            result?.fault == null
              ? []
              : [{ line: result.fault.line ?? 1, severity: "error", message: result.fault.error.message }]
          }
          maxHeight="48vh"
        />
      </Stack>
      <Stack gap="xs">
        <Text fw={600} size="sm">
          {t("tutorial.reward.answers")}
        </Text>
        {answers.error !== undefined && <ErrorBox error={answers.error} onRetry={answers.retry} />}
        {progress.answers === null && answers.error === undefined && (
          <Group gap="xs" role="status">
            <Loader size="xs" />
            <Text size="sm">{t("tutorial.reward.drawing")}</Text>
          </Group>
        )}
        {loaded.state === "failed" && <ErrorBox error={loaded.error} onRetry={loaded.reload} />}
        {result !== undefined && (
          <>
            <Text size="sm" role="status" fw={changed > 0 ? 600 : 400}>
              {result.fault !== null
                ? t("tutorial.reward.fault", { message: result.fault.error.message })
                : changed > 0
                  ? t("tutorial.reward.changed", { count: changed })
                  : t("tutorial.reward.unchanged")}
            </Text>
            <div className={classes.answers}>
              <AnswerTable samples={result.samples} task={lesson.task} />
            </div>
          </>
        )}
      </Stack>
    </div>
  );
}

/** Draws the answers once; they are kept with the progress. */
function useAnswers({ lesson, store }: ActivityProps<"reward">): { error: unknown; retry: () => void } {
  const api = useApi();
  const answers = useStore(store, ({ progress }) => progress.answers);
  const [error, setError] = useState<unknown>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (answers !== null) return undefined;
    let left = false;
    const draw = async () => {
      const { job } = await api.call("rewards.draw", { model: lesson.model, task: lesson.task, ...drawn });
      const ended = await api.call("jobs.wait", { id: job });
      if (left) return;
      if (ended.error !== null) throw errorFromData(ended.error);
      store.getState().keep({ answers: (ended.result as { path: string }).path });
    };
    draw().catch((failed: unknown) => {
      if (!left) setError(failed);
    });
    return () => {
      left = true;
    };
  }, [api, lesson.model, lesson.task, store, answers, turn]);
  return {
    error,
    retry: () => {
      setError(undefined);
      setTurn(turn + 1);
    },
  };
}

function AnswerTable({ samples, task }: { samples: readonly LabSample[]; task: string }) {
  const { t } = useTranslation();
  return (
    <Table aria-label={t("tutorial.reward.answers")} stickyHeader>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("tutorial.reward.board")}</Table.Th>
          <Table.Th ta="right">{t("tutorial.reward.worth")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {samples.map(({ index, row_id, completion, reward, before }) => (
          <Table.Tr key={index}>
            <Table.Td>
              <Group gap="sm" wrap="nowrap" align="flex-start">
                {task === "tic-tac-toe" && <AnswerBoard rowId={row_id} completion={completion} />}
                <Text size="xs" ff="monospace" lineClamp={4} style={{ overflowWrap: "anywhere" }}>
                  {completion}
                </Text>
              </Group>
            </Table.Td>
            <Table.Td ta="right" className="hone-numbers">
              {reward === null ? "–" : reward.toFixed(2)}
              {before !== null && reward !== null && Math.abs(before - reward) > 1e-9 && (
                <Text size="xs" className="hone-muted" style={{ whiteSpace: "nowrap" }}>
                  {t("tutorial.reward.was", { value: before.toFixed(2) })}
                </Text>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
