import { describe, expect, it } from "vitest";
import type { ToolDefinition } from "../../../core/contract/chat.ts";
import { parseAssistant, type ProblemCode } from "../../../core/text/parse-assistant.ts";
import { formatToolCall, type ToolFormat } from "../../../core/text/tool-format.ts";

const square: ToolDefinition = {
  type: "function",
  function: {
    name: "choose_square",
    parameters: {
      type: "object",
      properties: { square: { type: "integer", minimum: 1, maximum: 9 } },
      required: ["square"],
      additionalProperties: false,
    },
  },
};

const search: ToolDefinition = {
  type: "function",
  function: {
    name: "search",
    description: "Looks something up.",
    parameters: {
      type: "object",
      properties: {
        query: { type: "string" },
        limit: { type: "integer" },
        weight: { type: "number", exclusiveMinimum: 0 },
        filters: {
          type: "array",
          items: { type: "object", properties: { key: { type: "string" }, values: { type: "array" } } },
        },
      },
      required: ["query"],
    },
  },
};

const now: ToolDefinition = { type: "function", function: { name: "now" } };
const tools = [square, search, now];

const call = (inner: string) => `<tool_call>${inner}</tool_call>`;
const choose = (argument: string) => call(`{"name": "choose_square", "arguments": {"square": ${argument}}}`);
const parse = (text: string, stopReason?: string) => parseAssistant(text, [square], "hermes", { stopReason });
const codes = (text: string, stopReason?: string) => parse(text, stopReason).problems.map(({ code }) => code);

describe("calls that count", () => {
  it.each([
    ["plainly", choose("5"), ""],
    [
      "with white space as JSON has it",
      call('\n\t{ "name" :\r\n"choose_square" , "arguments":{"square":\n5 } } \n'),
      "",
    ],
    ["with keys in another order", call('{"arguments": {"square": 5}, "name": "choose_square"}'), ""],
    ["with an escaped name", call('{"name": "choose\\u005fsquare", "arguments": {"square": 5}}'), ""],
    ["after text", `I take the middle.\n${choose("5")}`, "I take the middle."],
    ["before text", `${choose("5")} Good luck!`, "Good luck!"],
    ["between texts", `So:\n${choose("5")}\nDone.`, "So:\n\nDone."],
    ["beside another object", `{"a": 1} ${choose("5")}`, '{"a": 1}'],
  ])("%s", (_name, text, content) => {
    expect(parse(text)).toEqual({
      content,
      reasoning: "",
      tool_calls: [{ name: "choose_square", arguments: { square: 5 } }],
      problems: [],
    });
  });

  it("have every argument they were given, nested ones too", () => {
    const given = {
      query: 'a, "b", </tool_call> {c}, d',
      limit: 3,
      weight: 2.0,
      filters: [{ key: "x,y", values: [1, [2, 3], { z: null }] }],
    };
    for (const format of ["hermes", "json"] as const) {
      const found = parseAssistant(formatToolCall({ name: "search", arguments: given }, format), tools, format);
      expect(found).toEqual({
        content: "",
        reasoning: "",
        tool_calls: [{ name: "search", arguments: given }],
        problems: [],
      });
    }
    const tight = call(
      '{"name":"search","arguments":{"query":"q","limit":1,"weight":0.5,"filters":[{"key":"k","values":[]}]}}',
    );
    expect(parseAssistant(tight, tools, "hermes").tool_calls[0]?.arguments).toEqual({
      query: "q",
      limit: 1,
      weight: 0.5,
      filters: [{ key: "k", values: [] }],
    });
  });

  it("may have no arguments where the tool has none", () => {
    expect(parseAssistant(call('{"name": "now", "arguments": {}}'), tools, "hermes").tool_calls).toEqual([
      { name: "now", arguments: {} },
    ]);
    expect(parseAssistant(call('{"name": "now", "arguments": {"zone": 1}}'), tools, "hermes").problems[0]?.code).toBe(
      "bad_argument",
    );
  });
});

