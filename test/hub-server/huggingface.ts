/** The Hugging Face Hub's API, as far as reading goes. README.md says where each shape comes from. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { RepoKind } from "../../core/contract/hub.ts";
import type { HubState } from "./hub-server.ts";
import type { Content, TestRepository } from "./repository.ts";
import { sendContent, sendFault, sendJson, sendRedirectLoop, sendText } from "./send.ts";

interface Access {
  token: string | undefined;
  /** The token is one that the hub knows. */
  signedIn: boolean;
  granted: boolean;
}

export async function answerHuggingFace(
  hub: HubState,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const parts = url.pathname.split("/").filter((part) => part !== "");
  if (sendRedirectLoop(response, url)) return;
  const kind = parts[1] === "resolve-cache" ? "bytes" : isLargeFile(hub, parts) ? "address" : "api";
  const fault = hub.fault(kind, url.pathname);
  if (fault !== undefined && sendFault(response, fault)) return;
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
  if (token !== undefined && !hub.tokens.has(token)) {
    sendError(response, 401, undefined, "Invalid credentials in Authorization header");
    return;
  }
  if (parts[0] === "api") {
    if (parts[1] === "whoami-v2") {
      if (token === undefined) sendError(response, 401, undefined, "Invalid username or password.");
      else sendJson(response, { type: "user", name: "tester", auth: { type: "access_token" } });
      return;
    }
    const isCache = parts[1] === "resolve-cache";
    const repoKind = kindOf(parts[isCache ? 2 : 1]);
    if (repoKind === undefined)
      return sendError(response, 404, undefined, "Sorry, we can't find the page you are looking for.");
    const rest = parts.slice(isCache ? 3 : 2);
    if (isCache) {
      const found = findRepository(hub, repoKind, rest, response, token, url);
      if (found === undefined) return;
      const content = found.repo.files(found.rest[0]).get(decodePath(found.rest.slice(1)));
      if (content === undefined) return sendError(response, 404, "EntryNotFound", "Entry not found");
      return sendSmallFile(hub, request, response, content, fault);
    }
    if (rest.length === 0) return sendSearch(hub, response, repoKind, url);
    const found = findRepository(hub, repoKind, rest, response, token, url);
    if (found === undefined) return;
    return answerRepository(hub, response, found.repo, found.rest, url);
  }
  const isDataset = parts[0] === "datasets";
  const found = findRepository(
    hub,
    isDataset ? "dataset" : "model",
    parts.slice(isDataset ? 1 : 0),
    response,
    token,
    url,
  );
  if (found === undefined) return;
  if (found.rest[0] !== "resolve")
    return sendText(response, 200, "<html>a page of the hub</html>", { "content-type": "text/html" });
  if (fault?.name === "revision-moves") hub.moveRevision(found.repo);
  sendAddress(
    hub,
    request,
    response,
    found.repo,
    found.rest.slice(1),
    found.access,
    fault?.name === "expired-signature",
  );
}

/** The address of a file that is on the CDN. */
function isLargeFile(hub: HubState, parts: readonly string[]): boolean {
  const at = parts.indexOf("resolve");
  if (at < 1) return false;
  const isDataset = parts[0] === "datasets";
  const repo = hub.repository(isDataset ? "dataset" : "model", decodePath(parts.slice(isDataset ? 1 : 0, at)));
  const { revision, rest } = takeRevision(parts.slice(at + 1));
  return repo?.files(repo.resolve(revision) ?? "").get(decodePath(rest))?.isLfs === true;
}

function kindOf(part: string | undefined): RepoKind | undefined {
  return part === "models" ? "model" : part === "datasets" ? "dataset" : undefined;
}

function decodePath(parts: readonly string[]): string {
  return parts.map((part) => decodeURIComponent(part)).join("/");
}

const words = new Set(["revision", "tree", "resolve", "raw", "blob"]);

