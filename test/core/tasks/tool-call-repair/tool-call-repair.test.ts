import { expect, test } from "vitest";
import { splits } from "../../../../core/contract/eval.ts";
import { Random } from "../../../../core/contract/random.ts";
import { faults, type RepairRow } from "../../../../core/tasks/tool-call-repair/rows.ts";
import { toolCallRepair } from "../../../../core/tasks/tool-call-repair/tool-call-repair.ts";
import { askUser, domains, findTool } from "../../../../core/tasks/tool-call-repair/tools.ts";
import { formatToolCall } from "../../../../core/text/tool-format.ts";
import { expectSoundAnswers, expectSoundRows, scoreText } from "../made-tasks.ts";

const row: RepairRow = {
  id: "one",
  domain: "weather",
  tools: ["get_forecast", "ask_user"],
  request: "What will the weather in Oslo be for 3 days?",
  faulty: '{"name": "get_forecast", "arguments": {"city": "Oslo", "days": "3"}}',
  fault: "mistyped",
  answer: { name: "get_forecast", arguments: { city: "Oslo", days: 3 } },
};
const call = (args: Record<string, unknown>, name = "get_forecast") =>
  formatToolCall({ name, arguments: args }, "hermes");
const right = call({ city: "Oslo", days: 3 });

test("rows", () => {
  expectSoundRows(toolCallRepair);
  const rows = splits.flatMap((split) => toolCallRepair.rows(split));
  expect(new Set(rows.map(({ fault }) => fault))).toEqual(new Set(faults));
  for (const { id, faulty, answer, tools, fault } of rows) {
    expect(JSON.stringify(answer), id).not.toBe(faulty.replaceAll('": ', '":').replaceAll(', "', ',"'));
    expect(tools, id).toContain(answer.name);
    if (fault === "invented") expect(answer.arguments["missing"], id).toEqual(expect.any(String));
  }
});

test("held-out tools are never trained on", () => {
  const trained = new Set(toolCallRepair.rows("train").flatMap(({ tools }) => tools));
  const heldOut = toolCallRepair.rows("held-out").flatMap(({ tools }) => tools);
  expect([...new Set(heldOut)].filter((name) => trained.has(name)).sort()).toEqual(["ask_user", "no_action"]);
});

test("solutions and preferences on every row", () => expectSoundAnswers(toolCallRepair));

test.each<[string, string, number, string | undefined]>([
  ["the right call", right, 1, undefined],
  ["the right call with spaces around", `\n${right}\n`, 1, undefined],
  ["text beside it", `Here it is:\n${right}`, 0.9, "text_beside"],
  ["one argument wrong", call({ city: "Oslo", days: 4 }), 0.75, "wrong_argument"],
  [
    "one argument too many that the schema knows",
    call({ city: "Oslo", days: 3, unit: "celsius" }),
    0.2 + 0.2 + 0.5 * (2 / 3) + 0.1,
    "wrong_argument",
  ],
  ["every argument wrong", call({ city: "Graz", days: 4 }), 0.5, "wrong_argument"],
  ["every argument wrong, and text", `So: ${call({ city: "Graz", days: 4 })}`, 0.4, "wrong_argument"],
  ["another offered tool", call({ missing: "days" }, "ask_user"), 0.2, "held_back"],
  ["a text where a number belongs", call({ city: "Oslo", days: "3" }), 0.1, "bad_argument"],
  ["an argument left out", call({ city: "Oslo" }), 0.1, "bad_argument"],
  ["an argument that the schema does not know", call({ city: "Oslo", days: 3, confirm: true }), 0.1, "bad_argument"],
  ["a number out of bounds", call({ city: "Oslo", days: 9 }), 0.1, "bad_argument"],
  ["3.0", right.replace("3", "3.0"), 0.1, "bad_argument"],
  [
    "a tool that exists but is not offered",
    call({ city: "Oslo", date: "2026-01-01" }, "get_air_quality"),
    0,
    "unknown_tool",
  ],
  ["two calls", right + right, 0, "several_calls"],
  ["not closed", right.replace("</tool_call>", ""), 0, "malformed"],
  ["single quotes", right.replaceAll('"', "'"), 0, "malformed"],
  ["without tags", right.replace(/<\/?tool_call>/g, ""), 0, "no_call"],
  ["prose", "Call get_forecast for Oslo and 3 days.", 0, "no_call"],
  ["nothing", "", 0, "no_call"],
])("%s", async (_, text, reward, failure) => {
  const score = await scoreText(toolCallRepair, row, text);
  expect(score.reward).toBeCloseTo(reward, 12);
  expect(score.info.failure).toBe(failure);
});

test("an answer that was cut is none", async () => {
  expect((await scoreText(toolCallRepair, row, right, "length")).reward).toBe(0);
  expect(toolCallRepair.start(row, 1).end("timeout")).toMatchObject({ reward: 0 });
});

test("acting where one has to ask", async () => {
  const open = { ...row, answer: { name: askUser.function.name, arguments: { missing: "days" } } };
  expect((await scoreText(toolCallRepair, open, right)).info).toMatchObject({
    failure: "acted",
    outcomes: { held_back: false, repaired: false, valid: true },
  });
  expect(
    (await scoreText(toolCallRepair, open, call({ missing: "days" }, "ask_user"))).info.outcomes["held_back"],
  ).toBe(true);
});

test("tools: unlike names, and careless values that are wrong", () => {
  const tools = Object.values(domains).flat();
  expect(new Set(tools.map(({ definition }) => definition.function.name)).size).toBe(tools.length);
  for (const { misnomer, parameters, requests } of tools) {
    expect(findTool(misnomer)).toBeUndefined();
    for (const request of requests) {
      for (const { name, optional } of parameters) {
        if (optional !== true) expect(request).toContain(`{${name}}`);
      }
    }
    for (const parameter of parameters) {
      if (parameter.slip !== "outside_enum") continue;
      for (let seed = 0; seed < 10; seed++) {
        expect(parameter.schema["enum"]).not.toContain(parameter.draw(new Random(seed)).careless);
      }
    }
  }
});

test("a row of a file that cannot be used is refused with the reason", () => {
  const bad = (change: Record<string, unknown>) => () => toolCallRepair.parseRow({ ...row, ...change });
  expect(bad({ tools: ["fly"] })).toThrow(/row one: there is no tool fly/);
  expect(bad({ answer: { name: "no_action", arguments: {} } })).toThrow(/calls no_action, which is not offered/);
  expect(bad({ answer: "get_forecast" })).toThrow(/answer is not a call/);
  expect(bad({ request: "" })).toThrow(/request is not a text/);
  expect(bad({ fault: "typo" })).toThrow(/fault is none of/);
  expect(() => toolCallRepair.parseRow(3)).toThrow(/row without id/);
});

test("reference lines and drawing", () => {
  const lines = toolCallRepair.reference([row]);
  expect(lines).toEqual({ no_call: 0, same_call_again: expect.closeTo(0.1, 12), best: 1 });
  expect(toolCallRepair.draw(row)).toContain("(mistyped)");
});
