/** What people write or paste to name a repository: `owner/name`, `owner/name@revision`, `owner/name:Q4_K_M`, links. */

import { HoneError } from "../../contract/errors.ts";
import {
  repoIdPattern,
  repoRefSchema,
  isSafeRepoPath,
  type HubSourceName,
  type RepoKind,
  type RepoRef,
} from "../../contract/hub.ts";

export interface RepoReference {
  ref: RepoRef;
  /** The file that a link pointed at. */
  file: string | null;
  /** `owner/name:Q4_K_M`: the quantisation. */
  quant: string | null;
}

/** Where people sign in and accept licences, whatever mirror the files come from. */
export const hubAddresses: Record<HubSourceName, string> = {
  huggingface: "https://huggingface.co",
  modelscope: "https://www.modelscope.cn",
};

export const defaultRevision: Record<HubSourceName, string> = { huggingface: "main", modelscope: "master" };

const prefixes: Record<string, HubSourceName> = {
  hf: "huggingface",
  huggingface: "huggingface",
  ms: "modelscope",
  modelscope: "modelscope",
};

const hosts: Record<string, HubSourceName> = {
  "huggingface.co": "huggingface",
  "www.huggingface.co": "huggingface",
  "hf.co": "huggingface",
  "hf-mirror.com": "huggingface",
  "modelscope.cn": "modelscope",
  "www.modelscope.cn": "modelscope",
  "modelscope.ai": "modelscope",
  "www.modelscope.ai": "modelscope",
};

/** First parts of Hugging Face addresses that are no owners. */
const notOwners = new Set(
  "api blog collections docs enterprise inference join learn login new organizations papers pricing settings spaces tasks".split(
    " ",
  ),
);

const fix =
  "write owner/name (or owner/name@revision), or paste the address of its page on huggingface.co or modelscope.cn; " +
  "`hone search` finds names";

/** Throws `bad-reference`. `defaults` hold what the text does not say. */
export function parseReference(
  text: string,
  defaults: { source?: HubSourceName; kind?: RepoKind } = {},
): RepoReference {
  const trimmed = text.trim();
  const link = /^(?:https?:\/\/)?((?:[\w-]+\.)+[a-z]{2,}|localhost|[\d.]+)(?::\d+)?\//i.exec(trimmed);
  const isLink = /^https?:\/\//i.test(trimmed) || (link !== null && hosts[link[1].toLowerCase()] !== undefined);
  return isLink ? parseLink(trimmed) : parseName(trimmed, defaults);
}

function bad(text: string, why: string): HoneError {
  return new HoneError("bad-reference", `${JSON.stringify(text)} names no repository: ${why}`, { fix });
}

function parseName(text: string, defaults: { source?: HubSourceName; kind?: RepoKind }): RepoReference {
  let rest = text;
  let source = defaults.source ?? "huggingface";
  let kind = defaults.kind ?? "model";
  const prefix = /^([a-z]+):/.exec(rest);
  if (prefix !== null && prefixes[prefix[1]] !== undefined) {
    source = prefixes[prefix[1]];
    rest = rest.slice(prefix[0].length);
  }
  if (rest.startsWith("datasets/") && rest.split("/").length === 3) {
    kind = "dataset";
    rest = rest.slice("datasets/".length);
  }
  const at = rest.indexOf("@");
  let revision = at < 0 ? undefined : rest.slice(at + 1);
  let id = at < 0 ? rest : rest.slice(0, at);
  let quant: string | null = null;
  const colon = (revision ?? id).lastIndexOf(":");
  if (colon > 0) {
    quant = (revision ?? id).slice(colon + 1);
    if (revision === undefined) id = id.slice(0, colon);
    else revision = revision.slice(0, colon);
    if (!/^[\w.-]+$/.test(quant)) throw bad(text, "what follows the colon is no quantisation, such as Q4_K_M");
  }
  if (!id.includes("/")) throw bad(text, "a name has an owner and a slash, such as Qwen/Qwen3-0.6B");
  return { ref: makeRef(text, { source, kind, id, revision: revision ?? defaultRevision[source] }), file: null, quant };
}

function parseLink(text: string): RepoReference {
  const url = URL.parse(/^https?:/i.test(text) ? text : `https://${text}`);
  if (url === null) throw bad(text, "the address cannot be read");
  const source = hosts[url.hostname.toLowerCase()] ?? ownEndpoint(url);
  if (source === undefined) throw bad(text, `${url.hostname} is no hub that Hone knows`);
  let parts: string[];
  try {
    parts = url.pathname
      .split("/")
      .filter((part) => part !== "")
      .map(decodeURIComponent);
  } catch {
    throw bad(text, "the address is not well-formed");
  }
  let kind: RepoKind = "model";
  if (parts[0] === "datasets") {
    kind = "dataset";
    parts.shift();
  } else if (parts[0] === "models") parts.shift();
  else if (source === "huggingface" && notOwners.has(parts[0] ?? "")) {
    throw bad(text, "the page is neither a model nor a dataset");
  }
  const [owner, name, ...rest] = parts;
  if (owner === undefined || name === undefined) throw bad(text, "the address has no owner and name");
  const { revision, file } = placeInRepo(rest, url);
  return {
    ref: makeRef(text, { source, kind, id: `${owner}/${name}`, revision: revision ?? defaultRevision[source] }),
    file: file !== null && isSafeRepoPath(file) ? file : null,
    quant: null,
  };
}

/** `tree/REV[/folder]`, `blob/REV/file`, `resolve/REV/file`; on ModelScope also `file/view/REV/file?…`. */
function placeInRepo(rest: string[], url: URL): { revision: string | undefined; file: string | null } {
  const [word, ...more] = rest[0] === "file" && rest[1] === "view" ? rest.slice(1) : rest;
  if (word === undefined || more.length === 0 || !["tree", "blob", "resolve", "raw", "view", "commit"].includes(word)) {
    return { revision: url.searchParams.get("Revision") ?? undefined, file: url.searchParams.get("FilePath") };
  }
  // Only these revisions hold slashes that people leave as they are; those of branches are written %2F.
  const length = more[0] === "refs" ? 3 : 1;
  const path = more.slice(length).join("/");
  const isFile = word !== "tree" && word !== "commit" && path !== "";
  return { revision: more.slice(0, length).join("/"), file: isFile ? path : null };
}

/** A company's mirror: links of it are known by the endpoint settings. */
function ownEndpoint(url: URL): HubSourceName | undefined {
  const is = (name: string) => URL.parse(process.env[name] ?? "")?.host === url.host;
  if (is("HF_ENDPOINT")) return "huggingface";
  return is("MODELSCOPE_ENDPOINT") ? "modelscope" : undefined;
}

function makeRef(text: string, ref: RepoRef): RepoRef {
  if (!repoIdPattern.test(ref.id)) throw bad(text, "names hold letters, digits, `-`, `_` and `.`, with one slash");
  const checked = repoRefSchema.safeParse(ref);
  if (!checked.success) throw bad(text, `${JSON.stringify(ref.revision)} is no branch, tag or commit`);
  return checked.data;
}

/** `owner/name`, with the revision where it is not the usual one. */
export function showRef({ source, id, revision }: RepoRef): string {
  return revision === defaultRevision[source] ? id : `${id}@${revision}`;
}
