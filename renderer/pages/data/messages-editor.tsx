/** Messages of a row, each to be edited, moved, added and removed. Keys that are not shown stay as they are. */

import { ActionIcon, Button, Code, Fieldset, Group, Select, Stack, Textarea } from "@mantine/core";
import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { isRecord } from "../../../core/contract/is-record.ts";
import classes from "./data.module.css";

type Message = Record<string, unknown>;

/** Also in ShareGPT's words. */
export function isMessages(value: unknown): value is Message[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => isRecord(one) && keysOf(one) !== undefined);
}

function keysOf(message: Message): { role: string; content: string } | undefined {
  if (typeof message["role"] === "string") return { role: "role", content: "content" };
  if (typeof message["from"] === "string") return { role: "from", content: "value" };
  return undefined;
}

const roles = { role: ["system", "user", "assistant", "tool"], from: ["system", "human", "gpt", "tool"] };

interface MessagesEditorProps {
  id: string;
  label: string;
  messages: readonly Message[];
  onChange: (messages: Message[]) => void;
}

export function MessagesEditor({ id, label, messages, onChange }: MessagesEditorProps) {
  const { t } = useTranslation();
  const replace = (index: number, message: Message) =>
    onChange(messages.map((one, i) => (i === index ? message : one)));
  const move = (from: number, to: number) => {
    const next = [...messages];
    next.splice(to, 0, ...next.splice(from, 1));
    onChange(next);
  };
  const keys = keysOf(messages[0]) ?? { role: "role", content: "content" };
  const known = keys.role === "from" ? roles.from : roles.role;
  const [user, assistant] = [known[1], known[2]];
  return (
    <Fieldset legend={label} p="xs" id={id} tabIndex={-1}>
      <Stack gap="sm">
        {messages.map((message, index) => {
          const role = String(message[keys.role]);
          const content = message[keys.content];
          const others = Object.entries(message).filter(([key]) => key !== keys.role && key !== keys.content);
          const place = t("data.message.at", { number: index + 1 });
          return (
            <div key={index} className={classes.message} data-role={role === "gpt" ? "assistant" : role}>
              <Group gap={4} wrap="nowrap" mb={4}>
                <Select
                  size="xs"
                  w={112}
                  aria-label={`${place}: ${t("data.message.role")}`}
                  data={known.includes(role) ? known : [...known, role]}
                  value={role}
                  onChange={(next) => replace(index, { ...message, [keys.role]: next })}
                />
                <Group gap={2} ml="auto" wrap="nowrap">
                  <ActionIcon
                    variant="subtle"
                    size="sm"
                    disabled={index === 0}
                    aria-label={`${place}: ${t("data.message.up")}`}
                    onClick={() => move(index, index - 1)}
                  >
                    <ArrowUp size={14} aria-hidden />
                  </ActionIcon>
                  <ActionIcon
                    variant="subtle"
                    size="sm"
                    disabled={index === messages.length - 1}
                    aria-label={`${place}: ${t("data.message.down")}`}
                    onClick={() => move(index, index + 1)}
                  >
                    <ArrowDown size={14} aria-hidden />
                  </ActionIcon>
                  <ActionIcon
                    variant="subtle"
                    size="sm"
                    color="red"
                    disabled={messages.length === 1}
                    aria-label={`${place}: ${t("data.message.remove")}`}
                    onClick={() => onChange(messages.filter((_, i) => i !== index))}
                  >
                    <X size={14} aria-hidden />
                  </ActionIcon>
                </Group>
              </Group>
              {content === undefined || content === null || typeof content === "string" ? (
                <Textarea
                  aria-label={`${place}: ${t("data.message.content")}`}
                  value={content ?? ""}
                  onChange={(event) => replace(index, { ...message, [keys.content]: event.currentTarget.value })}
                  autosize
                  minRows={1}
                  maxRows={16}
                />
              ) : (
                <Code block>{JSON.stringify(content, undefined, 1)}</Code>
              )}
              {others.map(([key, value]) => (
                <Code block key={key} mt={4}>
                  {`${key}: ${JSON.stringify(value, undefined, 1)}`}
                </Code>
              ))}
            </div>
          );
        })}
        <Button
          size="compact-sm"
          variant="subtle"
          leftSection={<Plus size={14} aria-hidden />}
          onClick={() => {
            const next = messages.at(-1)?.[keys.role] === user ? assistant : user;
            onChange([...messages, { [keys.role]: next, [keys.content]: "" }]);
          }}
        >
          {t("data.message.add")}
        </Button>
      </Stack>
    </Fieldset>
  );
}
