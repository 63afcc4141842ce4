/**
 * Hugging Face, or a mirror with its API. Repository and file lists come through `@huggingface/hub` on our own `fetch`
 * (which alone holds the token); search is plain REST because the library has neither sizes nor GGUF metadata.
 */

import { datasetInfo, listFiles, modelInfo } from "@huggingface/hub";
import { z } from "zod";
import { engineArchitectures, ggufArchitectures, isEngineArchitecture } from "../../contract/architectures.ts";
import { HoneError } from "../../contract/errors.ts";
import {
  gatedSchema,
  isSafeRepoPath,
  repoFileSchema,
  type RepoFile,
  type RepoRef,
  type RepoSnapshot,
  type SearchHit,
  type SearchQuery,
  type SearchResult,
} from "../../contract/hub.ts";
import { fetchWith, type Credentials, type HttpReply } from "../http.ts";
import { withRetry } from "../retry.ts";
import { hubFailure } from "./failure.ts";
import { hubAddresses, showRef } from "./parse-reference.ts";
import { amount, cardOf, checkAnswer, checkNames, encodePath, getJson, readRange, text } from "./source-base.ts";
import type { Cancellable, HubSource } from "./source.ts";

const maxFiles = 100_000;
/** Pages of 100 that one search looks through for hits that fit. */
const maxPages = 5;

/** What both an entry of a list and a repository's own page may hold; all of it optional, whatever a mirror leaves out. */
const infoSchema = z.object({
  id: z.string().nullish(),
  sha: text,
  author: text,
  private: z.boolean().nullish(),
  gated: gatedSchema.nullish().catch("manual"),
  downloads: amount,
  likes: amount,
  lastModified: z.union([z.string(), z.date()]).nullish().catch(null),
  updatedAt: z.union([z.string(), z.date()]).nullish().catch(null),
  tags: z.array(z.string()).nullish().catch(null),
  cardData: z
    .object({ license: z.union([z.string(), z.array(z.string())]).nullish() })
    .loose()
    .nullish()
    .catch(null),
  config: z.object({ model_type: text }).nullish().catch(null),
  safetensors: z.object({ total: amount }).nullish().catch(null),
  gguf: z.object({ total: amount, architecture: text }).nullish().catch(null),
});
type Info = z.infer<typeof infoSchema>;

const treeEntrySchema = z.object({
  type: z.string(),
  path: z.string(),
  size: z.number().int().min(0),
  oid: z.string().nullish(),
  lfs: z.object({ oid: z.string(), size: z.number().int().min(0) }).nullish(),
});

