/** The tokenizer of a model folder or GGUF file. */

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { HoneError } from "../contract/errors.ts";
import { isRecord } from "../contract/is-record.ts";
import { ggufTokenizer, type GgufMetadata } from "./gguf-tokenizer.ts";
import { readAddedToken, readTokenizerJson } from "./tokenizer-json.ts";
import { Tokenizer, type TokenizerSettings } from "./tokenizer.ts";

export interface OpenTokenizerOptions {
  /** Reads the key-values of a GGUF file. Needed for GGUF models only. */
  readGgufMetadata?: (path: string) => Promise<GgufMetadata>;
}

/**
 * Opens the tokenizer of a Hugging Face folder (`tokenizer.json`, `tokenizer_config.json`, `special_tokens_map.json`,
 * `generation_config.json`, `chat_template.jinja`), of a GGUF file, or of a folder that holds nothing but one GGUF file.
 * Throws `HoneError`: `no-tokenizer`, `bad-tokenizer`, `unsupported-tokenizer`.
 */
export async function openTokenizer(modelPath: string, options: OpenTokenizerOptions = {}): Promise<Tokenizer> {
  const info = await stat(modelPath).catch((cause: unknown) => {
    throw new HoneError("no-tokenizer", `${modelPath}: no such file or folder`, { cause });
  });
  if (!info.isDirectory()) return openGguf(modelPath, options);
  const names = await readdir(modelPath);
  if (names.includes("tokenizer.json")) return openFolder(modelPath);
  const gguf = names.filter((name) => name.toLowerCase().endsWith(".gguf"));
  if (gguf.length === 1) return openGguf(join(modelPath, gguf[0] ?? ""), options);
  const old = ["tokenizer.model", "vocab.json"].find((name) => names.includes(name));
  throw new HoneError("no-tokenizer", `${modelPath}: no tokenizer.json${old === undefined ? "" : ` (only ${old})`}`, {
    fix:
      gguf.length > 1
        ? `Name one of the GGUF files: ${gguf.join(", ")}.`
        : "Download the model again with its tokenizer.json, or write one with save_pretrained of a fast tokenizer.",
  });
}

async function openGguf(path: string, { readGgufMetadata }: OpenTokenizerOptions): Promise<Tokenizer> {
  if (readGgufMetadata === undefined) throw new Error("openTokenizer needs readGgufMetadata for a GGUF file");
  return ggufTokenizer(await readGgufMetadata(path), path);
}

async function openFolder(folder: string): Promise<Tokenizer> {
  const file = join(folder, "tokenizer.json");
  const json = readTokenizerJson(await readJson(file), file);
  const config = await readObject(folder, "tokenizer_config.json");
  const map = await readObject(folder, "special_tokens_map.json");
  const generation = await readObject(folder, "generation_config.json");
  // Tokens that were added after tokenizer.json was written stand in the configuration only.
  if (isRecord(config.added_tokens_decoder)) {
    const known = new Set(json.added_tokens.map(({ id }) => id));
    for (const [id, value] of Object.entries(config.added_tokens_decoder)) {
      if (known.has(Number(id))) continue;
      const error = () =>
        new HoneError("bad-tokenizer", `${folder}/tokenizer_config.json: added token ${id} is malformed`);
      json.added_tokens.push(readAddedToken(value, error, Number(id)));
    }
  }
  const text = (key: string) => tokenText(config[key]) ?? tokenText(map[key]);
  const flag = (key: string) => (typeof config[key] === "boolean" ? config[key] : undefined);
  const stop: unknown[] = Array.isArray(generation.eos_token_id) ? generation.eos_token_id : [generation.eos_token_id];
  const settings: TokenizerSettings = {
    bosToken: text("bos_token"),
    eosToken: text("eos_token"),
    padToken: text("pad_token"),
    unkToken: text("unk_token"),
    stopIds: stop.filter((id) => typeof id === "number"),
    addBos: flag("add_bos_token"),
    addEos: flag("add_eos_token"),
    chatTemplates: await chatTemplates(folder, config),
  };
  return new Tokenizer(json, settings);
}

/** From `chat_template.jinja` and `additional_chat_templates/`, else `chat_template.json`, else `tokenizer_config.json`. */
async function chatTemplates(folder: string, config: Record<string, unknown>): Promise<Record<string, string>> {
  const templates = namedTemplates(config.chat_template);
  Object.assign(templates, namedTemplates((await readObject(folder, "chat_template.json")).chat_template));
  const main = await readText(join(folder, "chat_template.jinja"));
  if (main !== undefined) templates.default = main;
  const more = join(folder, "additional_chat_templates");
  for (const name of await readdir(more).catch(() => [])) {
    const template = name.endsWith(".jinja") ? await readText(join(more, name)) : undefined;
    if (template !== undefined) templates[name.slice(0, -".jinja".length)] = template;
  }
  return templates;
}

function namedTemplates(value: unknown): Record<string, string> {
  const templates: Record<string, string> = {};
  if (typeof value === "string") templates.default = value;
  if (Array.isArray(value)) {
    for (const entry of value as unknown[]) {
      if (isRecord(entry) && typeof entry.name === "string" && typeof entry.template === "string") {
        templates[entry.name] = entry.template;
      }
    }
  }
  return templates;
}

/** `"<s>"` or `{"content": "<s>", …}`. */
function tokenText(value: unknown): string | undefined {
  const text = isRecord(value) ? value.content : value;
  return typeof text === "string" && text !== "" ? text : undefined;
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    if (isRecord(cause) && cause.code === "ENOENT") return undefined;
    throw new HoneError("bad-tokenizer", `${file}: cannot be read`, { cause });
  }
}

async function readJson(file: string): Promise<unknown> {
  const text = await readText(file);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new HoneError("bad-tokenizer", `${file}: not valid JSON`, { cause });
  }
}

async function readObject(folder: string, name: string): Promise<Record<string, unknown>> {
  const value = await readJson(join(folder, name));
  if (value === undefined) return {};
  if (!isRecord(value)) throw new HoneError("bad-tokenizer", `${join(folder, name)}: not a JSON object`);
  return value;
}
