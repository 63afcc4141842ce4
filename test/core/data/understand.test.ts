/** What rows are for, told by exact keys, and how users' ways of writing them are read. */

import { describe, expect, test } from "vitest";
import { assistant, check, entries, file, lines, one, reason, user } from "./files.ts";

const tool = { type: "function", function: { name: "get", parameters: { type: "object" } } };
const call = { type: "function", function: { name: "get", arguments: { city: "Rom" } } };

describe("shapes", () => {
  test.each([
    ["messages", { messages: [user("q"), assistant("a")] }, { messages: [user("q"), assistant("a")] }],
    ["completion", { prompt: "q", completion: "a" }, { prompt: [user("q")], completion: [assistant("a")] }],
    ["completion", { prompt: "q", response: "a" }, { prompt: [user("q")], completion: [assistant("a")] }],
    [
      "completion",
      { prompt: [user("q")], completion: [assistant("a")] },
      { prompt: [user("q")], completion: [assistant("a")] },
    ],
    [
      "completion",
      { instruction: "i", input: "x", output: "o" },
      { prompt: [user("i\n\nx")], completion: [assistant("o")] },
    ],
    ["completion", { instruction: "i", input: "", output: "o" }, { prompt: [user("i")], completion: [assistant("o")] }],
    ["completion", { instruction: "", input: "x", output: "o" }, { prompt: [user("x")], completion: [assistant("o")] }],
    [
      "completion",
      { instruction: "i", output: "o", history: [["a", "b"]], system: "s" },
      {
        prompt: [{ role: "system", content: "s" }, user("a"), assistant("b"), user("i")],
        completion: [assistant("o")],
      },
    ],
    ["text", { text: "t" }, { text: "t" }],
    ["prompt", { prompt: "q", answer: 4 }, { prompt: [user("q")], columns: { answer: 4 } }],
    [
      "preference",
      { prompt: "q", chosen: "a", rejected: "b" },
      { prompt: [user("q")], chosen: [assistant("a")], rejected: [assistant("b")] },
    ],
    [
      "preference",
      { chosen: [user("q"), assistant("a")], rejected: [user("q"), assistant("b")] },
      { prompt: [user("q")], chosen: [assistant("a")], rejected: [assistant("b")] },
    ],
    [
      "preference",
      {
        prompt: "q",
        chosen: [user("q"), assistant("x"), user("y"), assistant("a")],
        rejected: [user("q"), assistant("x"), user("z"), assistant("b")],
      },
      {
        prompt: [user("q")],
        chosen: [assistant("x"), user("y"), assistant("a")],
        rejected: [assistant("x"), user("z"), assistant("b")],
      },
    ],
    ["label", { prompt: "q", completion: "a", label: true }, { label: true, completion: [assistant("a")] }],
    ["label", { prompt: "q", completion: "a", label: 0 }, { label: false }],
    ["completion", { prompt: "q", completion: "a", label: "sports" }, { columns: { label: "sports" } }],
    ["tokens", { tokens: [1, 2, 3], prompt_mask: [1, 0, 0] }, { tokens: [1, 2, 3], loss_mask: [0, 1, 1] }],
    [
      "tokens",
      { tokens: [1, 2, 3], prompt_mask: [1, 0, 0], loss_mask: [0, 0, 1] },
      { loss_mask: [0, 0, 1], columns: {} },
    ],
    [
      "messages",
      {
        system: "s",
        conversations: [
          { from: "human", value: "q" },
          { from: "gpt", value: "a" },
        ],
      },
      { messages: [{ role: "system", content: "s" }, user("q"), assistant("a")], columns: {} },
    ],
  ])("%s: %j", async (shape, record, expected) => {
    expect(await one(record)).toMatchObject({ shape, ...expected });
  });

  test("keys count exactly, never as a part of another", async () => {
    expect(await reason({ context: "c", message: "m", subtext: "t", prompts: "p" })).toContain("says what it is for");
    expect(await one({ context: "c", text: "t", prompt_id: "p" })).toMatchObject({
      shape: "text",
      columns: { context: "c", prompt_id: "p" },
    });
  });

  test("every other column is kept as it stands", async () => {
    const { columns } = await one({ prompt: "q", answer: [1, { a: null }], solutions: "x", "": 1, constructor: 2 });
    expect(columns).toEqual({ answer: [1, { a: null }], solutions: "x", "": 1, constructor: 2 });
    const row = await one('{"prompt":"q","__proto__":{"x":1}}');
    expect(Object.keys(row.columns)).toEqual(["__proto__"]);
  });

  test("a KTO file is recognised and said to train no method", async () => {
    const { shape, ok, warnings } = await check(
      file("kto.jsonl", lines([{ prompt: "q", completion: "a", label: true }])),
    );
    expect([shape, ok]).toEqual(["label", 1]);
    expect(warnings[0]).toContain("no method trains on them yet");
  });

  test("a mixed file is told, row by row in its own shape", async () => {
    const report = await check(
      file("mixed.jsonl", lines([{ text: "a" }, { text: "b" }, { prompt: "q", completion: "a" }])),
    );
    expect(report).toMatchObject({ shape: "text", ok: 3, shapes: { text: 2, completion: 1 } });
    expect(report.warnings).toContain(
      "rows of several shapes: 2 text, 1 completion; a method takes those that it can use",
    );
  });
});

