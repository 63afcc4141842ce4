/** One message and the answers to it, side by side. */

import { ActionIcon, Button, Group, Stack, Textarea, Tooltip } from "@mantine/core";
import { Pencil } from "lucide-react";
import { useState, type CSSProperties } from "react";
import { useTranslation } from "react-i18next";
import { Conversation } from "../../components/conversation.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import type { Turn } from "../../stores/chat-store.ts";
import { ChatAnswer } from "./chat-answer.tsx";
import type { AnswerView } from "./chat-options.tsx";
import classes from "./chat.module.css";
import { useChat, useChatStore } from "./use-chat.ts";

export function ChatTurn({ turn, view }: { turn: Turn; view: AnswerView }) {
  const { t } = useTranslation();
  const store = useChatStore();
  const columns = useChat((state) => state.columns);
  const [text, setText] = useState<string>();
  const [error, setError] = useState<unknown>();
  const resend = () => {
    if (text === undefined || text.trim() === "") return;
    setText(undefined);
    store.resend(turn.id, text).catch(setError);
  };
  return (
    <>
      <div className={classes.asked}>
        {text === undefined ? (
          <Conversation
            label={t("chat.message")}
            messages={[{ role: turn.role, content: turn.text }]}
            footer={() => (
              <Group justify="flex-end">
                <Tooltip label={t("chat.edit")}>
                  <ActionIcon variant="subtle" size="sm" aria-label={t("chat.edit")} onClick={() => setText(turn.text)}>
                    <Pencil size={13} aria-hidden />
                  </ActionIcon>
                </Tooltip>
              </Group>
            )}
          />
        ) : (
          <Stack className="hone-card" gap="xs">
            <Textarea
              aria-label={t("chat.edit")}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Escape") setText(undefined);
              }}
              autosize
              minRows={2}
              data-autofocus
              autoFocus
            />
            <Group justify="flex-end" gap="xs">
              <Button size="xs" variant="default" onClick={() => setText(undefined)}>
                {t("common.cancel")}
              </Button>
              <Button size="xs" onClick={resend}>
                {t("chat.resend")}
              </Button>
            </Group>
          </Stack>
        )}
        {error !== undefined && <ErrorBox error={error} />}
      </div>
      <div
        className={classes.columns}
        data-alone={columns.length === 1 || undefined}
        style={{ "--columns": columns.length } as CSSProperties}
      >
        {columns.map((column) => (
          <ChatAnswer key={column.id} turn={turn} column={column} view={view} />
        ))}
      </div>
    </>
  );
}