describe("near-misses, none of which is a call", () => {
  it.each<[string, ProblemCode]>([
    // Prose, and things that only look like a call.
    ["I think we should take square 5", "no_call"],
    ["choose_square(5)", "no_call"],
    ["choose_square square=5", "no_call"],
    ["5", "no_call"],
    ["", "no_call"],
    ['{"name": "choose_square", "arguments": {"square": 5}}', "no_call"],
    ['{"square": 5}', "no_call"],
    ['```json\n{"name": "choose_square", "arguments": {"square": 5}}\n```', "no_call"],
    ['{"name": "choose_square", "arguments": {"square": 5}}</tool_call>', "no_call"],
    ['<tool-call>{"name": "choose_square", "arguments": {"square": 5}}</tool-call>', "no_call"],
    ['< tool_call>{"name": "choose_square", "arguments": {"square": 5}}</tool_call>', "no_call"],
    ['<TOOL_CALL>{"name": "choose_square", "arguments": {"square": 5}}</TOOL_CALL>', "no_call"],
    ["<think>" + choose("5") + "</think>", "no_call"],
    ["<think>" + choose("5"), "no_call"],
    // Not closed, not one JSON object, or more than it.
    ['<tool_call>{"name": "choose_square", "arguments": {"square": 5}}', "malformed"],
    ['<tool_call>{"name": "choose_square", "arguments": {"square": 5}}</tool_call', "malformed"],
    ['<tool_call>{"name": "choose_square", "arguments": {"square": 5}} so there</tool_call>', "malformed"],
    [call('{"name": "choose_square", "arguments": {"square": 5}'), "malformed"],
    [call('{"name": "choose_square", "arguments": {"square": 5}}}'), "malformed"],
    [call('{"name": "choose_square", "arguments": {"square": 5},}'), "malformed"],
    [call("{'name': 'choose_square', 'arguments': {'square': 5}}"), "malformed"],
    [call('{name: "choose_square", arguments: {square: 5}}'), "malformed"],
    [call('[{"name": "choose_square", "arguments": {"square": 5}}]'), "malformed"],
    [call('"choose_square"'), "malformed"],
    [call("choose_square(square=5)"), "malformed"],
    [call(""), "malformed"],
    ["<tool_call>", "malformed"],
    [call('{"arguments": {"square": 5}}'), "malformed"],
    [call('{"name": "choose_square"}'), "malformed"],
    [call('{"name": "choose_square", "square": 5}'), "malformed"],
    [call('{"name": "choose_square", "parameters": {"square": 5}}'), "malformed"],
    [call('{"name": "choose_square", "arguments": {"square": 5}, "id": 1}'), "malformed"],
    [call('{"name": "choose_square", "arguments": {"square": 4}, "arguments": {"square": 5}}'), "malformed"],
    [call('{"name": "choose_square", "arguments": {"square": 4, "square": 5}}'), "malformed"],
    [call('// move\n{"name": "choose_square", "arguments": {"square": 5}}'), "malformed"],
    [call('\u00a0{"name": "choose_square", "arguments": {"square": 5}}'), "malformed"],
    // Another tool.
    [call('{"name": "choose_squares", "arguments": {"square": 5}}'), "wrong_tool"],
    [call('{"name": "Choose_square", "arguments": {"square": 5}}'), "wrong_tool"],
    [call('{"name": " choose_square", "arguments": {"square": 5}}'), "wrong_tool"],
    [call('{"name": "", "arguments": {"square": 5}}'), "wrong_tool"],
    [call('{"name": "move", "arguments": {"square": five}}'), "wrong_tool"],
    // An argument that is no square.
    [choose("5.0"), "bad_argument"],
    [choose("5e0"), "bad_argument"],
    [choose("5.5"), "bad_argument"],
    [choose("05"), "bad_argument"],
    [choose("+5"), "bad_argument"],
    [choose("0x5"), "bad_argument"],
    [choose("5,0"), "malformed"],
    [choose('"5"'), "bad_argument"],
    [choose('"five"'), "bad_argument"],
    [choose("five"), "bad_argument"],
    [choose("true"), "bad_argument"],
    [choose("null"), "bad_argument"],
    [choose("[5]"), "bad_argument"],
    [choose('{"value": 5}'), "bad_argument"],
    [choose(""), "bad_argument"],
    [choose("٥"), "bad_argument"],
    [call('{"name": "choose_square", "arguments": {}}'), "bad_argument"],
    [call('{"name": "choose_square", "arguments": {"Square": 5}}'), "bad_argument"],
    [call('{"name": "choose_square", "arguments": {"square": 5, "why": "best"}}'), "bad_argument"],
    [call('{"name": "choose_square", "arguments": 5}'), "bad_argument"],
    [call('{"name": "choose_square", "arguments": [5]}'), "bad_argument"],
    [call('{"name": "choose_square", "arguments": "{\\"square\\": 5}"}'), "bad_argument"],
    [choose("0"), "out_of_range"],
    [choose("10"), "out_of_range"],
    [choose("-5"), "out_of_range"],
    [choose("99999999999999999999"), "out_of_range"],
    // More than one.
    [choose("5") + choose("5"), "several_calls"],
    [`${choose("5")} or ${choose("6")}`, "several_calls"],
    [`${choose("five")} no, ${choose("5")}`, "several_calls"],
    [`${choose("5")}<tool_call>`, "several_calls"],
    [`<tool_call>${choose("5")}</tool_call>`, "several_calls"],
  ])("%s", (text, expected) => {
    const found = parse(text);
    expect(found.tool_calls).toEqual([]);
    expect(found.problems.map(({ code }) => code)).toEqual([expected]);
    // What does not count stays to be read.
    if (!text.includes("<think>")) expect(found.content).toBe(text);
  });

  it("says what is wrong", () => {
    expect(parse(choose("12")).problems[0]?.message).toBe("square must be <= 9");
    expect(parse(choose("5.0")).problems[0]?.message).toContain("plain digits");
    expect(
      parse(call('{"name": "choose_square", "arguments": {"square": 5, "why": 1}}')).problems[0]?.message,
    ).toContain("why");
  });
});

