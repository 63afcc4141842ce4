/** A lesson: its steps at the side, and the one that is done now. */

import { ActionIcon, Anchor, Button, Group, Menu, Progress, Stack, Text, Title } from "@mantine/core";
import { ArrowLeft, ArrowRight, EllipsisVertical } from "lucide-react";
import { useEffect, useMemo, useRef, type ComponentType } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import { useStore } from "zustand";
import type { ListedLesson } from "../../../core/contract/api/tutorial-calls.ts";
import type { LessonStep } from "../../../core/contract/lesson.ts";
import { useApi } from "../../app/hone-context.tsx";
import { createLessonStore } from "../../stores/lesson-store.ts";
import { FinishActivity } from "./finish-activity.tsx";
import type { ActivityProps } from "./activity-props.ts";
import classes from "./lesson-view.module.css";
import { LessonMarkdown } from "./lesson-markdown.tsx";
import { LessonSteps } from "./lesson-steps.tsx";
import { MeasureActivity } from "./measure-activity.tsx";
import { PlayActivity } from "./play-activity.tsx";
import { StepQuestion, StepReveal } from "./step-question.tsx";
import { RewardActivity } from "./reward-activity.tsx";
import { TrainActivity } from "./train-activity.tsx";
import { useLessonText } from "./use-lesson-text.ts";

const activities: { [K in LessonStep["kind"]]: ComponentType<ActivityProps<K>> | undefined } = {
  read: undefined,
  play: PlayActivity,
  measure: MeasureActivity,
  reward: RewardActivity,
  train: TrainActivity,
  finish: FinishActivity,
};

export function LessonView({ lesson, progress: begun }: ListedLesson) {
  const { t } = useTranslation();
  const api = useApi();
  const text = useLessonText();
  const [, navigate] = useLocation();
  const store = useMemo(
    () => createLessonStore(lesson, begun, (progress) => void api.call("tutorial.save", progress)),
    // The store is the truth from here on; what was listed is only where it begins.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [api, lesson.id],
  );
  const { progress, go, predict, complete, next, restart } = useStore(store);
  const step = lesson.steps.find(({ id }) => id === progress.step) ?? lesson.steps[0];
  const index = lesson.steps.indexOf(step);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus();
  }, [step.id]);

  const isDone = progress.done.includes(step.id) || step.kind === "read" || step.kind === "finish";
  const isAsked = step.question !== undefined && !(step.id in progress.predictions);
  const Activity = activities[step.kind] as ComponentType<ActivityProps<LessonStep["kind"]>> | undefined;
  const finish = () => {
    complete(step.id);
    if (index === lesson.steps.length - 1) navigate("/");
    next();
  };
  return (
    <div className={classes.lesson}>
      <Stack gap="sm" component="aside" aria-label={t("tutorial.steps")} className={classes.side}>
        <Anchor component={Link} href="/tutorial" size="sm">
          <Group gap={4}>
            <ArrowLeft size={14} aria-hidden /> {t("tutorial.leave")}
          </Group>
        </Anchor>
        <LessonSteps lesson={lesson} progress={progress} onGo={go} />
        <Progress
          value={(100 * progress.done.length) / lesson.steps.length}
          size="xs"
          aria-label={t("tutorial.stepsDone", { done: progress.done.length, total: lesson.steps.length })}
        />
      </Stack>
      <Stack gap="md" component="section" aria-labelledby="lesson-step" maw={1100}>
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Stack gap={0}>
            <Text size="sm" className="hone-muted">
              {text(lesson.title)} · {t("tutorial.step", { step: index + 1, total: lesson.steps.length })}
            </Text>
            <Title order={1} size="h3" id="lesson-step" ref={heading} tabIndex={-1} style={{ outline: "none" }}>
              {text(step.title)}
            </Title>
          </Stack>
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" aria-label={t("tutorial.more")}>
                <EllipsisVertical size={16} aria-hidden />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={next} disabled={index === lesson.steps.length - 1}>
                {t("tutorial.skip")}
              </Menu.Item>
              <Menu.Item onClick={restart}>{t("tutorial.restart")}</Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Group>
        <div className={classes.text}>
          <LessonMarkdown text={text(step.text)} />
        </div>
        {step.question !== undefined && (
          <StepQuestion
            key={`question ${step.id}`}
            question={step.question}
            answer={progress.predictions[step.id]}
            onAnswer={(answer) => predict(step.id, answer)}
          />
        )}
        {!isAsked && Activity !== undefined && (
          <Activity
            key={`activity ${step.id}`}
            lesson={lesson}
            step={step}
            store={store}
            onDone={() => complete(step.id)}
          />
        )}
        {step.question !== undefined && isDone && <StepReveal question={step.question} />}
        <Group>
          {index > 0 && (
            <Button variant="default" onClick={() => go(lesson.steps[index - 1].id)}>
              {t("tutorial.back")}
            </Button>
          )}
          <Button
            onClick={finish}
            disabled={!isDone}
            rightSection={<ArrowRight size={16} aria-hidden />}
            data-testid="lesson-next"
          >
            {index === lesson.steps.length - 1 ? t("tutorial.end") : t("tutorial.next")}
          </Button>
          {!isDone && (
            <Text size="sm" className="hone-muted">
              {isAsked ? t("tutorial.answerFirst") : t("tutorial.doFirst")}
            </Text>
          )}
        </Group>
      </Stack>
    </div>
  );
}
