import { describe, expect, it } from "vitest";
import type { Api, CallName } from "../../../core/contract/api/api.ts";
import type { ChatReply } from "../../../core/contract/api/chat-calls.ts";
import { CancelledError, HoneError } from "../../../core/contract/errors.ts";
import { createChatStore, isWriting, messagesBefore, readTools } from "../../../renderer/stores/chat-store.ts";

function reply(text: string, more: Partial<ChatReply> = {}): ChatReply {
  return {
    message: { role: "assistant", content: text },
    text,
    problems: [],
    finish_reason: "stop",
    prompt_tokens: 1,
    completion_tokens: 1,
    context_length: 100,
    first_token_seconds: 0,
    seconds: 1,
    tokens: [],
    ...more,
  };
}

interface Asked {
  model: string;
  messages: unknown[];
  thinking: boolean | null;
  seed: number;
}

function fakeApi(answer: (input: Asked, signal: AbortSignal | undefined) => Promise<ChatReply>) {
  const asked: Asked[] = [];
  const api = {
    call: (name: CallName, input: Asked, options?: { signal?: AbortSignal }) => {
      if (name === "chat.model") {
        const facts = { model: input.model, parameters: 1, context_length: 100 };
        return Promise.resolve({ ...facts, can_switch_thinking: input.model === "thinker" });
      }
      asked.push(input);
      return answer(input, options?.signal);
    },
    subscribe: () => () => undefined,
  } as unknown as Api;
  return { api, asked };
}

describe("a conversation", () => {
  it("puts the same message to every model, each with its own answers before it", async () => {
    const { api, asked } = fakeApi(({ model }) => Promise.resolve(reply(`from ${model}`)));
    const store = createChatStore(api);
    store.setColumns(["a", "b"]);
    store.change({ system: "Be brief." });
    await store.send("one");
    await store.send("two");
    expect(asked.map(({ model }) => model)).toEqual(["a", "b", "a", "b"]);
    expect(asked[3].messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "one" },
      { role: "assistant", content: "from b" },
      { role: "user", content: "two" },
    ]);
    // A model that joins later hears what the first one said.
    store.addColumn();
    const { columns } = store.getState();
    expect(messagesBefore(store.getState(), columns[2].id, 1)[2]).toEqual({ role: "assistant", content: "from a" });
  });

  it("drops what came after a message that is changed", async () => {
    const { api, asked } = fakeApi(() => Promise.resolve(reply("x")));
    const store = createChatStore(api);
    await store.send("one");
    await store.send("two");
    await store.resend(store.getState().turns[0].id, "uno");
    expect(store.getState().turns.map(({ text }) => text)).toEqual(["uno"]);
    expect(asked.at(-1)?.messages).toEqual([{ role: "user", content: "uno" }]);
  });

  it("tells of thinking only to a model that can switch it", async () => {
    const { api, asked } = fakeApi(() => Promise.resolve(reply("x")));
    const store = createChatStore(api);
    store.setColumns(["plain", "thinker"]);
    store.change({ thinking: "on" });
    await store.send("one");
    expect(asked.map(({ thinking }) => thinking)).toEqual([null, true]);
  });

  it("keeps the answers of the others when one fails, and asks that one again with another seed", async () => {
    let fails = true;
    const { api, asked } = fakeApi(({ model }) =>
      model === "b" && fails
        ? Promise.reject(new HoneError("prompt-too-long", "too long"))
        : Promise.resolve(reply(`from ${model}`)),
    );
    const store = createChatStore(api);
    store.setColumns(["a", "b"]);
    await store.send("one");
    const [turn] = store.getState().turns;
    const [a, b] = store.getState().columns;
    expect(turn.answers[a.id].state).toBe("done");
    expect(turn.answers[b.id].state).toBe("failed");
    fails = false;
    await store.again(turn.id, b.id);
    expect(store.getState().turns[0].answers[b.id].state).toBe("done");
    expect(asked.at(-1)?.seed).toBe(asked[0].seed + 1);
  });

  it("stops: what was written stays, what never began is gone", async () => {
    const { api } = fakeApi(
      ({ model }, signal) =>
        new Promise((resolve, reject) => {
          signal?.addEventListener("abort", () => {
            if (model === "a") resolve(reply("half", { finish_reason: "stopped" }));
            else reject(new CancelledError());
          });
        }),
    );
    const store = createChatStore(api);
    store.setColumns(["a", "b"]);
    const sent = store.send("one");
    await expect.poll(() => isWriting(store.getState())).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 5));
    store.stop();
    await sent;
    const [a, b] = store.getState().columns;
    const { answers } = store.getState().turns[0];
    expect(answers[a.id]).toMatchObject({ state: "done", reply: { finish_reason: "stopped" } });
    expect(answers[b.id]).toBeUndefined();
  });
});

it("says what is wrong with tools before anything is sent", async () => {
  expect(readTools("")).toEqual([]);
  expect(() => readTools("{")).toThrow("the tools are not JSON");
  const { api, asked } = fakeApi(() => Promise.resolve(reply("x")));
  const store = createChatStore(api);
  store.change({ tools: "[oops" });
  await expect(store.send("one")).rejects.toThrow("the tools are not JSON");
  expect(asked).toEqual([]);
  expect(store.getState().turns).toEqual([]);
});
