/** A conversation with one to three models at once: the same messages, each model's own answers. Knows nothing of React. */

import { createStore, type StoreApi } from "zustand/vanilla";
import type { Api } from "../../core/contract/api/api.ts";
import type { ChatModel, ChatReply } from "../../core/contract/api/chat-calls.ts";
import type { AnswerSoFar } from "../../core/contract/api/play-calls.ts";
import type { ChatMessage, ToolDefinition } from "../../core/contract/chat.ts";
import { errorKind, HoneError } from "../../core/contract/errors.ts";

export interface Column {
  id: string;
  model: string;
}

export type Answer =
  | { state: "writing"; soFar: AnswerSoFar | undefined }
  | { state: "done"; reply: ChatReply }
  | { state: "failed"; error: unknown };

export interface Turn {
  id: string;
  /** `tool`: the result of the tool that the models called. */
  role: "user" | "tool";
  text: string;
  /** By column. */
  answers: Record<string, Answer>;
}

export interface ChatSettings {
  system: string;
  temperature: number;
  topP: number;
  maxTokens: number;
  seed: number;
  thinking: "auto" | "on" | "off";
  /** A JSON list of tools; empty: none. */
  tools: string;
}

export type ModelFacts = ChatModel | "loading" | { error: unknown };

export interface ChatState {
  columns: Column[];
  turns: Turn[];
  settings: ChatSettings;
  /** By reference. */
  facts: Record<string, ModelFacts>;
}

export interface ChatStore extends StoreApi<ChatState> {
  setColumns(models: readonly string[]): void;
  setModel(id: string, model: string): void;
  addColumn(): void;
  removeColumn(id: string): void;
  change(settings: Partial<ChatSettings>): void;
  /** Asks all models. Throws `bad-tools`. */
  send(text: string, role?: Turn["role"]): Promise<void>;
  /** Says something else at that turn, and asks again; what came after is dropped. */
  resend(turn: string, text: string): Promise<void>;
  /** Asks one model again, with the next seed. */
  again(turn: string, column: string): Promise<void>;
  stop(): void;
  clear(): void;
  openModel(model: string): Promise<void>;
}

export const mostColumns = 3;

export function isWriting({ turns }: Pick<ChatState, "turns">): boolean {
  return turns.some(({ answers }) => Object.values(answers).some(({ state }) => state === "writing"));
}

/** Throws `bad-tools`, which says where. */
export function readTools(text: string): ToolDefinition[] {
  if (text.trim() === "") return [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new HoneError("bad-tools", `the tools are not JSON: ${error instanceof Error ? error.message : ""}`, {
      fix: 'give a list such as [{"type": "function", "function": {"name": "…", "parameters": {…}}}]',
    });
  }
  return (Array.isArray(value) ? value : [value]) as ToolDefinition[];
}

/**
 * What a column's model sees before it answers turn `index`. Where it has no answer of its own (it joined later), it gets
 * that of the first column that has one.
 */
export function messagesBefore({ columns, turns, settings }: ChatState, column: string, index: number): ChatMessage[] {
  const messages: ChatMessage[] = settings.system.trim() === "" ? [] : [{ role: "system", content: settings.system }];
  turns.slice(0, index + 1).forEach(({ role, text, answers }, i) => {
    messages.push({ role, content: text });
    if (i === index) return;
    const said = [column, ...columns.map(({ id }) => id)]
      .map((id) => answers[id])
      .find((answer) => answer?.state === "done");
    if (said?.state === "done") messages.push(said.reply.message);
  });
  return messages;
}