export function huggingFace(endpoint: string, credentials: Credentials | undefined): HubSource {
  const path = (ref: RepoRef) => (ref.kind === "dataset" ? `datasets/${ref.id}` : ref.id);
  const page = (ref: RepoRef) => `${endpoint}/${path(ref)}`;
  const refuse = (ref?: RepoRef, file?: string) => (reply: Pick<HttpReply, "status" | "headers" | "url">) =>
    hubFailure(reply, {
      ...(ref !== undefined && { ref }),
      path: file,
      page: ref === undefined ? hubAddresses.huggingface : `${hubAddresses.huggingface}/${path(ref)}`,
      tokenPage: `${hubAddresses.huggingface}/settings/tokens`,
      tokenName: "HF_TOKEN",
      hasToken: credentials !== undefined,
    });

  /** `fetch` for the library: what is no success becomes our error before the library words it. */
  const fetchFor = (ref: RepoRef, signal: AbortSignal | undefined): typeof fetch => {
    const plain = fetchWith({ credentials, signal });
    return (input, init) =>
      withRetry(
        async () => {
          // The next page of a list is wherever its Link header says: never another host.
          const url = input instanceof Request ? input.url : String(input);
          if (new URL(url).origin !== new URL(endpoint).origin) throw otherHost(endpoint);
          const answer = await plain(input, init);
          if (answer.ok) return answer;
          throw refuse(ref)({ status: answer.status, headers: Object.fromEntries(answer.headers), url });
        },
        { signal },
      );
  };

  async function snapshot(ref: RepoRef, { signal }: Cancellable = {}): Promise<RepoSnapshot> {
    const shared = { hubUrl: endpoint, fetch: fetchFor(ref, signal) };
    const named = { ...shared, name: ref.id, revision: ref.revision };
    const answer =
      ref.kind === "model"
        ? await modelInfo({
            ...named,
            additionalFields: ["sha", "tags", "cardData", "config", "safetensors", "author"],
          })
        : await datasetInfo({ ...named, additionalFields: ["sha", "tags", "cardData", "author"] });
    const info = checkAnswer(answer, infoSchema.extend({ sha: z.string().regex(/^[0-9a-f]{40}$/) }), page(ref));
    const entries: unknown[] = [];
    const tree = { ...shared, repo: { type: ref.kind, name: ref.id }, revision: info.sha, recursive: true } as const;
    for await (const entry of listFiles(tree)) {
      entries.push(entry);
      if (entries.length > maxFiles) {
        throw new HoneError("too-many-files", `${showRef(ref)} holds more than ${maxFiles} files`, {
          fix: "choose a repository of one model or dataset",
        });
      }
    }
    return {
      ref,
      commit: info.sha,
      files: readTree(entries, ref, page(ref)),
      gated: info.gated ?? false,
      private: info.private ?? false,
      page: page(ref),
      downloads: count(info.downloads),
      likes: count(info.likes),
      ...describe(info),
    };
  }

  async function search(query: SearchQuery, { signal }: Cancellable = {}): Promise<SearchResult> {
    const isGguf = query.format === "gguf";
    const wanted = query.architecture !== undefined ? [query.architecture] : query.supported ? engineArchitectures : [];
    // A tag per architecture, of which the hub wants all at once: so one request each. GGUF files carry no such tag.
    const tags = wanted.length === 0 || isGguf || query.kind === "dataset" ? [undefined] : wanted;
    const fits = (hit: SearchHit) =>
      query.kind === "dataset" ||
      ((wanted.length === 0 ||
        (hit.architecture !== null && (wanted as readonly string[]).includes(hit.architecture))) &&
        withinSize(hit, query));
    const lists = await Promise.all(tags.map((tag) => searchOne(query, tag, fits, signal)));
    const hits = lists.flatMap((list) => list.hits);
    const byOrder = sortKey(query);
    if (tags.length > 1 && byOrder !== undefined) hits.sort((a, b) => byOrder(b) - byOrder(a));
    const sized = query.min_parameters !== undefined || query.max_parameters !== undefined;
    return {
      query,
      source: "huggingface",
      hits: hits.slice(0, query.limit),
      more: hits.length > query.limit || lists.some(({ more }) => more),
      notes: sized && query.kind === "model" ? ["models whose size the hub does not tell are left out"] : [],
    };
  }

  async function searchOne(
    query: SearchQuery,
    tag: string | undefined,
    fits: (hit: SearchHit) => boolean,
    signal: AbortSignal | undefined,
  ): Promise<{ hits: SearchHit[]; more: boolean }> {
    let next: string | undefined = `${endpoint}/api/${query.kind}s?${searchParameters(query, tag).toString()}`;
    const hits: SearchHit[] = [];
    for (let pages = 0; next !== undefined && pages < maxPages && hits.length < query.limit; pages++) {
      const answer: { data: Info[]; headers: Record<string, string> } = await getJson(
        next,
        z.array(infoSchema),
        refuse(),
        { credentials, signal },
      );
      for (const info of answer.data) {
        const hit = readHit(info, query.kind, endpoint);
        if (hit !== undefined && fits(hit)) hits.push(hit);
      }
      next = nextPage(answer.headers["link"], endpoint);
    }
    return { hits, more: next !== undefined };
  }

  const locate: HubSource["locate"] = (snapshot, file) => ({
    url: `${page(snapshot.ref)}/resolve/${snapshot.commit}/${encodePath(file.path)}`,
    credentials,
  });

  const source: HubSource = {
    name: "huggingface",
    endpoint,
    snapshot,
    search,
    locate,
    card: (snapshot, options) => cardOf(snapshot, (file, end) => source.readRange(snapshot, file, 0, end, options)),
    readRange: (snapshot, file, start, end, options) =>
      readRange(locate(snapshot, file), start, end, refuse(snapshot.ref, file.path), options),
    failure: (reply, ref, file) => refuse(ref, file)(reply),
  };
  return source;
}

function readTree(entries: unknown[], ref: RepoRef, url: string): RepoFile[] {
  const files = checkAnswer(entries, z.array(treeEntrySchema), url).filter(({ type }) => type === "file");
  checkNames(
    files.map(({ path }) => path),
    isSafeRepoPath,
    `the ${ref.kind} ${showRef(ref)}`,
  );
  const plain = files.map(({ path, size, oid, lfs }) => ({
    path,
    size: lfs?.size ?? size,
    sha256: lfs?.oid.replace(/^sha256:/, "") ?? null,
    etag: lfs == null ? (oid ?? null) : null,
  }));
  return checkAnswer(plain, z.array(repoFileSchema), url);
}

