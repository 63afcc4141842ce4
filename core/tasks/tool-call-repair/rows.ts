/** Faulty calls by seed: a request, the call that was made, and the one call that would have been right. */

import { HoneError } from "../../contract/errors.ts";
import { Random } from "../../contract/random.ts";
import { isRecord } from "../../contract/is-record.ts";
import { pythonJson } from "../../text/tool-format.ts";
import { askUser, domains, findTool, noAction, type DomainTool } from "./tools.ts";
import type { Spoken } from "./values.ts";

/** What can be wrong with a call. */
export const faults = [
  "bad_json",
  "wrong_name",
  "other_tool",
  "missing",
  "renamed",
  "mistyped",
  "outside_enum",
  "format",
  "wrong_value",
  "nesting",
  "extra",
  "invented",
  "needless",
] as const;
export type Fault = (typeof faults)[number];

export interface Call {
  name: string;
  arguments: Record<string, unknown>;
}

export interface RepairRow {
  id: string;
  domain: string;
  /** Names of the tools that are offered. */
  tools: string[];
  request: string;
  /** The call that was made, as text. */
  faulty: string;
  fault: Fault;
  /** The one right call. */
  answer: Call;
}

/** Rows of one domain, all different, always the same ones. */
export function domainRows(domain: string, count: number): RepairRow[] {
  const random = new Random("tool-call-repair").split(domain);
  const rows = new Map<string, RepairRow>();
  while (rows.size < count) {
    const row = drawRow(domain, random);
    const key = `${row.request}\n${row.faulty}`;
    if (!rows.has(key)) rows.set(key, { id: `${domain}-${rows.size + 1}`, ...row });
  }
  return [...rows.values()];
}

function drawRow(domain: string, random: Random): Omit<RepairRow, "id"> {
  const pair = random.shuffle(domains[domain]);
  const fault = random.pick(faults.filter((kind) => pair.some((tool) => canHave(tool, kind))));
  const [tool, sibling] = canHave(pair[0], fault) ? pair : pair.toReversed();
  const { name } = tool.definition.function;
  const { request, values, open } = drawRequest(tool, fault === "invented", random);
  const right: Call = {
    name,
    arguments: Object.fromEntries([...values].map(([parameter, { value }]) => [parameter, value])),
  };
  const ways: Partial<Record<Fault, { other: string; answer: Call }>> = {
    other_tool: { other: sibling.definition.function.name, answer: right },
    invented: { other: askUser.function.name, answer: { name: askUser.function.name, arguments: { missing: open } } },
    needless: { other: noAction.function.name, answer: { name: noAction.function.name, arguments: {} } },
  };
  const others = [sibling.definition, askUser, noAction].map((definition) => definition.function.name);
  const { other, answer } = ways[fault] ?? { other: random.pick(others), answer: right };
  return {
    domain,
    tools: random.shuffle([name, other]),
    request: fault === "needless" ? random.pick(withdrawals)(request) : request,
    faulty: spoil(fault, right, { tool, sibling, values }, random),
    fault,
    answer,
  };
}

const withdrawals: ((request: string) => string)[] = [
  (request) => `${request} No, wait, do not do that.`,
  (request) => `${request} Sorry, forget it, do nothing.`,
  (request) => `Do not do this yet, I will tell you when: ${request}`,
  (request) => `This has been done already, thank you: ${request}`,
];

function canHave(tool: DomainTool, fault: Fault): boolean {
  if (fault === "invented") return tool.requests.some((request) => request.includes("["));
  if (fault === "mistyped" || fault === "outside_enum" || fault === "format") {
    return tool.parameters.some(({ slip, optional }) => slip === fault && optional !== true);
  }
  return true;
}

/** A request with values filled in. `leaveOut`: without what stands in brackets; `open` is the parameter left out. */
function drawRequest(tool: DomainTool, leaveOut: boolean, random: Random) {
  const template = random.pick(tool.requests.filter((request) => !leaveOut || request.includes("[")));
  const open = /\[[^\]]*\{(\w+)\}/.exec(template)?.[1];
  const said = leaveOut ? template.replace(/\[[^\]]*\]/, "") : template.replace(/[[\]]/g, "");
  const values = new Map<string, Spoken>();
  for (const parameter of tool.parameters) {
    if (template.includes(`{${parameter.name}}`)) values.set(parameter.name, parameter.draw(random));
  }
  const request = said.replace(/\{(\w+)\}/g, (_, name: string) => values.get(name)?.said ?? "");
  return { request: request.charAt(0).toUpperCase() + request.slice(1), values, open };
}

interface Source {
  tool: DomainTool;
  sibling: DomainTool;
  values: ReadonlyMap<string, Spoken>;
}

