/** Should I train? Five short questions, answered by a person and by figures together. */

import { Alert, Button, Group, Select, Stack, Text, Title } from "@mantine/core";
import { CircleCheck, CircleHelp, CircleX } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useSearch } from "wouter";
import { adviceQuestions, combineAdvice, type Advice, type AdviceAnswers } from "../../../core/contract/advice.ts";
import { useCall } from "../../app/hone-context.tsx";
import { JobProgress } from "../../components/job-progress.tsx";
import { ModelPicker } from "../../components/model-picker.tsx";
import { Page } from "../../components/page.tsx";
import { useJob } from "../../components/use-job.ts";
import { AdviceQuestionCard } from "./advice-question.tsx";
import { useTaskWords } from "./use-task-words.ts";

const unanswered: AdviceAnswers = { rules: null, reproducible: null, judged: null, recurs: null, behaviour: null };
const questions = Object.keys(adviceQuestions) as (keyof typeof adviceQuestions)[];

export function AdvicePage({ task: first }: { task: string | null }) {
  const { t } = useTranslation();
  const tasks = useCall("tasks.list", {}, { follow: "tasks" });
  const words = useTaskWords();
  const [answers, setAnswers] = useState<AdviceAnswers>(unanswered);
  // `?task=…&model=…` is how other pages ask.
  const query = new URLSearchParams(useSearch());
  const [task, setTask] = useState<string | null>(first ?? query.get("task"));
  const [model, setModel] = useState<string>(query.get("model") ?? "starter");
  const [measured, setMeasured] = useState<Advice | null>(null);
  const job = useJob((result) => setMeasured(result as Advice));
  const { verdict, conditions } = combineAdvice(answers, measured);
  const started = measured !== null || Object.values(answers).some((answer) => answer !== null);
  return (
    <Page title={t("tasks.advice.title")} lead={t("tasks.advice.lead")}>
      <Stack gap="sm" className="hone-card">
        <Title order={2} size="h5">
          {t("tasks.advice.measure")}
        </Title>
        <Text size="sm" className="hone-muted">
          {t("tasks.advice.measureText")}
        </Text>
        <Group align="flex-end" gap="xs">
          <Select
            label={t("tasks.advice.task")}
            placeholder={t("tasks.advice.noTask")}
            data={(tasks.value?.tasks ?? []).map((one) => ({ value: one.reference, label: words(one).title }))}
            value={task}
            onChange={(chosen) => {
              setTask(chosen);
              setMeasured(null);
            }}
            clearable
            searchable
            style={{ flex: 1 }}
          />
          <div style={{ flex: 1 }}>
            <ModelPicker label={t("tasks.advice.model")} value={model} onChange={setModel} />
          </div>
          <Button
            variant="default"
            disabled={task === null}
            loading={job.busy}
            onClick={() => {
              if (task !== null) void job.start("tasks.advise", { task, model });
            }}
          >
            {t("tasks.advice.start")}
          </Button>
        </Group>
        <JobProgress of={job} />
      </Stack>
      {questions.map((name, i) => (
        <AdviceQuestionCard
          key={name}
          number={i + 1}
          condition={conditions[i]}
          answer={answers[name]}
          onAnswer={(answer) => setAnswers({ ...answers, [name]: answer })}
        />
      ))}
      <div role="status" aria-live="polite">
        {started && <Verdict verdict={verdict} measured={measured} task={task} conditions={conditions} />}
      </div>
    </Page>
  );
}

const looks = {
  train: { color: "teal", icon: CircleCheck },
  not_yet: { color: "orange", icon: CircleHelp },
  do_not_train: { color: "red", icon: CircleX },
} as const;

interface VerdictProps extends ReturnType<typeof combineAdvice> {
  measured: Advice | null;
  task: string | null;
}

function Verdict({ verdict, conditions, measured, task }: VerdictProps) {
  const { t } = useTranslation();
  const { color, icon: Icon } = looks[verdict];
  const open = conditions.filter((one) => one.verdict === (verdict === "do_not_train" ? "no" : "unclear"));
  const method = measured?.method ?? null;
  const query = new URLSearchParams({
    ...(task !== null && { task }),
    ...(method !== null && { method: method.name }),
  });
  return (
    <Alert color={color} icon={<Icon size={20} aria-hidden />} title={t(`tasks.advice.verdict.${verdict}.title`)}>
      <Stack gap="xs">
        <Text size="sm">{t(`tasks.advice.verdict.${verdict}.text`)}</Text>
        {open.map(({ name }) => (
          <Text key={name} size="sm">
            <b>{t(`tasks.advice.question.${name}.title`)}</b> {t(`tasks.advice.question.${name}.instead`)}
          </Text>
        ))}
        {method !== null && verdict !== "do_not_train" && (
          <Text size="sm">{t("tasks.advice.method", { method: method.name.toUpperCase(), why: method.why })}</Text>
        )}
        <Group gap="xs">
          {verdict !== "do_not_train" && (
            <Button
              component={Link}
              href={`/train?${query.toString()}`}
              size="sm"
              variant={verdict === "train" ? "filled" : "default"}
            >
              {t("tasks.train")}
            </Button>
          )}
          {verdict !== "train" && (
            <Button component={Link} href={task === null ? "/chat" : "/rewards"} size="sm" variant="default">
              {task === null ? t("tasks.advice.tryPrompt") : t("tasks.advice.writeReward")}
            </Button>
          )}
          {task === null && (
            <Button component={Link} href="/tutorial" size="sm" variant="default">
              {t("tasks.advice.tutorial")}
            </Button>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}
