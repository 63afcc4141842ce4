/** Which models answer: one field for each, with what is known of it. */

import { ActionIcon, Group, Text, Tooltip } from "@mantine/core";
import { X } from "lucide-react";
import type { CSSProperties } from "react";
import { useTranslation } from "react-i18next";
import { formatCount } from "../../../core/contract/units.ts";
import { ErrorBox } from "../../components/error-box.tsx";
import { ModelPicker } from "../../components/model-picker.tsx";
import { Term } from "../../components/term.tsx";
import type { ModelFacts } from "../../stores/chat-store.ts";
import classes from "./chat.module.css";
import { useChat, useChatStore } from "./use-chat.ts";

export function ChatColumns() {
  const { t } = useTranslation();
  const store = useChatStore();
  const columns = useChat((state) => state.columns);
  const facts = useChat((state) => state.facts);
  return (
    <div
      className={`${classes.columns} ${classes.heads}`}
      data-alone={columns.length === 1 || undefined}
      style={{ "--columns": columns.length } as CSSProperties}
    >
      {columns.map(({ id, model }, i) => (
        <div key={id} className={classes.head}>
          <Group gap={4} align="flex-start" wrap="nowrap">
            <div style={{ flex: 1, minWidth: 0 }}>
              <ModelPicker
                label={columns.length === 1 ? t("chat.model") : t("chat.modelNumber", { number: i + 1 })}
                value={model}
                onChange={(chosen) => store.setModel(id, chosen)}
              />
            </div>
            {columns.length > 1 && (
              <Tooltip label={t("chat.removeColumn", { number: i + 1 })}>
                <ActionIcon
                  mt={26}
                  variant="subtle"
                  aria-label={t("chat.removeColumn", { number: i + 1 })}
                  onClick={() => store.removeColumn(id)}
                >
                  <X size={15} aria-hidden />
                </ActionIcon>
              </Tooltip>
            )}
          </Group>
          <Facts facts={facts[model]} onRetry={() => void store.openModel(model)} />
        </div>
      ))}
    </div>
  );
}

function Facts({ facts, onRetry }: { facts: ModelFacts | undefined; onRetry: () => void }) {
  const { t } = useTranslation();
  if (facts === undefined) return null;
  if (facts === "loading") {
    return (
      <Text size="xs" className="hone-muted" mt={4} role="status">
        {t("chat.opening")}
      </Text>
    );
  }
  if ("error" in facts) return <ErrorBox error={facts.error} onRetry={onRetry} />;
  return (
    <Text size="xs" className="hone-muted hone-numbers" mt={4}>
      {t("chat.facts", { parameters: formatCount(facts.parameters) })}{" "}
      <Term name="context_length">{t("chat.context", { length: formatCount(facts.context_length) })}</Term>
      {facts.can_switch_thinking && ` · ${t("chat.canThink")}`}
    </Text>
  );
}
