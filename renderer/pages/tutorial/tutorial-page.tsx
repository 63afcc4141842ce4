import { Button, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import type { ListedLesson } from "../../../core/contract/api/tutorial-calls.ts";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { LessonView } from "./lesson-view.tsx";
import { useLessonText } from "./use-lesson-text.ts";

export default function TutorialPage() {
  const { t } = useTranslation();
  const loaded = useCall("tutorial.lessons", {});
  const wanted = new URLSearchParams(useSearch()).get("lesson");
  return (
    <LoadedView of={loaded}>
      {({ lessons, problems }) => {
        const chosen = lessons.find(({ lesson }) => lesson.id === wanted);
        if (chosen !== undefined) return <LessonView key={chosen.lesson.id} {...chosen} />;
        return (
          <Page title={t("nav.tutorial")} lead={t("tutorial.lead")}>
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
              {lessons.map((listed) => (
                <LessonCard key={listed.lesson.id} {...listed} />
              ))}
            </SimpleGrid>
            {problems.map(({ path, why }) => (
              <Text key={path} size="sm" role="status">
                {t("tutorial.broken", { path, why })}
              </Text>
            ))}
            <Text size="sm" className="hone-muted">
              {t("tutorial.own")}
            </Text>
          </Page>
        );
      }}
    </LoadedView>
  );
}

function LessonCard({ lesson, progress }: ListedLesson) {
  const { t } = useTranslation();
  const text = useLessonText();
  const [, navigate] = useLocation();
  const begun = progress !== null && !progress.finished && progress.done.length > 0;
  return (
    <Stack className="hone-card" gap="xs" justify="space-between">
      <Stack gap={4}>
        <Title order={2} size="h5">
          {text(lesson.title)}
        </Title>
        <Text size="sm">{text(lesson.description)}</Text>
        <Text size="sm" className="hone-muted">
          {t("tutorial.minutes", { minutes: lesson.minutes })}
          {progress?.finished === true && ` · ${t("tutorial.finished")}`}
          {begun && ` · ${t("tutorial.stepsDone", { done: progress.done.length, total: lesson.steps.length })}`}
        </Text>
      </Stack>
      <Group>
        <Button onClick={() => navigate(`/tutorial?lesson=${lesson.id}`)}>
          {begun ? t("tutorial.continue") : progress?.finished === true ? t("tutorial.again") : t("tutorial.begin")}
        </Button>
      </Group>
    </Stack>
  );
}