describe("cut answers", () => {
  const whole = choose("5");
  it("are truncated wherever the limit fell, until the call is complete", () => {
    for (let length = 0; length < whole.length; length++) {
      const text = whole.slice(0, length);
      expect(codes(text, "length"), text).toEqual(["truncated"]);
      expect(codes(text, "context_full"), text).toEqual(["truncated"]);
      expect(codes(text, "eos"), text).not.toContain("truncated");
      expect(parse(text, "eos").tool_calls).toEqual([]);
    }
    expect(parse(whole, "length").tool_calls).toHaveLength(1);
    expect(codes("I will think about", "length")).toEqual(["truncated"]);
    expect(codes("<think>and think", "length")).toEqual(["truncated"]);
  });

  it("keep a fault that is already certain", () => {
    expect(codes(choose("five").slice(0, -3), "length")).toEqual(["bad_argument"]);
    expect(codes(`${choose("5")}<tool_call>{"na`, "length")).toEqual(["several_calls"]);
  });
});

describe("reasoning", () => {
  const reasoning = (text: string, thinkingOpen = false) => {
    const found = parseAssistant(text, [], "hermes", { thinkingOpen });
    return [found.reasoning, found.content];
  };
  it.each<[string, boolean, string, string]>([
    ["<think>\nhm\n</think>\n\nFive.", false, "hm", "Five."],
    ["hm\n</think>\n\nFive.", true, "hm", "Five."],
    ["<think>\nhm\n</think>Five.", true, "hm", "Five."],
    ["hm</think>Five.", false, "hm", "Five."],
    ["<think>hm", false, "hm", ""],
    ["hm", true, "hm", ""],
    ["<think></think>Five.", false, "", "Five."],
    ["A <think>b</think> c <think>d</think>", false, "b\n\nd", "A  c"],
    ["  Five.\n", false, "", "  Five.\n"],
  ])("%j (block open: %s)", (text, open, thought, content) => {
    expect(reasoning(text, open)).toEqual([thought, content]);
  });

  it("stands beside a call", () => {
    expect(parse(`<think>\nIs 5 free? {"name": 1}\n</think>\n\nMy move.\n${choose("5")}`)).toEqual({
      reasoning: 'Is 5 free? {"name": 1}',
      content: "My move.",
      tool_calls: [{ name: "choose_square", arguments: { square: 5 } }],
      problems: [],
    });
  });
});

describe("without tools", () => {
  it("there are no calls and no problems (tool_choice none)", () => {
    expect(parseAssistant(choose("5"), [], "hermes")).toEqual({
      content: choose("5"),
      reasoning: "",
      tool_calls: [],
      problems: [],
    });
  });
});

describe("several calls where they are allowed", () => {
  it("count one by one", () => {
    const text = `Both: ${choose("5")} ${choose("x")} ${call('{"name": "now", "arguments": {}}')}`;
    const found = parseAssistant(text, tools, "hermes", { parallel: true });
    expect(found.tool_calls).toEqual([
      { name: "choose_square", arguments: { square: 5 } },
      { name: "now", arguments: {} },
    ]);
    expect(found.problems.map(({ code }) => code)).toEqual(["bad_argument"]);
    expect(found.content).toBe(`Both:  ${choose("x")}`);
  });
});