/** The repository that a path names, and what comes after its name; otherwise the answer has been sent. */
function findRepository(
  hub: HubState,
  kind: RepoKind,
  parts: readonly string[],
  response: ServerResponse,
  token: string | undefined,
  url: URL,
): { repo: TestRepository; rest: string[]; access: Access } | undefined {
  const length = parts.length === 1 || words.has(parts[1]) ? 1 : 2;
  const id = decodePath(parts.slice(0, length));
  const moved = hub.moved.get(id);
  if (moved !== undefined) {
    response.writeHead(307, { location: url.pathname.replace(id, moved) + url.search, "content-length": 0 });
    response.end();
    return undefined;
  }
  const repo = hub.repository(kind, id);
  const signedIn = token !== undefined;
  const granted = token !== undefined && hub.tokens.get(token)?.includes(id) === true;
  if (repo === undefined || (repo.facts.private === true && !granted)) {
    // Without a token the hub does not tell what is private from what is not there.
    if (signedIn) sendError(response, 404, "RepoNotFound", "Repository not found");
    else sendError(response, 401, "RepoNotFound", "Invalid username or password.");
    return undefined;
  }
  return { repo, rest: parts.slice(length), access: { token, signedIn, granted } };
}

/** A revision is one encoded part, but `refs/convert/parquet` and `refs/pr/1` are also taken as they are. */
function takeRevision(parts: readonly string[]): { revision: string; rest: readonly string[] } {
  const length = parts[0] === "refs" ? 3 : 1;
  return { revision: decodePath(parts.slice(0, length)), rest: parts.slice(length) };
}

function answerRepository(
  hub: HubState,
  response: ServerResponse,
  repo: TestRepository,
  parts: readonly string[],
  url: URL,
): void {
  const [word = "revision", ...after] = parts;
  const { revision, rest } = after.length === 0 ? { revision: "main", rest: [] } : takeRevision(after);
  const commit = repo.resolve(revision);
  if (commit === undefined) return sendError(response, 404, "RevisionNotFound", `Invalid rev id: ${revision}`);
  if (word === "revision")
    return sendJson(response, repositoryInfo(repo, commit, url), { headers: { "x-repo-commit": commit } });
  if (word !== "tree") return sendError(response, 404, undefined, "Not found");
  sendTree(hub, response, repo, commit, decodePath(rest), url);
}

function sendError(response: ServerResponse, status: number, code: string | undefined, message: string): void {
  const headers: Record<string, string> = { "x-error-message": message, "x-request-id": "Root=1-00000000-test" };
  if (code !== undefined) headers["x-error-code"] = code;
  sendJson(response, { error: message }, { status, headers });
}

function cardData(repo: TestRepository): Record<string, unknown> {
  const { licence, baseModel } = repo.facts;
  return {
    ...(licence !== undefined && { license: licence }),
    ...(baseModel !== undefined && { base_model: [baseModel] }),
  };
}

function tagsOf(repo: TestRepository): string[] {
  const { facts } = repo;
  const names = [...repo.files(repo.resolve("main") ?? "").keys()];
  const tags = [...(facts.tags ?? [])];
  if (repo.kind === "model") {
    if (names.some((name) => name.endsWith(".safetensors"))) tags.push("transformers", "safetensors");
    if (names.some((name) => name.endsWith(".gguf"))) tags.push("gguf");
    if (facts.modelType !== undefined) tags.push(facts.modelType);
    if (facts.baseModel !== undefined) tags.push(`base_model:${facts.baseModel}`);
  }
  if (facts.licence !== undefined) tags.push(`license:${facts.licence}`);
  return tags;
}