describe("mapping", () => {
  const rows = [{ question: "q", answer: "a", id: 1 }];

  test("columns by other names, reported as they are read", async () => {
    const path = file("qa.jsonl", lines(rows));
    const plain = await check(path);
    expect(plain).toMatchObject({ shape: null, ok: 0 });
    expect(plain.warnings.join()).toContain("try --map prompt=question,completion=answer");
    expect(plain.set_aside[0].reason).toContain("name them with --map prompt=question,completion=answer");
    const map = { prompt: "question", completion: "answer" };
    expect(await check(path, map)).toMatchObject({ shape: "completion", ok: 1, mapping: map });
    expect(await entries(path, map)).toMatchObject([
      { prompt: [user("q")], completion: [assistant("a")], columns: { id: 1 } },
    ]);
  });

  test("what is mapped is meant, also beside other keys", async () => {
    const row = { prompt: "p", completion: "c", text: "t", q: "mapped" };
    expect(await one(row, { text: "text" })).toMatchObject({ shape: "text", columns: { prompt: "p" } });
    expect(await one(row, { prompt: "q" })).toMatchObject({
      shape: "completion",
      prompt: [user("mapped")],
      columns: { prompt: "p" },
    });
    expect(await one({ messages: [user("only asked")] }, { prompt: "messages" })).toMatchObject({
      shape: "prompt",
      prompt: [user("only asked")],
    });
  });

  test("an unknown field or column is an error with the nearest name", async () => {
    const path = file("qa.jsonl", lines(rows));
    await expect(check(path, { promt: "question" })).rejects.toMatchObject({
      code: "bad-map",
      fix: expect.stringContaining('"prompt"') as string,
    });
    await expect(check(path, { prompt: "qestion" })).rejects.toMatchObject({
      code: "bad-map",
      fix: expect.stringContaining('"question"') as string,
    });
  });

  test("bad rows are told by the names of the file", async () => {
    const map = { prompt: "question", completion: "answer" };
    expect(await reason({ question: 5, answer: "a" }, rows, map)).toBe(
      "question is a number; it must be text or a list of messages",
    );
    expect(await reason({ question: "q", anser: "a" }, rows, map)).toContain('answer is missing (it has "anser")');
  });
});

