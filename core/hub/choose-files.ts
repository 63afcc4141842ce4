/** Which files of a repository are needed: one format, no duplicates, no pickles, no code. */

import { HoneError } from "../contract/errors.ts";
import type { Room } from "../contract/fits.ts";
import type { FileChoice, RepoFile, RepoSnapshot } from "../contract/hub.ts";
import { listQuants, requireQuant } from "./quants.ts";
import { showRef } from "./sources/parse-reference.ts";

export interface ChooseOptions {
  /** A quantisation of a GGUF repository, or the path of a file. Default: what is recommended for this machine. */
  quant?: string | null;
  machine: Room;
}

/** Small files that a model folder needs or that say what it is. */
const companions =
  /^(?:config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab|chat_template|adapter_config)\.json$|^merges\.txt$|^(?:chat_template|additional_chat_templates\/[^/]+)\.jinja$/;
const about = /^(?:readme\.md|(?:licen[cs]e|notice|copying|use_policy)[^/]*)$/i;
const shard = /^model-\d{5}-of-(\d{5})\.safetensors$/;
const pickle = /\.(?:bin|pt|pth|ckpt|pkl|pickle|joblib|npy)$/i;

/** True for files that run code when they are opened. */
export function isPickle(path: string): boolean {
  return pickle.test(path);
}

/** Throws `no-weights`, `only-pickle`, `incomplete-repo`, `no-such-quant`. */
export function chooseModelFiles(snapshot: RepoSnapshot, { quant = null, machine }: ChooseOptions): FileChoice {
  const { files } = snapshot;
  const quants = listQuants(snapshot, machine);
  const weights = safetensorsOf(snapshot);
  if (quants.length > 0 && (quant !== null || weights === undefined)) {
    const chosen = requireQuant(quants, quant, snapshot);
    const wanted = new Set(chosen.files);
    const choice = pick(files, ({ path }) => wanted.has(path) || about.test(path));
    return { ...choice, format: "gguf", quant: chosen.name, quants };
  }
  if (quant !== null) {
    throw new HoneError("no-such-quant", `${showRef(snapshot.ref)} has no GGUF files, so no ${quant}`, {
      fix: "leave the quantisation out, or `hone search` for a GGUF repository of it",
    });
  }
  if (weights === undefined) throw noWeights(snapshot);
  const wanted = new Set(weights);
  const hasTokenizer = files.some(({ path }) => path === "tokenizer.json");
  const choice = pick(
    files,
    ({ path }) =>
      wanted.has(path) || companions.test(path) || about.test(path) || (path === "tokenizer.model" && !hasTokenizer),
  );
  return { ...choice, format: "safetensors", quant: null, quants };
}

/** The safetensors files that the engine reads: the single one before parts; an adapter's when there is no model. */
function safetensorsOf({ files, ref }: RepoSnapshot): string[] | undefined {
  const has = (path: string) => files.some((file) => file.path === path);
  if (has("model.safetensors")) return ["model.safetensors"];
  const parts = files.filter(({ path }) => shard.test(path)).map(({ path }) => path);
  if (parts.length > 0) {
    const count = Number(shard.exec(parts[0])?.[1]);
    const index = "model.safetensors.index.json";
    if (parts.length !== count || !has(index)) {
      const missing = parts.length !== count ? `${parts.length} of ${count} parts are there` : `${index} is missing`;
      throw new HoneError("incomplete-repo", `the weights of ${showRef(ref)} are incomplete: ${missing}`, {
        fix: "choose another revision, or wait until its authors have uploaded the rest",
      });
    }
    return [...parts, index];
  }
  return has("adapter_model.safetensors") ? ["adapter_model.safetensors"] : undefined;
}

function noWeights({ files, ref }: RepoSnapshot): HoneError {
  if (files.some(({ path }) => pickle.test(path))) {
    return new HoneError(
      "only-pickle",
      `${showRef(ref)} has its weights only as PyTorch pickle files, which can run code`,
      {
        fix: "choose a repository with safetensors or GGUF files: `hone search` lists them",
      },
    );
  }
  return new HoneError("no-weights", `${showRef(ref)} holds no weights that Hone opens (safetensors or GGUF)`, {
    fix: "choose another repository: `hone search` lists them",
  });
}

/** Splits files into those that are wanted and those that are not, with the reason. */
export function pick(
  files: readonly RepoFile[],
  isWanted: (file: RepoFile) => boolean,
): Pick<FileChoice, "files" | "bytes" | "left_out"> {
  const wanted = files.filter(isWanted);
  const left = files.filter((file) => !isWanted(file));
  return {
    files: wanted,
    bytes: wanted.reduce((sum, { size }) => sum + size, 0),
    left_out: left.map(({ path, size }) => ({ path, size, reason: whyNot(path) })),
  };
}

function whyNot(path: string): string {
  if (pickle.test(path)) return "a pickle file: it can run code, and is never loaded";
  if (/\.(?:py|ipynb|sh|dll|so|exe)$/i.test(path)) return "code of the repository, which Hone does not run";
  if (/\.gguf$/i.test(path)) return /mmproj/i.test(path) ? "the image part of the model" : "another quantisation";
  if (/\.safetensors$/i.test(path)) return "the same weights in another layout";
  if (/\.(?:h5|msgpack|onnx|onnx_data|ot|tflite|mlmodel|mlpackage|nemo|gz|zip|tar)$/i.test(path))
    return "another format";
  return "not needed";
}