/** Without `expand` a fixed set of fields; with it exactly those that are named. */
function repositoryInfo(repo: TestRepository, commit: string, url: URL): Record<string, unknown> {
  const { facts } = repo;
  const files = [...repo.files(commit)];
  const withBlobs = url.searchParams.get("blobs") === "true";
  const lastModified = facts.lastModified ?? "2026-05-04T10:20:30.000Z";
  const usual: Record<string, unknown> = {
    author: repo.id.includes("/") ? repo.id.split("/")[0] : undefined,
    sha: commit,
    lastModified,
    private: facts.private ?? false,
    gated: facts.gated ?? false,
    disabled: false,
    downloads: facts.downloads ?? 0,
    likes: facts.likes ?? 0,
    tags: tagsOf(repo),
    cardData: cardData(repo),
    siblings: files.map(([path, content]) => ({
      rfilename: path,
      ...(withBlobs && { size: content.size, blobId: content.gitOid, ...(content.isLfs && { lfs: lfsInfo(content) }) }),
    })),
    createdAt: "2026-01-02T03:04:05.000Z",
    usedStorage: files.reduce((sum, [, { size }]) => sum + size, 0),
    ...(repo.kind === "model" && {
      modelId: repo.id,
      pipeline_tag: facts.task ?? "text-generation",
      library_name: "transformers",
      config: {
        ...(facts.architecture !== undefined && { architectures: [facts.architecture] }),
        model_type: facts.modelType,
      },
      ...(facts.parameters !== undefined && {
        safetensors: { parameters: { [facts.dtype ?? "BF16"]: facts.parameters }, total: facts.parameters },
      }),
    }),
  };
  const expand = [...url.searchParams.getAll("expand"), ...url.searchParams.getAll("expand[]")];
  const shown =
    expand.length === 0 ? usual : Object.fromEntries(Object.entries(usual).filter(([name]) => expand.includes(name)));
  return { _id: commit.slice(0, 24), id: repo.id, ...shown };
}

function lfsInfo({ sha256, size }: Content): Record<string, unknown> {
  return { sha256, size, pointerSize: 134 };
}

function sendTree(
  hub: HubState,
  response: ServerResponse,
  repo: TestRepository,
  commit: string,
  folder: string,
  url: URL,
): void {
  const recursive = url.searchParams.get("recursive") === "true" || url.searchParams.get("recursive") === "1";
  const expand = url.searchParams.get("expand") === "true" || url.searchParams.get("expand") === "1";
  const prefix = folder === "" ? "" : `${folder}/`;
  const folders = new Map<string, Record<string, unknown>>();
  const entries: Record<string, unknown>[] = [];
  for (const [path, content] of repo.files(commit)) {
    if (!path.startsWith(prefix)) continue;
    const inside = path.slice(prefix.length).split("/");
    for (let depth = 1; depth < inside.length && (recursive || depth === 1); depth++) {
      const name = prefix + inside.slice(0, depth).join("/");
      if (folders.has(name)) continue;
      folders.set(name, { type: "directory", oid: commit, size: 0, path: name });
      entries.push(folders.get(name) ?? {});
    }
    if (!recursive && inside.length > 1) continue;
    entries.push({
      type: "file",
      oid: content.gitOid,
      size: content.size,
      path,
      ...(content.isLfs && { lfs: { oid: content.sha256, size: content.size, pointerSize: 134 } }),
      ...(expand && {
        lastCommit: { id: commit, title: "Upload files", date: "2026-05-04T10:20:30.000Z" },
        security: { blobId: content.gitOid, name: path, safe: true },
      }),
    });
  }
  if (entries.length === 0 && folder !== "")
    return sendError(response, 404, "EntryNotFound", `${folder} does not exist on "${commit}"`);
  const from = Number(Buffer.from(url.searchParams.get("cursor") ?? "MA==", "base64").toString());
  const size = hub.options.pageSize ?? (expand ? 50 : 1000);
  sendPage(
    response,
    entries.slice(from, from + size),
    from + size < entries.length ? from + size : undefined,
    url,
    hub.huggingface,
    {
      "x-repo-commit": commit,
    },
  );
}

function sendPage(
  response: ServerResponse,
  page: unknown[],
  next: number | undefined,
  url: URL,
  endpoint: string,
  headers: Record<string, string> = {},
): void {
  if (next !== undefined) {
    const target = new URL(url.pathname + url.search, endpoint);
    target.searchParams.set("cursor", Buffer.from(String(next)).toString("base64"));
    headers = { ...headers, link: `<${target.href}>; rel="next"` };
  }
  sendJson(response, page, { headers });
}