describe("messages", () => {
  test("odd names of roles are read as the usual ones, with a note", async () => {
    const messages = [
      { role: "developer", content: "s" },
      { role: "Human", content: "q" },
      { role: "model", content: "a" },
    ];
    const path = file("roles.jsonl", lines([{ messages }]));
    expect(await entries(path)).toMatchObject([
      { messages: [{ role: "system" }, { role: "user" }, { role: "assistant" }] },
    ]);
    expect((await check(path)).warnings).toContain('the role "Human" is read as user (1 row, first on line 1)');
  });

  test("content as parts, null beside calls, arguments as object, text or nothing, a single old call", async () => {
    const { messages } = (await one({
      messages: [
        { role: "user", content: [{ type: "text", text: "a" }, "b"] },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "1", type: "function", function: { name: "get", arguments: '{"city": "Rom"}' } }],
        },
        { role: "tool", tool_call_id: "1", content: null },
        { role: "assistant", function_call: { name: "get", arguments: "" } },
        { role: "function", name: "get", content: "r" },
        { role: "assistant", content: "done", reasoning: "hm", tool_calls: [] },
      ],
    })) as { messages: unknown };
    expect(messages).toEqual([
      user("ab"),
      { role: "assistant", content: null, tool_calls: [{ id: "1", ...call }] },
      { role: "tool", tool_call_id: "1", content: "" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ type: "function", function: { name: "get", arguments: {} } }],
      },
      { role: "tool", name: "get", content: "r" },
      { role: "assistant", content: "done", reasoning_content: "hm" },
    ]);
  });

  test("ShareGPT's calls, their results and tools as JSON text", async () => {
    const row = await one({
      conversations: [
        { from: "human", value: "q" },
        { from: "function_call", value: JSON.stringify(call.function) },
        { from: "observation", value: "sun" },
        { from: "gpt", value: "Sunny" },
      ],
      tools: JSON.stringify([tool.function]),
    });
    expect(row).toMatchObject({
      messages: [
        user("q"),
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", content: "sun" },
        assistant("Sunny"),
      ],
      tools: [tool],
    });
  });

  test("the last message is not the assistant's; keys that nothing uses; an empty answer", async () => {
    const messages = [user("q"), { ...assistant(" "), weight: 0 }, user("bye")];
    expect((await check(file("end.jsonl", lines([{ messages }])))).warnings.join()).toMatch(
      /the key "weight" of messages is not used .*the last message is not the assistant's/,
    );
    const { ok, warnings } = await check(file("empty.jsonl", lines([{ prompt: "q", completion: "" }])));
    expect([ok, warnings]).toEqual([1, ["an answer is empty (1 row, first on line 1)"]]);
  });

  test.each([
    [[], "messages is empty; it needs at least one message"],
    ["hello", 'messages: its JSON text: not a JSON value at character 1, near "hello": not JSON'],
    [[user("q")], "messages has no assistant message to train on; if these are prompts, use --map prompt=messages"],
    [["q"], 'messages[0] is text; a message is {"role": …, "content": …}'],
    [[{ content: "q" }], "messages[0].role is missing; it must be system, user, assistant or tool"],
    [[{ role: "narrator", content: "q" }], 'messages[0].role is "narrator"; use system, user, assistant or tool'],
    [[user("q"), { role: "assistant" }], "messages[1].content is missing; only a message with tool_calls may lack it"],
    [[user("q"), { role: "assistant", content: 5 }], "messages[1].content is a number; it must be text"],
    [
      [{ role: "user", content: [{ type: "image_url", image_url: {} }] }],
      'messages[0].content[0] is a part of type image_url; only text parts {"type": "text", "text": …} can be used',
    ],
    [
      [user("q"), assistant("a"), { role: "system", content: "s" }],
      "messages[2] is a system message; move it to the beginning",
    ],
    [
      [user("q"), { role: "tool", content: "r" }, assistant("a")],
      "messages[1] is a tool's result, but no message before it calls a tool; give that its tool_calls",
    ],
    [
      [user("q"), { role: "assistant", tool_calls: [{ function: { arguments: {} } }] }],
      "messages[1].tool_calls[0].name is missing; name the tool",
    ],
    [
      [user("q"), { role: "assistant", tool_calls: [{ name: "f", arguments: [1] }] }],
      "messages[1].tool_calls[0].arguments is a list; it must be an object, or its JSON text",
    ],
    [
      [user("q"), { role: "assistant", tool_calls: [{ name: "f", arguments: "{x" }] }],
      /^messages\[1\]\.tool_calls\[0\]\.arguments: its JSON text: /,
    ],
  ])("%j is set aside: %s", async (messages, expected) => {
    const given = await reason({ messages });
    if (typeof expected === "string") expect(given).toBe(expected);
    else expect(given).toMatch(expected);
  });
});

test.each([
  [{ prompt: "", completion: "a" }, "prompt is empty; give it text"],
  [{ prompt: 5, completion: "a" }, "prompt is a number; it must be text or a list of messages"],
  [
    { prompt: [user("q"), assistant("a")], completion: "b" },
    "prompt ends with an assistant message; move it to the answer",
  ],
  [{ prompt: "q", completion: [user("a")] }, "completion[0] is of user; an answer begins with the assistant"],
  [{ prompt: "q", completion: { text: "a" } }, "completion is an object; it must be text or a list of messages"],
  [{ text: " " }, "text is empty; there is nothing to train on"],
  [{ text: ["a"] }, "text is a list; it must be text"],
  [{ prompt: "q", chosen: "a", rejected: "a" }, "chosen and rejected are the same; nothing can be learned from them"],
  [{ chosen: "a", rejected: "b" }, "prompt is missing; give it beside chosen and rejected"],
  [
    { chosen: [user("x"), assistant("a")], rejected: [user("y"), assistant("a")] },
    "chosen and rejected begin differently; both must begin with the same prompt",
  ],
  [{ tokens: [1, 2], prompt_mask: [1] }, "prompt_mask has 1 entries for 2 tokens; give one for each"],
  [{ tokens: [1, -2], loss_mask: [0, 1] }, "tokens[1] is -2; it must be a token id"],
  [{ tokens: [1, 2], loss_mask: [0, 0] }, "loss_mask leaves no token to train on"],
  [
    { prompt: "q", completion: "a", tools: [{ function: {} }] },
    'tools[0] has no name; a tool is {"type": "function", "function": {"name": …, "parameters": …}}',
  ],
  [{ instruction: ["i"], output: "o" }, "instruction is a list; it must be text"],
])("%j is set aside: %s", async (record, expected) => {
  expect(await reason(record)).toBe(expected);
});

test.each([
  [
    { prompt: "q" },
    { prompt: "q", chosen: "a", rejected: "b" },
    "chosen and rejected are missing; every preference row needs chosen, rejected",
  ],
  [
    { prompt: "q", completion: null },
    { prompt: "q", completion: "a" },
    "completion is missing; every completion row needs prompt, completion",
  ],
  [{ txt: "a" }, { text: "b" }, 'text is missing (it has "txt"); every text row needs text'],
])("%j among %j is incomplete", async (record, others, expected) => {
  expect(await reason(record, [others, others])).toBe(expected);
});
