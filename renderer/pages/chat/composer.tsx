/** Where the next message is written. */

import { Button, Group, SegmentedControl, Stack, Text, Textarea } from "@mantine/core";
import { SendHorizontal, Square } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ErrorBox } from "../../components/error-box.tsx";
import { isWriting, type Turn } from "../../stores/chat-store.ts";
import classes from "./chat.module.css";
import { useChat, useChatStore } from "./use-chat.ts";

export function Composer() {
  const { t } = useTranslation();
  const store = useChatStore();
  const isBusy = useChat(isWriting);
  const canAnswerTool = useChat(({ turns }) =>
    Object.values(turns.at(-1)?.answers ?? {}).some(
      (answer) => answer.state === "done" && (answer.reply.message.tool_calls?.length ?? 0) > 0,
    ),
  );
  const [text, setText] = useState("");
  const [role, setRole] = useState<Turn["role"]>("user");
  const [error, setError] = useState<unknown>();
  const send = () => {
    if (text.trim() === "" || isBusy) return;
    setError(undefined);
    const said = text;
    setText("");
    setRole("user");
    store.send(said, canAnswerTool ? role : "user").catch((problem: unknown) => {
      setError(problem);
      setText(said);
    });
  };
  return (
    <Stack className={`hone-card ${classes.composer}`} gap="xs">
      {error !== undefined && <ErrorBox error={error} />}
      {canAnswerTool && (
        <SegmentedControl
          size="xs"
          aria-label={t("chat.composer.role")}
          value={role}
          onChange={(value) => setRole(value)}
          data={[
            { value: "user", label: t("chat.role.user") },
            { value: "tool", label: t("chat.role.tool") },
          ]}
        />
      )}
      <Textarea
        aria-label={t("chat.composer.label")}
        placeholder={role === "tool" && canAnswerTool ? t("chat.composer.tool") : t("chat.composer.placeholder")}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") store.stop();
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
        autosize
        minRows={2}
        maxRows={10}
      />
      <Group justify="space-between">
        <Text size="xs" className="hone-muted">
          {t("chat.composer.keys")}
        </Text>
        {isBusy ? (
          <Button variant="default" leftSection={<Square size={14} aria-hidden />} onClick={() => store.stop()}>
            {t("chat.stopWriting")}
          </Button>
        ) : (
          <Button leftSection={<SendHorizontal size={15} aria-hidden />} disabled={text.trim() === ""} onClick={send}>
            {t("chat.send")}
          </Button>
        )}
      </Group>
    </Stack>
  );
}
