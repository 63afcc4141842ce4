/** A conversation with any model, or with up to three side by side. */

import { Button, Text } from "@mantine/core";
import { Eraser, Plus } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import { EmptyState } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { mostColumns } from "../../stores/chat-store.ts";
import { ChatColumns } from "./chat-columns.tsx";
import { ChatOptions, type AnswerView } from "./chat-options.tsx";
import { ChatTurn } from "./chat-turn.tsx";
import classes from "./chat.module.css";
import { Composer } from "./composer.tsx";
import { useChat, useChatStore } from "./use-chat.ts";

/** Pixels from the end within which new text is followed. */
const near = 160;

export default function ChatPage() {
  const { t } = useTranslation();
  const store = useChatStore();
  const search = useSearch();
  const [, navigate] = useLocation();
  const columns = useChat((state) => state.columns);
  const turns = useChat((state) => state.turns);
  const [view, setView] = useState<AnswerView>("formatted");
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    store.setColumns(new URLSearchParams(search).getAll("model"));
    for (const { model } of store.getState().columns) void store.openModel(model);
  }, [store, search]);
  useEffect(() => {
    // As the store has it now: the effect above may just have changed it.
    const models = store.getState().columns.map(({ model }) => `model=${encodeURIComponent(model)}`);
    navigate(`/chat?${models.join("&")}`, { replace: true });
  }, [store, columns, navigate]);
  useEffect(() => {
    const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
    if (scrollHeight - clientHeight - scrollTop < near) end.current?.scrollIntoView({ block: "end" });
  }, [turns]);
  return (
    <Page
      title={t("nav.chat")}
      lead={t("chat.lead")}
      actions={
        <>
          <Button
            variant="default"
            leftSection={<Plus size={15} aria-hidden />}
            disabled={columns.length >= mostColumns}
            onClick={() => store.addColumn()}
          >
            {t("chat.addColumn")}
          </Button>
          <Button
            variant="default"
            leftSection={<Eraser size={15} aria-hidden />}
            disabled={turns.length === 0}
            onClick={() => store.clear()}
          >
            {t("chat.clear")}
          </Button>
        </>
      }
    >
      <ChatOptions view={view} onView={setView} />
      <div className={classes.conversation}>
        <ChatColumns />
        {turns.length === 0 ? (
          <EmptyState title={t("chat.empty.title")}>
            <Text inherit>{t("chat.empty.what")}</Text>
            {columns.some(({ model }) => model === "starter") && <Text inherit>{t("chat.empty.starter")}</Text>}
          </EmptyState>
        ) : (
          turns.map((turn) => <ChatTurn key={turn.id} turn={turn} view={view} />)
        )}
        <div ref={end} className={classes.end} />
      </div>
      <Composer />
    </Page>
  );
}
