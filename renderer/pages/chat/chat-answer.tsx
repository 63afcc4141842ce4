/** One model's answer: while it is written, when it is there, or why there is none. */

import { ActionIcon, Anchor, Badge, Button, Group, Text, Tooltip } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { BookmarkPlus, Copy, RotateCcw, ThumbsUp } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { ChatReply } from "../../../core/contract/api/chat-calls.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { useApi } from "../../app/hone-context.tsx";
import { Conversation } from "../../components/conversation.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { isWriting, messagesBefore, readTools, type Column, type Turn } from "../../stores/chat-store.ts";
import type { AnswerView } from "./chat-options.tsx";
import { useChat, useChatStore } from "./use-chat.ts";

/** Datasets that answers and pairs go to. */
const rowsName = "chat-answers";
const pairsName = "chat-pairs";

export function ChatAnswer({ turn, column, view }: { turn: Turn; column: Column; view: AnswerView }) {
  const { t } = useTranslation();
  const store = useChatStore();
  const answer = turn.answers[column.id];
  if (answer === undefined) {
    return (
      <div>
        <Button size="compact-sm" variant="default" onClick={() => void store.again(turn.id, column.id)}>
          {t("chat.ask")}
        </Button>
      </div>
    );
  }
  if (answer.state === "failed") {
    return <ErrorBox error={answer.error} onRetry={() => void store.again(turn.id, column.id)} />;
  }
  const label = t("chat.answerOf", { model: column.model });
  if (answer.state === "writing") {
    const { content = "", reasoning = "" } = answer.soFar ?? {};
    return (
      <Conversation
        label={label}
        messages={[{ role: "assistant", content, reasoning_content: reasoning }]}
        writing={0}
        footer={() =>
          answer.soFar !== undefined && (
            <Text size="xs" className="hone-muted hone-numbers">
              {t("chat.soFar", { count: answer.soFar.tokens, speed: speed(answer.soFar.tokens, answer.soFar.seconds) })}
            </Text>
          )
        }
      />
    );
  }
  const { reply } = answer;
  return (
    <Conversation
      label={label}
      messages={[view === "written" ? { role: "assistant", content: reply.text } : reply.message]}
      markdown={view === "formatted"}
      {...(view === "certainty" && { tokens: { 0: reply.tokens } })}
      footer={() => <AnswerFoot reply={reply} turn={turn} column={column} />}
    />
  );
}

function AnswerFoot({ reply, turn, column }: { reply: ChatReply; turn: Turn; column: Column }) {
  const { t } = useTranslation();
  const api = useApi();
  const store = useChatStore();
  const isBusy = useChat(isWriting);
  const [error, setError] = useState<unknown>();
  const others = Object.entries(turn.answers).flatMap(([id, other]) =>
    id !== column.id && other.state === "done" ? [other.reply] : [],
  );
  const prompt = () => {
    const state = store.getState();
    return messagesBefore(
      state,
      column.id,
      state.turns.findIndex(({ id }) => id === turn.id),
    );
  };
  const act = async (work: () => Promise<ReactNode>) => {
    setError(undefined);
    try {
      notifications.show({ color: "teal", message: await work() });
    } catch (problem) {
      setError(problem);
    }
  };
  const kept = ({ dataset, rows }: { dataset: string; rows: number }) => (
    <>
      {t("chat.kept", { dataset, rows })}{" "}
      <Anchor href={`#/data/${encodeURIComponent(dataset)}`}>{t("chat.show")}</Anchor>
    </>
  );
  const keep = () =>
    act(async () => {
      const tools = readTools(store.getState().settings.tools);
      return kept(await api.call("chat.keep", { dataset: rowsName, prompt: prompt(), answer: reply.message, tools }));
    });
  const better = () =>
    act(async () => {
      const tools = readTools(store.getState().settings.tools);
      let rated = { dataset: pairsName, rows: 0 };
      for (const { message } of others) {
        rated = await api.call("chat.rate", {
          dataset: pairsName,
          prompt: prompt(),
          chosen: reply.message,
          rejected: message,
          tools,
        });
      }
      return kept(rated);
    });
  const copy = () =>
    act(async () => {
      await navigator.clipboard.writeText(reply.text);
      return t("chat.copied");
    });
  const button = (label: string, icon: ReactNode, onClick: () => void, disabled = false) => (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" size="sm" aria-label={label} onClick={onClick} disabled={disabled}>
        {icon}
      </ActionIcon>
    </Tooltip>
  );
  const used = reply.prompt_tokens + reply.completion_tokens;
  return (
    <>
      {reply.problems.map((problem) => (
        <Badge key={problem} color="orange" variant="light" autoContrast tt="none" mt={4}>
          {problem}
        </Badge>
      ))}
      {reply.finish_reason === "length" && (
        <Text size="xs" c="var(--hone-warn)">
          {used >= reply.context_length ? t("chat.contextFull") : t("chat.cut")}
        </Text>
      )}
      {reply.finish_reason === "stopped" && (
        <Text size="xs" className="hone-muted">
          {t("chat.stopped")}
        </Text>
      )}
      <Group justify="space-between" gap={4} mt={4}>
        <Text
          size="xs"
          className="hone-muted hone-numbers"
          title={t("chat.first", { seconds: reply.first_token_seconds.toFixed(2) })}
        >
          {t("chat.count", {
            count: reply.completion_tokens,
            speed: speed(reply.completion_tokens, reply.seconds - reply.first_token_seconds),
            used: formatCount(used),
            length: formatCount(reply.context_length),
          })}
        </Text>
        <Group gap={2}>
          {others.length > 0 &&
            button(t("chat.better"), <ThumbsUp size={13} aria-hidden />, () => void better(), isBusy)}
          {button(t("chat.keep"), <BookmarkPlus size={13} aria-hidden />, () => void keep())}
          {button(t("chat.copy"), <Copy size={13} aria-hidden />, () => void copy())}
          {button(
            t("chat.again"),
            <RotateCcw size={13} aria-hidden />,
            () => void store.again(turn.id, column.id),
            isBusy,
          )}
        </Group>
      </Group>
      {error !== undefined && <ErrorBox error={error} />}
    </>
  );
}

function speed(tokens: number, seconds: number): string {
  if (seconds <= 0) return "–";
  const perSecond = tokens / seconds;
  return perSecond < 10 ? perSecond.toFixed(1) : formatCount(perSecond);
}