function sendSearch(hub: HubState, response: ServerResponse, kind: RepoKind, url: URL): void {
  const { searchParams: asked } = url;
  const text = (asked.get("search") ?? "").toLowerCase();
  const author = asked.get("author");
  const filters = asked.getAll("filter").flatMap((value) => value.split(","));
  const found = hub.repositories(kind).filter((repo) => {
    if (repo.facts.private === true || !repo.id.toLowerCase().includes(text)) return false;
    if (author !== null && !repo.id.startsWith(`${author}/`)) return false;
    if (asked.has("pipeline_tag") && asked.get("pipeline_tag") !== (repo.facts.task ?? "text-generation")) return false;
    const tags = tagsOf(repo);
    return filters.every((filter) => tags.includes(filter));
  });
  const value = (repo: TestRepository): string | number => {
    switch (asked.get("sort")) {
      case "likes":
        return repo.facts.likes ?? 0;
      case "lastModified":
        return repo.facts.lastModified ?? "";
      default:
        return repo.facts.downloads ?? 0;
    }
  };
  found.sort((a, b) => (value(a) < value(b) ? 1 : value(a) > value(b) ? -1 : 0));
  const from = Number(Buffer.from(asked.get("cursor") ?? "MA==", "base64").toString());
  const limit = Math.min(Number(asked.get("limit") ?? 1000), 1000);
  const page = found.slice(from, from + limit).map((repo) => {
    const info = repositoryInfo(repo, repo.resolve("main") ?? "", url);
    // A list leaves out what is long unless it is asked for.
    if (!asked.has("expand") && !asked.has("expand[]") && asked.get("full") !== "true") {
      for (const name of ["siblings", "cardData", "config", "safetensors", "usedStorage", "sha", "author"])
        delete info[name];
    }
    return info;
  });
  sendPage(response, page, from + limit < found.length ? from + limit : undefined, url, hub.huggingface);
}

function sendAddress(
  hub: HubState,
  request: IncomingMessage,
  response: ServerResponse,
  repo: TestRepository,
  parts: readonly string[],
  access: Access,
  expired: boolean,
): void {
  const { revision, rest } = takeRevision(parts);
  const path = decodePath(rest);
  if (repo.facts.gated !== undefined && repo.facts.gated !== false && !access.granted) {
    const page = `${hub.huggingface}/${repo.kind === "dataset" ? "datasets/" : ""}${repo.id}`;
    if (!access.signedIn) {
      const message = `Access to ${repo.kind} ${repo.id} is restricted. You must have access to it and be authenticated to access it. Please log in.`;
      return sendError(response, 401, "GatedRepo", message);
    }
    const message = `Access to ${repo.kind} ${repo.id} is restricted and you are not in the authorized list. Visit ${page} to ask for access.`;
    return sendError(response, 403, "GatedRepo", message);
  }
  const commit = repo.resolve(revision);
  if (commit === undefined) return sendError(response, 404, "RevisionNotFound", `Invalid rev id: ${revision}`);
  const content = repo.files(commit).get(path);
  if (content === undefined) {
    response.setHeader("x-repo-commit", commit);
    return sendError(response, 404, "EntryNotFound", "Entry not found");
  }
  const linked = {
    "x-repo-commit": commit,
    "x-linked-size": String(content.size),
    "x-linked-etag": `"${content.isLfs ? content.sha256 : content.gitOid}"`,
    "accept-ranges": "bytes",
    vary: "Origin, Accept",
  };
  if (content.isLfs) {
    const location = hub.signedUrl(content, path.split("/").at(-1) ?? path, expired);
    sendText(response, 302, `Found. Redirecting to ${location}`, { ...linked, location });
    return;
  }
  // Small files come from a cache of the hub's own origin.
  const kind = repo.kind === "dataset" ? "datasets" : "models";
  const location = `/api/resolve-cache/${kind}/${repo.id}/${commit}/${rest.join("/")}?etag=${encodeURIComponent(`"${content.gitOid}"`)}`;
  sendText(response, 307, `Temporary Redirect. Redirecting to ${location}`, { ...linked, location });
}

async function sendSmallFile(
  hub: HubState,
  request: IncomingMessage,
  response: ServerResponse,
  content: Content,
  fault: ReturnType<HubState["fault"]>,
): Promise<void> {
  const commit = new URL(request.url ?? "", hub.huggingface).pathname
    .split("/")
    .find((part) => /^[0-9a-f]{40}$/.test(part));
  await sendContent(request, response, content, {
    etag: `"${content.gitOid}"`,
    headers: { "x-repo-commit": commit ?? "", "content-type": "text/plain; charset=utf-8" },
    fault,
  });
}
