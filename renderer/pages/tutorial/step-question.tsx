/** Predict, then see: a question before something is done, and what is to be seen afterwards. */

import { Button, Group, Radio, Slider, Stack, Text } from "@mantine/core";
import { Eye } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { LessonQuestion } from "../../../core/contract/lesson.ts";
import { LessonMarkdown } from "./lesson-markdown.tsx";
import { useLessonText } from "./use-lesson-text.ts";

interface StepQuestionProps {
  question: LessonQuestion;
  answer: number | undefined;
  onAnswer: (answer: number) => void;
}

export function StepQuestion({ question, answer, onAnswer }: StepQuestionProps) {
  const text = useLessonText();
  const { t } = useTranslation();
  const [value, setValue] = useState(
    answer ?? (question.kind === "number" ? (question.least + question.most) / 2 : -1),
  );
  if (answer !== undefined) {
    const said = question.kind === "choice" ? text(question.options[answer] ?? question.options[0]) : String(answer);
    return (
      <Text size="sm" className="hone-muted">
        <LessonMarkdown inline text={text(question.prompt)} /> <b>{t("tutorial.youSaid", { answer: said })}</b>
      </Text>
    );
  }
  return (
    <Stack className="hone-card" gap="sm" maw={640}>
      {question.kind === "choice" ? (
        <Radio.Group
          label={<LessonMarkdown inline text={text(question.prompt)} />}
          value={String(value)}
          onChange={(next) => setValue(Number(next))}
        >
          <Stack gap={6} mt="xs">
            {question.options.map((option, index) => (
              <Radio key={index} value={String(index)} label={text(option)} />
            ))}
          </Stack>
        </Radio.Group>
      ) : (
        <Stack gap="lg" pb="xs">
          <Text size="sm" fw={500} id="lesson-question">
            <LessonMarkdown inline text={text(question.prompt)} />
          </Text>
          <Slider
            min={question.least}
            max={question.most}
            step={question.step}
            value={value}
            onChange={(next) => setValue(Number(next.toFixed(6)))}
            labelAlwaysOn
            mt="xs"
            thumbProps={{ "aria-labelledby": "lesson-question" }}
            marks={[
              { value: question.least, label: String(question.least) },
              { value: question.most, label: String(question.most) },
            ]}
          />
        </Stack>
      )}
      <Group mt="xs">
        <Button onClick={() => onAnswer(value)} disabled={value === -1 && question.kind === "choice"}>
          {t("tutorial.answer")}
        </Button>
      </Group>
    </Stack>
  );
}

export function StepReveal({ question }: { question: LessonQuestion }) {
  const text = useLessonText();
  return (
    <Group className="hone-card" gap="sm" wrap="nowrap" maw={760} role="status" align="flex-start">
      <Eye size={18} aria-hidden style={{ flexShrink: 0, marginTop: 2 }} />
      <Text size="sm" component="div">
        <LessonMarkdown inline text={text(question.reveal)} />
      </Text>
    </Group>
  );
}
