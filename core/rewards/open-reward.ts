/** Opens a reward: a JSON file of parts, a script, or a program. */

import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import type { z } from "zod";
import { HoneError } from "../contract/errors.ts";
import { nearest } from "../contract/nearest.ts";
import {
  rewardPartSchemas,
  type RewardFile,
  type RewardPartType,
  type RewardResult,
  type RewardUsage,
} from "../contract/reward.ts";
import { fileReason } from "../files/system-error.ts";
import { honeHome } from "../store/library.ts";
import { openCommand } from "./command.ts";
import { openHttp } from "./http.ts";
import { fields, jsonSchema, toolCall } from "./json-parts.ts";
import type { OpenPart, OpenPartOf, PartContext } from "./part.ts";
import { PartValues } from "./part-values.ts";
import type { Reward } from "./reward.ts";
import { openJudge } from "./judge.ts";
import { openScript } from "./script.ts";
import { exactMatch, formatTags, length, numeric, regex, similarity, words } from "./text-parts.ts";

/** Every type that a reward file may name. */
const openers: { [Type in RewardPartType]: OpenPartOf<Type> } = {
  exact_match: exactMatch,
  numeric,
  regex,
  json_schema: jsonSchema,
  fields,
  tool_call: toolCall,
  length,
  format_tags: formatTags,
  similarity,
  words,
  judge: openJudge,
  script: openScript,
  command: openCommand,
  http: openHttp,
};

/** What a file is by itself, without a reward file around it. */
const singleFiles: Record<string, (path: string) => { type: RewardPartType } & Record<string, unknown>> = {
  ...Object.fromEntries([".ts", ".mts", ".js", ".mjs"].map((end) => [end, (file) => ({ type: "script", file })])),
  ".py": (file) => ({ type: "command", command: [process.platform === "win32" ? "python" : "python3", file] }),
};

/** Opens a reward file, or an object with its content. Throws `bad-reward-file` naming the part and the field. */
export async function openReward(spec: string | RewardFile, options: Partial<PartContext> = {}): Promise<Reward> {
  const path = typeof spec === "string" ? resolve(spec) : undefined;
  const place = path ?? "the reward";
  const context: PartContext = {
    folder: path === undefined ? process.cwd() : dirname(path),
    cacheFolder: join(honeHome(), "judge-cache"),
    env: process.env,
    ...options,
  };
  const parts: { open: OpenPart; values: PartValues }[] = [];
  const add = async (entry: Entry, alone: boolean) => {
    const open = await openPart(entry, context);
    parts.push({ open, values: new PartValues(entry, open, alone) });
  };
  try {
    const single = path === undefined ? undefined : singleFiles[extname(path).toLowerCase()];
    if (path !== undefined && single !== undefined) {
      requireFile(path);
      const name = basename(path, extname(path)).replaceAll(/[^A-Za-z0-9_.-]+/g, "-");
      await add(readPart({ ...single(path), name }, place), true);
    } else {
      const content = path === undefined ? spec : readRewardJson(path);
      for (const entry of readParts(content, place)) {
        await add(entry, false).catch((error: unknown) => {
          throw path === undefined ? error : inFile(path, error);
        });
      }
    }
  } catch (error) {
    await closeAll(parts);
    throw error;
  }
  return combine(parts);
}

function requireFile(path: string): void {
  if (!existsSync(path)) throw new HoneError("no-such-file", `there is no reward file ${path}`, { fix: newRewardFix });
}

const newRewardFix = "`hone reward new --out FILE` makes one to begin with";