describe("bare JSON", () => {
  const bare = (text: string, stopReason?: string) =>
    parseAssistant(text, tools, "json" satisfies ToolFormat, { stopReason });
  const five = '{"name": "choose_square", "parameters": {"square": 5}}';

  it.each([
    [five, ""],
    ['{"name": "choose_square", "arguments": {"square": 5}}', ""],
    ['{"type": "function", "name": "choose_square", "parameters": {"square": 5}}', ""],
    ['{\n  "name": "choose_square",\n  "parameters": {\n    "square": 5\n  }\n}', ""],
    [`<|python_tag|>${five}`, "<|python_tag|>"],
    [`I play:\n  ${five}\nThere.`, "I play:\n  \nThere."],
    [`{"name": "Bob", "age": 3}\n${five}`, '{"name": "Bob", "age": 3}'],
  ])("%s", (text, content) => {
    expect(bare(text)).toEqual({
      content,
      reasoning: "",
      tool_calls: [{ name: "choose_square", arguments: { square: 5 } }],
      problems: [],
    });
  });

  it.each<[string, ProblemCode]>([
    ["Take square 5.", "no_call"],
    [`Maybe ${five} is best`, "no_call"],
    [`\`\`\`json\n${five}\n\`\`\``, "no_call"],
    ['{"name": "Bob", "age": 3}', "no_call"],
    ['{"square": 5}', "no_call"],
    ['[{"name": "choose_square", "parameters": {"square": 5}}]', "no_call"],
    [`${five} is best`, "malformed"],
    [five.slice(0, -1), "malformed"],
    ['{"name": "choose_square", "parameters": {"square": 5}, "arguments": {"square": 5}}', "malformed"],
    ['{"name": "choose_circle", "parameters": {"square": 5}}', "wrong_tool"],
    ['{"name": "choose_square", "parameters": {"square": "5"}}', "bad_argument"],
    ['{"name": "choose_square", "parameters": {"square": five}}', "bad_argument"],
    ['{"name": "choose_square", "parameters": {"square": 0}}', "out_of_range"],
    [`${five}\n${five}`, "several_calls"],
    [`${five}; ${five}`, "malformed"],
  ])("%s is no call", (text, expected) => {
    const found = bare(text);
    expect(found.tool_calls).toEqual([]);
    expect(found.problems.map(({ code }) => code)).toEqual([expected]);
    expect(found.content).toBe(text);
  });

  it("is truncated where the limit fell", () => {
    for (let length = 0; length < five.length; length++) {
      const { problems, tool_calls } = bare(five.slice(0, length), "length");
      expect([problems.map(({ code }) => code), tool_calls]).toEqual([["truncated"], []]);
    }
  });
});

describe("schemas", () => {
  const with_ = (parameters: Record<string, unknown>) => (given: string) => {
    const tool: ToolDefinition = { type: "function", function: { name: "f", parameters } };
    return parseAssistant(call(`{"name": "f", "arguments": ${given}}`), [tool], "hermes").problems[0]?.code;
  };

  it("refuse undeclared arguments unless they say otherwise", () => {
    const closed = with_({ type: "object", properties: { a: { type: "string" } } });
    expect(closed('{"b": 1}')).toBe("bad_argument");
    const open = with_({ type: "object", properties: { a: { type: "string" } }, additionalProperties: true });
    expect(open('{"b": 1}')).toBeUndefined();
  });

  it("take a number where an integer is not asked for, however it is written", () => {
    const number = with_({
      properties: {
        a: { type: "number", minimum: 1 },
        b: { type: ["integer", "null"] },
        c: { anyOf: [{ type: "integer" }, { type: "string" }] },
      },
    });
    expect(number('{"a": 5.0}')).toBeUndefined();
    expect(number('{"a": 5e0}')).toBeUndefined();
    expect(number('{"a": 0.0}')).toBe("out_of_range");
    expect(number('{"b": 5}')).toBeUndefined();
    expect(number('{"b": null}')).toBeUndefined();
    expect(number('{"b": 5.0}')).toBe("bad_argument");
    expect(number('{"c": 5.0}')).toBe("bad_argument");
    expect(number('{"c": "5.0"}')).toBeUndefined();
  });

  it("look into lists and objects", () => {
    const nested = with_({
      properties: {
        list: { type: "array", items: { type: "object", properties: { "a/b": { type: "integer", maximum: 3 } } } },
      },
    });
    expect(nested('{"list": [{"a/b": 1}, {"a/b": 2}]}')).toBeUndefined();
    expect(nested('{"list": [{"a/b": 1}, {"a/b": 2.0}]}')).toBe("bad_argument");
    expect(nested('{"list": [{"a/b": 9}]}')).toBe("out_of_range");
    expect(nested('{"list": [{"a/b": 9}, 5]}')).toBe("bad_argument");
  });

  it("are refused when they are none", () => {
    expect(() => with_({ type: "nonsense" })("{}")).toThrow(expect.objectContaining({ code: "bad-tool" }) as Error);
  });
});
