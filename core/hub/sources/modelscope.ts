/**
 * ModelScope over its REST API, as its own Python SDK (`modelscope/hub/api.py`, `file_download.py`) and its OpenAPI use
 * it. Three addresses: `/openapi/v1/{models,datasets}` for search and facts, `/api/v1/models/ID/repo/files` (datasets:
 * `repo/tree`, in pages) for files with a SHA-256 each, and `/api/v1/{models,datasets}/ID/repo` for contents.
 */

import { createHash } from "node:crypto";
import { z } from "zod";
import { engineArchitectures, isEngineArchitecture } from "../../contract/architectures.ts";
import {
  isSafeRepoPath,
  repoFileSchema,
  type RepoFile,
  type RepoRef,
  type RepoSnapshot,
  type SearchHit,
  type SearchQuery,
  type SearchResult,
} from "../../contract/hub.ts";
import type { Credentials, HttpReply } from "../http.ts";
import { hubFailure } from "./failure.ts";
import { hubAddresses, showRef } from "./parse-reference.ts";
import { amount, cardOf, checkAnswer, checkNames, getJson, readRange, text } from "./source-base.ts";
import type { Cancellable, HubSource } from "./source.ts";

const treePageSize = 200;
const maxTreePages = 500;
const searchPageSize = 50;
const maxSearchPages = 5;

const factsSchema = z.object({
  id: z.string().nullish(),
  downloads: amount,
  likes: amount,
  params: amount,
  license: text,
  gated: z.boolean().nullish().catch(null),
  private: z.boolean().nullish().catch(null),
  last_modified: text,
  tags: z.array(z.string()).nullish().catch(null),
});
type Facts = z.infer<typeof factsSchema>;

const entrySchema = z.object({
  Type: z.string().nullish(),
  Path: z.string(),
  Size: z.number().int().min(0).nullish(),
  Sha256: z.string().nullish(),
  Revision: z.string().nullish(),
});
const listingSchema = z.object({
  Data: z.object({
    Files: z.array(entrySchema).nullish(),
    LatestCommitter: z.object({ Id: text, ShortId: text }).nullish().catch(null),
  }),
});

/** Before a hash that stands for a commit which the hub does not tell: such a snapshot is fetched by its branch. */
const unknownCommit = "00000000";

