/** What the model saw and wrote for its move, word for word, and how sure it was of each token. */

import { Badge, Group, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { ModelAnswer } from "../../../core/contract/api/play-calls.ts";
import { Conversation, TokenText } from "../../components/conversation.tsx";
import { Term } from "../../components/term.tsx";
import { sideAt } from "../../stores/play-store.ts";
import classes from "./play.module.css";
import { usePlay } from "./use-play.ts";

export function AnswerCard() {
  const { t } = useTranslation();
  const state = usePlay((all) => all);
  const { answers, look, moves, writing, busy } = state;
  const plies = Object.keys(answers).map(Number);
  const ply = look ?? (plies.length === 0 ? undefined : Math.max(...plies));
  const shown = ply === undefined ? undefined : answers[ply];
  const answer = shown?.answer ?? undefined;
  return (
    <Stack className="hone-card" gap="sm" component="section" aria-label={t("play.answer.title")}>
      <Group justify="space-between" gap="xs">
        <Text fw={600}>{t("play.answer.title")}</Text>
        {answer !== undefined && ply !== undefined && (
          <Text size="xs" className="hone-muted hone-numbers">
            {t("play.answer.which", { model: answer.model, ply: ply + 1, side: sideAt(ply).toUpperCase() })}
          </Text>
        )}
      </Group>
      {busy && writing !== undefined ? (
        <Conversation
          label={t("play.answer.title")}
          messages={[{ role: "assistant", content: writing.content, reasoning_content: writing.reasoning }]}
          writing={0}
        />
      ) : answer === undefined ? (
        <Text size="sm" className="hone-muted">
          {look !== undefined && look < moves.length ? t("play.answer.notAModel") : t("play.answer.none")}
        </Text>
      ) : (
        <>
          <Conversation
            label={t("play.answer.title")}
            messages={messagesOf(answer)}
            folded={[0, 1]}
            names={{ user: t("play.answer.prompt") }}
          />
          {shown?.illegal != null && (
            <Badge color="red" variant="light" autoContrast tt="none">
              {t(`play.failure.${shown.illegal.failure}`)}
            </Badge>
          )}
          <div>
            <Text size="xs" className="hone-muted" mb={4}>
              <Term name="token_certainty">{t("play.answer.raw")}</Term>
            </Text>
            <div className={classes.raw} tabIndex={0} role="region" aria-label={t("play.answer.raw")}>
              <TokenText tokens={answer.tokens} />
            </div>
          </div>
          <Text size="xs" className="hone-muted hone-numbers">
            {t("play.answer.facts", {
              prompt: answer.prompt_tokens,
              count: answer.tokens.length,
              time:
                answer.seconds < 0.1
                  ? t("play.answer.ms", { ms: (1000 * answer.seconds).toFixed(0) })
                  : t("play.answer.s", { s: answer.seconds.toFixed(1) }),
              stop: t(`chat.stop.${answer.stop_reason}`),
            })}
          </Text>
        </>
      )}
    </Stack>
  );
}

function messagesOf({ prompt, content, reasoning, tool_calls: calls }: ModelAnswer) {
  return [...prompt, { role: "assistant", content, reasoning_content: reasoning, tool_calls: calls }];
}
