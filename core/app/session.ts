/** The engine with everything that turns a model's name into a policy. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createEngine, readGgufMetadata } from "../engine/engine.ts";
import type { Engine, Model, OpenProgress } from "../engine/types.ts";
import { EnginePolicy } from "../evaluate/policy.ts";
import { openTextChat, type TextChat } from "../evaluate/text-chat.ts";
import { openTokenizer } from "../text/open-tokenizer.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { findModel, openModel, type ModelFiles } from "../train/model-ref.ts";

export interface OpenChoices {
  threads?: number;
  memoryLimit?: number;
  /** `chatml` or a file, instead of the model's own. */
  template?: string;
  thinking?: boolean;
  /** The date that a template may write into a prompt. Default: now. */
  now?: Date;
  onProgress?: (progress: OpenProgress) => void;
}

/** A model that is open for use. */
export interface OpenPolicy {
  files: ModelFiles;
  model: Model;
  chat: TextChat;
  policy: EnginePolicy;
  close(): Promise<void>;
}

export class Session {
  readonly engine: Engine;
  readonly honeVersion = honeVersion();

  constructor(engine: Engine) {
    this.engine = engine;
  }

  static async open(): Promise<Session> {
    return new Session(await createEngine());
  }

  openTokenizer(files: ModelFiles): Promise<Tokenizer> {
    return openTokenizer(files.text, { readGgufMetadata });
  }

  openChat(files: ModelFiles, { template, thinking, now }: OpenChoices = {}): Promise<TextChat> {
    return openTextChat(files.text, {
      readGgufMetadata,
      ...(template !== undefined && { template }),
      ...(thinking !== undefined && { thinking }),
      ...(now !== undefined && { now }),
    });
  }

  /** Opens weights without a text layer: token ids in, numbers out. */
  async openModel(reference: string, choices: OpenChoices = {}): Promise<{ files: ModelFiles; model: Model }> {
    const files = await findModel(reference);
    const { threads, memoryLimit, onProgress } = choices;
    const options = { ...(threads !== undefined && { threads }), ...(memoryLimit !== undefined && { memoryLimit }) };
    return { files, model: await openModel(this.engine, files, options, onProgress) };
  }

  async openPolicy(reference: string, choices: OpenChoices = {}): Promise<OpenPolicy> {
    // The text layer first: it is quick, and without it the weights are of no use.
    const chat = await this.openChat(await findModel(reference), choices);
    const { files, model } = await this.openModel(reference, choices);
    return { files, model, chat, policy: new EnginePolicy(model, chat), close: () => model.close() };
  }
}

export function honeVersion(): string {
  const path = join(import.meta.dirname, "..", "..", "package.json");
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