export function modelScope(endpoint: string, credentials: Credentials | undefined): HubSource {
  const kinds = (ref: Pick<RepoRef, "kind">) => (ref.kind === "dataset" ? "datasets" : "models");
  const page = (ref: RepoRef) => `${endpoint}/${kinds(ref)}/${ref.id}`;
  const api = (ref: RepoRef) => `${endpoint}/api/v1/${kinds(ref)}/${ref.id}`;
  const refuse = (ref?: RepoRef, file?: string) => (reply: Pick<HttpReply, "status" | "headers" | "url">) =>
    hubFailure(reply, {
      ...(ref !== undefined && { ref }),
      path: file,
      page: ref === undefined ? hubAddresses.modelscope : `${hubAddresses.modelscope}/${kinds(ref)}/${ref.id}`,
      tokenPage: `${hubAddresses.modelscope}/my/myaccesstoken`,
      tokenName: "MODELSCOPE_API_TOKEN",
      hasToken: credentials !== undefined,
    });

  async function snapshot(ref: RepoRef, { signal }: Cancellable = {}): Promise<RepoSnapshot> {
    const options = { credentials, signal };
    const [facts, listing] = await Promise.all([
      getJson(`${endpoint}/openapi/v1/${kinds(ref)}/${ref.id}`, z.object({ data: factsSchema }), refuse(ref), options),
      ref.kind === "model" ? modelFiles(ref, options) : datasetFiles(ref, options),
    ]);
    if (listing.entries === null) {
      throw refuse(ref)({ status: 404, headers: { "x-error-code": "RevisionNotFound" }, url: page(ref) });
    }
    const files = readFiles(listing.entries, ref, page(ref));
    const { license, gated, private: hidden, last_modified, downloads, likes, params, tags } = facts.data.data;
    return {
      ref,
      commit: commitOf(listing.entries, listing.head, ref, files),
      files,
      // There is one way in: asking on the page.
      gated: gated === true ? "manual" : false,
      private: hidden ?? false,
      licence: license ?? null,
      page: page(ref),
      last_modified: last_modified ?? null,
      downloads: count(downloads),
      likes: count(likes),
      architecture: architectureOf(tags ?? []),
      parameters: count(params),
      base_model: tagged(tags ?? [], "base_model:"),
      tags: tags ?? [],
    };
  }

  type Listing = {
    /** Null: there is no such revision, which is no error there. */
    entries: z.infer<typeof entrySchema>[] | null;
    head: { Id?: string | null; ShortId?: string | null } | null;
  };
  type Options = { credentials: Credentials | undefined; signal: AbortSignal | undefined };

  async function modelFiles(ref: RepoRef, options: Options): Promise<Listing> {
    const url = `${api(ref)}/repo/files?${new URLSearchParams({ Revision: ref.revision, Recursive: "True" }).toString()}`;
    const { Files, LatestCommitter } = (await getJson(url, listingSchema, revisionRefusal(ref), options)).data.Data;
    return { entries: Files ?? null, head: LatestCommitter ?? null };
  }

  async function datasetFiles(ref: RepoRef, options: Options): Promise<Listing> {
    const entries: z.infer<typeof entrySchema>[] = [];
    let head: Listing["head"] = null;
    for (let number = 1; number <= maxTreePages; number++) {
      const parameters = {
        Revision: ref.revision,
        Recursive: "True",
        PageNumber: `${number}`,
        PageSize: `${treePageSize}`,
      };
      const url = `${api(ref)}/repo/tree?${new URLSearchParams(parameters).toString()}`;
      const { Files, LatestCommitter } = (await getJson(url, listingSchema, revisionRefusal(ref), options)).data.Data;
      head ??= LatestCommitter ?? null;
      if (Files == null) return { entries: null, head };
      entries.push(...Files);
      if (Files.length < treePageSize) break;
    }
    return { entries, head };
  }

  /** The facts of the repository were asked for beside it: a 404 here is about the revision. */
  const revisionRefusal = (ref: RepoRef) => (reply: Parameters<ReturnType<typeof refuse>>[0]) =>
    refuse(ref)(
      reply.status === 404 && ref.revision !== "master"
        ? { ...reply, headers: { ...reply.headers, "x-error-code": "RevisionNotFound" } }
        : reply,
    );

  async function search(query: SearchQuery, { signal }: Cancellable = {}): Promise<SearchResult> {
    const wanted = query.architecture !== undefined ? [query.architecture] : query.supported ? engineArchitectures : [];
    const fits = (hit: SearchHit) =>
      query.kind === "dataset" ||
      ((wanted.length === 0 ||
        (hit.architecture !== null && (wanted as readonly string[]).includes(hit.architecture))) &&
        (query.format === undefined || hit.formats.includes(query.format)) &&
        withinSize(hit, query));
    const hits: SearchHit[] = [];
    let more = true;
    for (let number = 1; more && number <= maxSearchPages && hits.length < query.limit; number++) {
      const url = `${endpoint}/openapi/v1/${kinds(query)}?${searchParameters(query, number).toString()}`;
      const list = z.array(factsSchema).nullish();
      const schema = z.object({ data: z.object({ models: list, datasets: list, total_count: amount }) });
      const { data } = (await getJson(url, schema, refuse(), { credentials, signal })).data;
      const entries = (query.kind === "model" ? data.models : data.datasets) ?? [];
      for (const facts of entries) {
        const hit = readHit(facts, query.kind);
        if (hit !== undefined && fits(hit)) hits.push(hit);
      }
      more =
        entries.length === searchPageSize && number * searchPageSize < (data.total_count ?? Number.POSITIVE_INFINITY);
    }
    const notes =
      wanted.length > 0 && query.kind === "model"
        ? ["ModelScope tells the architecture of only some models: others are left out"]
        : [];
    return {
      query,
      source: "modelscope",
      hits: hits.slice(0, query.limit),
      more: more || hits.length > query.limit,
      notes,
    };
  }

  function readHit(facts: Facts, kind: RepoRef["kind"]): SearchHit | undefined {
    if (facts.id == null) return undefined;
    const ref: RepoRef = { source: "modelscope", kind, id: facts.id, revision: "master" };
    const tags = facts.tags ?? [];
    const architecture = architectureOf(tags);
    const has = (format: string) => tags.some((tag) => tag === format || tag === `library:${format}`);
    return {
      ref,
      page: page(ref),
      author: facts.id.split("/")[0],
      downloads: count(facts.downloads),
      likes: count(facts.likes),
      last_modified: facts.last_modified ?? null,
      gated: facts.gated === true ? "manual" : false,
      licence: facts.license ?? tagged(tags, "license:"),
      architecture,
      parameters: count(facts.params),
      formats: (["safetensors", "gguf"] as const).filter(has),
      supported: kind === "dataset" || architecture === null ? null : isEngineArchitecture(architecture),
    };
  }

  const locate: HubSource["locate"] = ({ ref, commit }, file) => {
    const Revision = commit.startsWith(unknownCommit) ? ref.revision : commit;
    return {
      url: `${api(ref)}/repo?${new URLSearchParams({ Revision, FilePath: file.path }).toString()}`,
      credentials,
    };
  };

  const source: HubSource = {
    name: "modelscope",
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

function readFiles(entries: z.infer<typeof entrySchema>[], ref: RepoRef, url: string): RepoFile[] {
  const blobs = entries.filter(({ Type }) => Type !== "tree");
  checkNames(
    blobs.map(({ Path }) => Path),
    isSafeRepoPath,
    `the ${ref.kind} ${showRef(ref)}`,
  );
  const files = blobs.map(({ Path, Size, Sha256 }) => ({
    path: Path,
    size: Size ?? 0,
    sha256: Sha256 == null || Sha256 === "" ? null : Sha256.toLowerCase(),
    etag: null,
  }));
  return checkAnswer(files, z.array(repoFileSchema), url);
}

/**
 * The head commit: mostly only its first eight digits are told, and in full by the files that it changed. Otherwise the
 * contents stand for it.
 */
function commitOf(
  entries: z.infer<typeof entrySchema>[],
  head: { Id?: string | null; ShortId?: string | null } | null,
  ref: RepoRef,
  files: RepoFile[],
): string {
  const whole = /^[0-9a-f]{40}$/;
  if (whole.test(ref.revision)) return ref.revision;
  if (whole.test(head?.Id ?? "")) return head?.Id ?? "";
  const short = head?.ShortId ?? "";
  const match =
    short.length < 7
      ? undefined
      : entries.find(({ Revision }) => whole.test(Revision ?? "") && Revision?.startsWith(short));
  if (match?.Revision != null) return match.Revision;
  const lines = files.map(({ path, size, sha256 }) => `${sha256} ${size} ${path}\n`).sort();
  return unknownCommit + createHash("sha256").update(lines.join("")).digest("hex").slice(0, 32);
}

function searchParameters(query: SearchQuery, number: number): URLSearchParams {
  const parameters = new URLSearchParams({ page_number: String(number), page_size: String(searchPageSize) });
  // GGUF conversions are found by their names.
  const words = [query.text.trim(), query.format === "gguf" && !/gguf/i.test(query.text) ? "gguf" : ""]
    .join(" ")
    .trim();
  if (words !== "") parameters.set("search", words);
  if (query.author !== undefined) parameters.set("owner", query.author);
  const sorts = { downloads: "downloads", likes: "likes", updated: "last_modified", trending: "default" } as const;
  parameters.set("sort", sorts[query.sort]);
  return parameters;
}

function withinSize({ parameters }: SearchHit, { min_parameters: least, max_parameters: most }: SearchQuery): boolean {
  if (least === undefined && most === undefined) return true;
  return parameters !== null && parameters >= (least ?? 0) && parameters <= (most ?? Number.POSITIVE_INFINITY);
}

function tagged(tags: readonly string[], prefix: string): string | null {
  return tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? null;
}

/** A tag such as `model_type:qwen3`, or the name alone. */
function architectureOf(tags: readonly string[]): string | null {
  return tagged(tags, "model_type:") ?? tags.find(isEngineArchitecture) ?? null;
}

function count(value: number | null | undefined): number | null {
  return value == null ? null : Math.round(value);
}