function searchParameters(query: SearchQuery, architecture: string | undefined): URLSearchParams {
  const parameters = new URLSearchParams();
  const set = (name: string, value: string | undefined) => {
    if (value !== undefined && value !== "") parameters.append(name, value);
  };
  set("search", query.text.trim());
  set("author", query.author);
  const sorts = { downloads: "downloads", likes: "likes", updated: "lastModified", trending: "trendingScore" } as const;
  set("sort", sorts[query.sort]);
  // Where hits are picked out here, whole pages are asked for.
  set("limit", String(query.format === "gguf" || sizeRange(query) !== undefined ? 100 : query.limit));
  for (const field of ["author", "cardData", "downloads", "gated", "lastModified", "likes", "private", "tags"])
    set("expand", field);
  if (query.kind === "dataset") return parameters;
  for (const field of ["config", "safetensors", "gguf"]) set("expand", field);
  set("filter", query.format);
  set("filter", architecture);
  if (query.format !== "gguf") set("pipeline_tag", "text-generation");
  set("num_parameters", sizeRange(query));
  return parameters;
}

function sizeRange({ min_parameters: least, max_parameters: most }: SearchQuery): string | undefined {
  const ends = [...(least === undefined ? [] : [`min:${least}`]), ...(most === undefined ? [] : [`max:${most}`])];
  return ends.length === 0 ? undefined : ends.join(",");
}

function withinSize({ parameters }: SearchHit, { min_parameters: least, max_parameters: most }: SearchQuery): boolean {
  if (least === undefined && most === undefined) return true;
  return parameters !== null && parameters >= (least ?? 0) && parameters <= (most ?? Number.POSITIVE_INFINITY);
}

function sortKey({ sort }: SearchQuery): ((hit: SearchHit) => number) | undefined {
  if (sort === "downloads") return (hit) => hit.downloads ?? 0;
  if (sort === "likes") return (hit) => hit.likes ?? 0;
  return sort === "updated" ? (hit) => Date.parse(hit.last_modified ?? "") || 0 : undefined;
}

/** Undefined for an entry that names nothing we could open. */
function readHit(info: Info, kind: SearchQuery["kind"], endpoint: string): SearchHit | undefined {
  if (info.id == null) return undefined;
  const ref: RepoRef = { source: "huggingface", kind, id: info.id, revision: "main" };
  const { architecture, parameters, licence, last_modified, tags } = describe(info);
  const has = (tag: string) => tags.includes(tag);
  const formats: SearchHit["formats"] = [];
  if (has("safetensors")) formats.push("safetensors");
  if (has("gguf")) formats.push("gguf");
  if (has("pytorch") && !has("safetensors")) formats.push("pickle");
  return {
    ref,
    page: `${endpoint}/${kind === "dataset" ? "datasets/" : ""}${info.id}`,
    author: info.author ?? info.id.split("/")[0],
    downloads: count(info.downloads),
    likes: count(info.likes),
    last_modified,
    gated: info.gated ?? false,
    licence,
    architecture,
    parameters,
    formats,
    supported: kind === "dataset" || architecture === null ? null : isEngineArchitecture(architecture),
  };
}

function describe(
  info: Info,
): Pick<RepoSnapshot, "licence" | "last_modified" | "architecture" | "parameters" | "base_model" | "tags"> {
  const tags = info.tags ?? [];
  const tagged = (prefix: string) => tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? null;
  const card = info.cardData?.license;
  const gguf = info.gguf?.architecture;
  const date = info.lastModified ?? info.updatedAt;
  const when = date == null ? Number.NaN : new Date(date).getTime();
  return {
    licence: (Array.isArray(card) ? card[0] : card) ?? tagged("license:"),
    last_modified: Number.isNaN(when) ? null : new Date(when).toISOString(),
    architecture: info.config?.model_type ?? (gguf == null ? null : (ggufArchitectures[gguf] ?? gguf)),
    parameters: count(info.safetensors?.total ?? info.gguf?.total),
    // `base_model:owner/name` and `base_model:quantized:owner/name`.
    base_model: tagged("base_model:")?.replace(/^(?:quantized|finetune|adapter|merge):/, "") ?? null,
    tags,
  };
}

function count(value: number | null | undefined): number | null {
  return value == null ? null : Math.round(value);
}

function nextPage(link: string | undefined, endpoint: string): string | undefined {
  const next = /<([^>]+)>;\s*rel="?next"?/.exec(link ?? "")?.[1];
  if (next === undefined) return undefined;
  const url = URL.parse(next, endpoint);
  if (url?.origin !== new URL(endpoint).origin) throw otherHost(endpoint);
  return url.href;
}

function otherHost(endpoint: string): HoneError {
  return new HoneError("bad-answer", `${endpoint} sends to another host for the rest of a list`, {
    fix: "check the endpoint setting; a mirror may leave the original's addresses in its answers",
  });
}
