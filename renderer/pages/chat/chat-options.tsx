/** How models answer, and how answers are shown. */

import { Button, Collapse, Group, NumberInput, SegmentedControl, Stack, Text, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";
import { errorMessage } from "../../../core/contract/errors.ts";
import { Term } from "../../components/term.tsx";
import { readTools, type ChatSettings } from "../../stores/chat-store.ts";
import classes from "./chat.module.css";
import { useChat, useChatStore } from "./use-chat.ts";

export type AnswerView = "formatted" | "written" | "certainty";

interface ChatOptionsProps {
  view: AnswerView;
  onView: (view: AnswerView) => void;
}

export function ChatOptions({ view, onView }: ChatOptionsProps) {
  const { t } = useTranslation();
  const store = useChatStore();
  const settings = useChat((state) => state.settings);
  const [opened, { toggle }] = useDisclosure(false);
  const number = (name: "temperature" | "topP" | "maxTokens" | "seed", term: string, props: object) => (
    <NumberInput
      w={130}
      label={<Term name={term} />}
      aria-label={t(`terms.${term}.word`)}
      value={settings[name]}
      onChange={(value) => {
        if (typeof value === "number") store.change({ [name]: value });
      }}
      clampBehavior="strict"
      {...props}
    />
  );
  return (
    <Stack className="hone-card" gap="sm" component="section" aria-label={t("chat.options.title")}>
      <Group justify="space-between">
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={toggle}
          aria-expanded={opened}
          leftSection={opened ? <ChevronDown size={15} aria-hidden /> : <ChevronRight size={15} aria-hidden />}
        >
          {t("chat.options.title")}
        </Button>
        {!opened && (
          <Text size="xs" className="hone-muted hone-numbers" flex={1} truncate>
            {summary(settings, t)}
          </Text>
        )}
        <SegmentedControl
          size="xs"
          aria-label={t("chat.view.label")}
          value={view}
          onChange={(value) => onView(value)}
          data={(["formatted", "written", "certainty"] as const).map((value) => ({
            value,
            label: t(`chat.view.${value}`),
          }))}
        />
      </Group>
      <Collapse expanded={opened}>
        <Stack gap="sm">
          <Textarea
            label={t("chat.options.system")}
            description={t("chat.options.systemWhat")}
            value={settings.system}
            onChange={(event) => store.change({ system: event.currentTarget.value })}
            autosize
            minRows={2}
            maxRows={8}
          />
          <Group align="flex-start" gap="md">
            {number("temperature", "temperature", { min: 0, max: 5, step: 0.1 })}
            {number("topP", "top_p", { min: 0.01, max: 1, step: 0.05 })}
            {number("maxTokens", "max_tokens", { min: 1, max: 131072, step: 64 })}
            {number("seed", "seed", { min: 0, max: 2147483647 })}
            <Stack gap={4}>
              <Text size="sm" fw={500} component="div" id="chat-thinking">
                <Term name="thinking_switch" />
              </Text>
              <SegmentedControl
                aria-labelledby="chat-thinking"
                value={settings.thinking}
                onChange={(value) => store.change({ thinking: value })}
                data={(["auto", "on", "off"] as const).map((value) => ({
                  value,
                  label: t(`chat.options.thinking.${value}`),
                }))}
              />
            </Stack>
          </Group>
          <Textarea
            className={classes.tools}
            label={t("chat.options.tools")}
            description={t("chat.options.toolsWhat")}
            placeholder='[{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]'
            value={settings.tools}
            onChange={(event) => store.change({ tools: event.currentTarget.value })}
            error={toolsProblem(settings.tools)}
            autosize
            minRows={2}
            maxRows={12}
            spellCheck={false}
          />
        </Stack>
      </Collapse>
    </Stack>
  );
}

function toolsProblem(text: string): string | undefined {
  try {
    readTools(text);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

function summary(settings: ChatSettings, t: ReturnType<typeof useTranslation>["t"]): string {
  return [
    `${t("terms.temperature.word")} ${settings.temperature}`,
    `${t("terms.max_tokens.word")} ${settings.maxTokens}`,
    ...(settings.topP < 1 ? [`${t("terms.top_p.word")} ${settings.topP}`] : []),
    ...(settings.system.trim() === "" ? [] : [t("chat.options.system")]),
    ...(settings.tools.trim() === "" ? [] : [t("chat.options.tools")]),
  ].join(" · ");
}