function readRewardJson(path: string): unknown {
  requireFile(path);
  if (extname(path).toLowerCase() !== ".json") {
    throw badFile(path, "a reward is a .json, .ts, .js or .py file", newRewardFix);
  }
  try {
    return JSON.parse(readFileSync(path, "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    throw badFile(path, fileReason(error) ?? `it is not JSON: ${(error as Error).message}`, undefined, error);
  }
}

function badFile(place: string, why: string, fix?: string, cause?: unknown): HoneError {
  return new HoneError("bad-reward-file", `${place}: ${why}`, {
    ...(fix !== undefined && { fix }),
    ...(cause !== undefined && { cause }),
  });
}

/** An error of a part, told with the name of the reward file. */
function inFile(path: string, error: unknown): unknown {
  if (!(error instanceof HoneError) || error.code !== "bad-reward-file") return error;
  return badFile(path, error.message, error.fix, error);
}

type Entry = { type: RewardPartType; name: string; weight: number };

/** The checked entries of a reward file, defaults filled in. */
function readParts(content: unknown, place: string): Entry[] {
  if (typeof content !== "object" || content === null || !Array.isArray((content as RewardFile).parts)) {
    throw badFile(place, 'it must be an object with a list "parts"', '{"parts": [{"type": "exact_match"}]}');
  }
  const stray = Object.keys(content).find((key) => key !== "parts");
  if (stray !== undefined) throw badFile(place, `there is no key ${JSON.stringify(stray)}`, 'the only key is "parts"');
  const list: unknown[] = (content as RewardFile).parts;
  if (list.length === 0) throw badFile(place, "it has no parts", `types are ${Object.keys(openers).join(", ")}`);
  const entries = list.map((entry, i) => readPart(entry, `${place}, part ${i + 1}`));
  for (const [i, { name }] of entries.entries()) {
    if (entries.findIndex((other) => other.name === name) === i) continue;
    throw badFile(`${place}, part ${i + 1}`, `the name ${JSON.stringify(name)} stands twice`, 'give it another "name"');
  }
  return entries;
}

function readPart(entry: unknown, place: string): Entry {
  if (typeof entry !== "object" || entry === null) throw badFile(place, "a part must be an object");
  const types = Object.keys(openers);
  const type = (entry as { type?: unknown }).type;
  if (typeof type !== "string" || !Object.hasOwn(openers, type)) {
    const meant = typeof type === "string" ? nearest(type, types) : undefined;
    throw badFile(
      place,
      type === undefined ? "it has no type" : `there is no type ${JSON.stringify(type)}`,
      meant === undefined ? `types are ${types.join(", ")}` : `did you mean ${JSON.stringify(meant)}?`,
    );
  }
  const schema: z.ZodObject = rewardPartSchemas[type as RewardPartType];
  const known = Object.keys(schema.shape);
  for (const key of Object.keys(entry)) {
    if (known.includes(key)) continue;
    const meant = nearest(key, known);
    throw badFile(
      `${place} (${type})`,
      `there is no option ${JSON.stringify(key)}`,
      meant === undefined ? `options are ${known.join(", ")}` : `did you mean ${JSON.stringify(meant)}?`,
    );
  }
  const result = schema.safeParse(entry);
  if (!result.success) {
    const [issue] = result.error.issues;
    const option = issue.path.join(".");
    const missing = !Object.hasOwn(entry, issue.path[0]);
    throw badFile(
      `${place} (${type})`,
      missing ? `${option} is missing` : `${option}: ${issue.message}`,
      "examples/rewards/README.md lists the options of each type",
    );
  }
  const part = result.data as { type: RewardPartType; name?: string; weight: number; column?: string; value?: unknown };
  if (part.column !== undefined && part.value !== undefined) {
    throw badFile(`${place} (${type})`, "column and value contradict each other", "give one of them");
  }
  return { ...part, name: part.name ?? type };
}

async function openPart(entry: Entry, context: PartContext): Promise<OpenPart> {
  // The table goes together entry by entry, which the compiler cannot see for a type known only now.
  const open = openers[entry.type] as (options: Entry, context: PartContext) => OpenPart | Promise<OpenPart>;
  return open(entry, context);
}

function combine(opened: readonly { open: OpenPart; values: PartValues }[]): Reward {
  return {
    get parts() {
      return opened.flatMap(({ values }) => values.parts());
    },
    async score(sample): Promise<RewardResult> {
      const answers = await Promise.all(opened.map(async ({ open }) => open.score(sample)));
      const results = answers.map((answer, i) => opened[i].values.read(answer, sample));
      const info = Object.assign({}, ...results.map((result) => result.info)) as Record<string, unknown>;
      return {
        reward: results.reduce((sum, { reward }) => sum + reward, 0),
        parts: Object.assign({}, ...results.map(({ parts }) => parts)) as Record<string, number>,
        ...(Object.keys(info).length > 0 && { info }),
      };
    },
    usage() {
      const all = opened.flatMap(({ open }) => open.usage?.() ?? []);
      return all.length === 0 ? undefined : all.reduce(addUsage);
    },
    async close() {
      await closeAll(opened);
    },
  };
}

async function closeAll(opened: readonly { open: OpenPart }[]): Promise<void> {
  await Promise.all(opened.map(async ({ open }) => open.close?.()));
}

function addUsage(a: RewardUsage, b: RewardUsage): RewardUsage {
  return {
    calls: a.calls + b.calls,
    cached: a.cached + b.cached,
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
  };
}
