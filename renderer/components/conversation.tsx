/** Messages as a person reads them: who speaks, thinking folded away, tool calls, tool results, and tokens by how sure the model was. */

import { Badge, Code, Group, Loader, Text } from "@mantine/core";
import { Brain, ChevronRight, Wrench } from "lucide-react";
import { lazy, Suspense, type CSSProperties, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { DrawnToken } from "../../core/contract/api/play-calls.ts";
import { functionOf, messageText, type ChatMessage } from "../../core/contract/chat.ts";
import classes from "./conversation.module.css";

const Markdown = lazy(() => import("./markdown.tsx"));

export interface ConversationProps {
  messages: readonly ChatMessage[];
  /** Accessible name of the list. */
  label: string;
  /** By message index: the tokens that it was drawn as. They are shown in place of the message, coloured by log-prob. */
  tokens?: Readonly<Record<number, readonly DrawnToken[]>>;
  /** What stands below a message: token counts, buttons. */
  footer?: (index: number) => ReactNode;
  /** Answers as Markdown, shown safely; default false: exactly as written. */
  markdown?: boolean;
  /** Index of the message that is being written. */
  writing?: number;
  /** Indices of messages that are folded to one line at first. */
  folded?: readonly number[];
  /** Names in place of the usual ones, by role. */
  names?: Readonly<Record<string, string>>;
}

const knownRoles = ["system", "user", "assistant", "tool", "developer"];

export function Conversation({
  messages,
  label,
  tokens = {},
  footer,
  markdown,
  writing,
  folded = [],
  names = {},
}: ConversationProps) {
  const { t } = useTranslation();
  return (
    <ol className={classes.list} aria-label={label}>
      {messages.map((message, i) => {
        const role =
          names[message.role] ?? (knownRoles.includes(message.role) ? t(`chat.role.${message.role}`) : message.role);
        const body = (
          <MessageBody
            message={message}
            tokens={tokens[i]}
            markdown={markdown === true && message.role === "assistant"}
            isWriting={writing === i}
          />
        );
        return (
          <li key={i} className={classes.message} data-role={message.role} aria-busy={writing === i || undefined}>
            {folded.includes(i) ? (
              <Fold summary={<span className={classes.role}>{role}</span>} detail={brief(messageText(message))}>
                {body}
              </Fold>
            ) : (
              <>
                <Group gap={6} className={classes.head}>
                  <span className={classes.role}>{role}</span>
                  {writing === i && <Loader size={12} type="dots" />}
                </Group>
                {body}
              </>
            )}
            {footer?.(i)}
          </li>
        );
      })}
    </ol>
  );
}

interface MessageBodyProps {
  message: ChatMessage;
  tokens: readonly DrawnToken[] | undefined;
  markdown: boolean;
  isWriting: boolean;
}

function MessageBody({ message, tokens, markdown, isWriting }: MessageBodyProps) {
  const { t } = useTranslation();
  const text = messageText(message);
  const thought = message.reasoning_content ?? "";
  const calls = (message.tool_calls ?? []).map(functionOf);
  if (tokens !== undefined) return <TokenText tokens={tokens} />;
  return (
    <>
      {thought !== "" && (
        <Fold
          summary={
            <>
              <Brain size={14} aria-hidden /> {t("chat.thinking")}
            </>
          }
          open={isWriting && text === ""}
        >
          <div className={classes.thought}>{thought}</div>
        </Fold>
      )}
      {text !== "" && (message.role === "tool" ? <Code block>{text}</Code> : <Said text={text} markdown={markdown} />)}
      {calls.map((call, i) => (
        <Group key={i} gap="xs" className={classes.call} wrap="nowrap" align="flex-start">
          <Badge variant="light" color="grape" autoContrast tt="none" leftSection={<Wrench size={11} aria-hidden />}>
            {t("chat.call")}
          </Badge>
          <code>
            {call.name}({typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments)})
          </code>
        </Group>
      ))}
      {text === "" && calls.length === 0 && thought === "" && !isWriting && (
        <Text size="sm" className="hone-muted">
          {t("chat.saidNothing")}
        </Text>
      )}
    </>
  );
}

function Said({ text, markdown }: { text: string; markdown: boolean }) {
  if (!markdown) return <div className={classes.text}>{text}</div>;
  return (
    <Suspense fallback={<div className={classes.text}>{text}</div>}>
      <Markdown text={text} />
    </Suspense>
  );
}

/** Every token on a ground that is the stronger, the less sure the model was. */
export function TokenText({ tokens }: { tokens: readonly DrawnToken[] }) {
  const { t } = useTranslation();
  return (
    <div className={classes.text} data-tokens>
      {tokens.map(({ text, logprob }, i) => {
        const share = Math.exp(logprob);
        return (
          <span
            key={i}
            className={classes.token}
            style={{ "--doubt": (1 - share).toFixed(3) } as CSSProperties}
            title={t("chat.tokenTitle", { share: (100 * share).toFixed(1), logprob: logprob.toFixed(2) })}
          >
            {text}
          </span>
        );
      })}
    </div>
  );
}

interface FoldProps {
  summary: ReactNode;
  detail?: string;
  open?: boolean;
  children: ReactNode;
}

function Fold({ summary, detail = "", open = false, children }: FoldProps) {
  return (
    <details className={classes.fold} open={open || undefined}>
      <summary>
        <ChevronRight size={14} aria-hidden className={classes.chevron} />
        {summary}
        <span className={classes.detail}>{detail}</span>
      </summary>
      {children}
    </details>
  );
}

function brief(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 90 ? `${line.slice(0, 90)}…` : line;
}