export function createChatStore(api: Api): ChatStore {
  let made = 0;
  const newId = () => String(made++);
  const store = createStore<ChatState>(() => ({
    columns: [{ id: newId(), model: "starter" }],
    turns: [],
    settings: { system: "", temperature: 0.7, topP: 1, maxTokens: 512, seed: 42, thinking: "auto", tools: "" },
    facts: {},
  }));
  const { getState: get, setState: set } = store;
  let running = new AbortController();

  function setAnswer(turn: string, column: string, answer: Answer): void {
    set(({ turns }) => ({
      turns: turns.map((one) => (one.id === turn ? { ...one, answers: { ...one.answers, [column]: answer } } : one)),
    }));
  }

  async function ask(turn: string, { id, model }: Column, tools: ToolDefinition[], seed: number): Promise<void> {
    const state = get();
    const index = state.turns.findIndex((one) => one.id === turn);
    const { signal } = running;
    const isCurrent = () => get().turns.some((one) => one.id === turn);
    const stream = crypto.randomUUID();
    setAnswer(turn, id, { state: "writing", soFar: undefined });
    const end = api.subscribe(
      "stream",
      (soFar) => setAnswer(turn, id, { state: "writing", soFar: soFar as AnswerSoFar }),
      stream,
    );
    try {
      const { temperature, topP, maxTokens, thinking } = state.settings;
      const facts = await factsOf(model);
      const reply = await api.call(
        "chat.answer",
        {
          model,
          messages: messagesBefore(state, id, index),
          tools,
          temperature,
          top_p: topP,
          max_tokens: maxTokens,
          seed,
          thinking: facts.can_switch_thinking && thinking !== "auto" ? thinking === "on" : null,
          stream,
        },
        { signal },
      );
      end();
      if (isCurrent()) setAnswer(turn, id, { state: "done", reply });
    } catch (error) {
      end();
      if (!isCurrent()) return;
      if (errorKind(error) === "cancelled") removeAnswer(turn, id);
      else setAnswer(turn, id, { state: "failed", error });
    }
  }

  function removeAnswer(turn: string, column: string): void {
    set(({ turns }) => ({
      turns: turns.map((one) => {
        if (one.id !== turn) return one;
        const { [column]: _, ...answers } = one.answers;
        return { ...one, answers };
      }),
    }));
  }

  async function askAll(turn: string): Promise<void> {
    const { columns, settings } = get();
    const tools = readTools(settings.tools);
    running = new AbortController();
    await Promise.all(columns.map((column) => ask(turn, column, tools, settings.seed)));
  }

  /** Throws what opening the model throws. */
  async function factsOf(model: string): Promise<ChatModel> {
    const known = get().facts[model];
    if (known !== undefined && known !== "loading" && !("error" in known)) return known;
    const facts = await api.call("chat.model", { model });
    set((state) => ({ facts: { ...state.facts, [model]: facts } }));
    return facts;
  }

  const chat: ChatStore = {
    ...store,
    setColumns(models) {
      const wanted = models.slice(0, mostColumns);
      if (
        wanted.length === 0 ||
        wanted.join("\n") ===
          get()
            .columns.map(({ model }) => model)
            .join("\n")
      )
        return;
      set({ columns: wanted.map((model) => ({ id: newId(), model })), turns: [] });
    },
    setModel(id, model) {
      set(({ columns }) => ({ columns: columns.map((one) => (one.id === id ? { ...one, model } : one)) }));
      void chat.openModel(model);
    },
    addColumn() {
      const { columns } = get();
      const [first] = columns;
      if (columns.length < mostColumns) set({ columns: [...columns, { id: newId(), model: first.model }] });
    },
    removeColumn(id) {
      const columns = get().columns.filter((one) => one.id !== id);
      if (columns.length > 0) set({ columns });
    },
    change(settings) {
      set((state) => ({ settings: { ...state.settings, ...settings } }));
    },
    async send(text, role = "user") {
      readTools(get().settings.tools);
      const turn: Turn = { id: newId(), role, text, answers: {} };
      set(({ turns }) => ({ turns: [...turns, turn] }));
      await askAll(turn.id);
    },
    async resend(id, text) {
      readTools(get().settings.tools);
      chat.stop();
      const { turns } = get();
      const index = turns.findIndex((one) => one.id === id);
      if (index < 0) return;
      const turn: Turn = { id: newId(), role: turns[index].role, text, answers: {} };
      set({ turns: [...turns.slice(0, index), turn] });
      await askAll(turn.id);
    },
    async again(id, column) {
      const { columns, turns, settings } = get();
      const index = turns.findIndex((one) => one.id === id);
      const asked = columns.find((one) => one.id === column);
      if (index < 0 || asked === undefined) return;
      const tools = readTools(settings.tools);
      const seed = settings.seed + 1;
      set({ turns: turns.slice(0, index + 1), settings: { ...settings, seed } });
      running = new AbortController();
      await ask(id, asked, tools, seed);
    },
    stop() {
      running.abort();
    },
    clear() {
      running.abort();
      set({ turns: [] });
    },
    async openModel(model) {
      const put = (facts: ModelFacts) => set((state) => ({ facts: { ...state.facts, [model]: facts } }));
      const known = get().facts[model];
      if (known !== undefined && known !== "loading" && !("error" in known)) return;
      put("loading");
      await factsOf(model).catch((error: unknown) => put({ error }));
    },
  };
  return chat;
}