function spoil(fault: Fault, right: Call, { tool, sibling, values }: Source, random: Random): string {
  const args = right.arguments;
  const names = Object.keys(args);
  const call = (given: Record<string, unknown>, name = right.name) => pythonJson({ name, arguments: given });
  switch (fault) {
    case "bad_json":
      return random.pick(misspellings)(pythonJson(right), right);
    case "wrong_name":
      return call(args, tool.misnomer);
    case "other_tool":
      return call(args, sibling.definition.function.name);
    case "missing": {
      const gone = random.pick(names);
      return call(Object.fromEntries(Object.entries(args).filter(([name]) => name !== gone)));
    }
    case "renamed": {
      const renamed = random.pick(names);
      const alias = random.pick([`${renamed}_value`, `the_${renamed}`, `${renamed.charAt(0)}_`, renamed.toUpperCase()]);
      return call(Object.fromEntries(Object.entries(args).map(([name, v]) => [name === renamed ? alias : name, v])));
    }
    case "mistyped":
    case "outside_enum":
    case "format": {
      const { name } = random.pick(tool.parameters.filter(({ slip, name }) => slip === fault && values.has(name)));
      return call({ ...args, [name]: values.get(name)?.careless });
    }
    case "wrong_value": {
      const parameter = random.pick(tool.parameters.filter(({ name }) => values.has(name)));
      let { value } = parameter.draw(random);
      while (value === args[parameter.name]) ({ value } = parameter.draw(random));
      return call({ ...args, [parameter.name]: value });
    }
    case "nesting":
      return random.pick([
        call({ params: args }),
        pythonJson({ name: right.name, ...args }),
        pythonJson({ call: right }),
        pythonJson({ [right.name]: args }),
      ]);
    case "extra":
      return call({ ...args, ...random.pick<Record<string, unknown>>([{ confirm: true }, { user: "me" }, { id: 1 }]) });
    case "invented":
    case "needless":
      return call(args);
  }
}

/** A call that is no JSON any more. */
const misspellings: ((json: string, call: Call) => string)[] = [
  (json) => json.replaceAll('"', "'"),
  (json) => json.slice(0, -1),
  (json) => json.replace(/\}\}$/, ",}}"),
  (json) => json.replace('"name"', "name").replace('"arguments"', "arguments"),
  (_, call) => {
    const args = Object.entries(call.arguments).map(([name, value]) => `${name}=${pythonJson(value)}`);
    return `${call.name}(${args.join(", ")})`;
  },
  (json) => json.replace('", "arguments"', '" "arguments"'),
];

/** The call that stands in a faulty text, where it is one in form. */
export function readFaulty(faulty: string): Call | undefined {
  try {
    const value: unknown = JSON.parse(faulty);
    if (!isRecord(value) || typeof value.name !== "string" || !isRecord(value.arguments)) return undefined;
    return { name: value.name, arguments: value.arguments };
  } catch {
    return undefined;
  }
}

/** Checks a row of a file. Throws `HoneError` `bad-row`. */
export function parseRow(value: unknown): RepairRow {
  const row = isRecord(value) ? value : {};
  const fail = (what: string): never => {
    throw new HoneError("bad-row", `row ${typeof row.id === "string" ? row.id : "without id"}: ${what}`, {
      fix: `a row is ${exampleRow}`,
    });
  };
  const { id, domain, tools, request, faulty, fault, answer } = row;
  const text = (key: string, given: unknown) =>
    typeof given === "string" && given !== "" ? given : fail(`${key} is not a text`);
  if (!Array.isArray(tools) || tools.length === 0) return fail("tools is not a list of names");
  const known = tools.map((name) => (findTool(String(name)) ? String(name) : fail(`there is no tool ${String(name)}`)));
  if (!isRecord(answer) || typeof answer.name !== "string" || !isRecord(answer.arguments)) {
    return fail("answer is not a call");
  }
  const { name, arguments: args } = answer;
  if (!known.includes(name)) return fail(`the answer calls ${name}, which is not offered`);
  return {
    id: text("id", id),
    domain: text("domain", domain),
    tools: known,
    request: text("request", request),
    faulty: text("faulty", faulty),
    fault: faults.find((kind) => kind === fault) ?? fail(`fault is none of ${faults.join(", ")}`),
    answer: { name, arguments: args },
  };
}

const exampleRow =
  '{"id": "a", "domain": "timers", "tools": ["set_timer", "no_action"], "request": "…", "faulty": "…", "fault": "missing", "answer": {"name": "set_timer", "arguments": {"minutes": 5, "label": "tea"}}}';
