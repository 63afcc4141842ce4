/** ModelScope's API, as far as reading goes: the older one (`/api/v1`) and the public one (`/openapi/v1`). */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { RepoKind } from "../../core/contract/hub.ts";
import type { HubState } from "./hub-server.ts";
import type { Content, TestRepository } from "./repository.ts";
import { sendContent, sendFault, sendJson, sendRedirectLoop, sendText } from "./send.ts";

/** `repo/files` leaves out what comes after so many entries, without a word. */
const fileLimit = 3000;

export async function answerModelScope(
  hub: HubState,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const parts = url.pathname.split("/").filter((part) => part !== "");
  const isFile = parts[0] === "api" && parts[5] === "repo" && parts.length === 6;
  const kind: RepoKind | undefined = parts[2] === "models" ? "model" : parts[2] === "datasets" ? "dataset" : undefined;
  const repo = kind === undefined ? undefined : hub.repository(kind, `${parts[3]}/${parts[4]}`);
  const content = isFile ? contentOf(repo, url) : undefined;
  if (sendRedirectLoop(response, url)) return;
  const fault = hub.fault(
    !isFile ? "api" : content?.isLfs === false ? "bytes" : content === undefined ? "api" : "address",
    url.pathname,
  );
  if (fault !== undefined && sendFault(response, fault)) return;
  if (parts[1] !== "v1" || kind === undefined) return sendFailure(response, 404, 10010404000, "Not found");
  const isOpen = parts[0] === "openapi";
  if (parts.length === 3) return sendSearch(hub, response, kind, url);
  const token = tokenOf(request);
  if (token !== undefined && !hub.tokens.has(token)) {
    return sendFailure(response, 401, 10010103009, "AccessToken is invalid or expired");
  }
  const granted = token !== undefined && hub.tokens.get(token)?.includes(repo?.id ?? "") === true;
  if (repo === undefined || (repo.facts.private === true && !granted)) {
    const message = `${kind === "model" ? "Model" : "Dataset"} ${parts[3]}/${parts[4]} not exist or no permission`;
    return sendFailure(response, 404, 10010205001, message);
  }
  const rest = parts.slice(5);
  if (isOpen) return sendJson(response, { success: true, request_id: "test", data: openInfo(repo) });
  if (rest.length === 0) return sendData(response, legacyInfo(repo));
  if (rest[0] === "revisions") return sendData(response, { RevisionMap: revisions(repo) });
  if (rest[1] === "files" || rest[1] === "tree") return sendFiles(response, repo, url);
  if (!isFile) return sendFailure(response, 404, 10010404000, "Not found");
  if (repo.facts.gated !== undefined && repo.facts.gated !== false && !granted) {
    return token === undefined
      ? sendFailure(response, 401, 10010103001, "Please log in first")
      : sendFailure(response, 403, 10010204003, "Access denied: apply for the model on its page");
  }
  if (content === undefined) return sendFailure(response, 404, 10010205003, "The file does not exist");
  if (fault?.name === "revision-moves") hub.moveRevision(repo);
  const path = url.searchParams.get("FilePath") ?? "";
  if (content.isLfs) {
    const location = hub.signedUrl(content, path.split("/").at(-1) ?? path, fault?.name === "expired-signature");
    sendText(response, 302, "", {
      location,
      "x-linked-size": String(content.size),
      "x-linked-etag": `"${content.sha256}"`,
    });
    return;
  }
  await sendContent(request, response, content, { etag: `"${content.sha256}"`, fault });
}

function contentOf(repo: TestRepository | undefined, url: URL): Content | undefined {
  const commit = repo?.resolve(url.searchParams.get("Revision") ?? "master");
  return commit === undefined ? undefined : repo?.files(commit).get(url.searchParams.get("FilePath") ?? "");
}

/** The token comes as a bearer, as the older interface's cookie, or as both. */
function tokenOf(request: IncomingMessage): string | undefined {
  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
  return bearer ?? /(?:^|; )m_session_id=([^;]+)/.exec(request.headers.cookie ?? "")?.[1];
}

function sendData(response: ServerResponse, data: unknown): void {
  sendJson(response, { Code: 200, Data: data, Message: "success", RequestId: "test", Success: true });
}

function sendFailure(response: ServerResponse, status: number, code: number, message: string): void {
  sendJson(response, { Code: code, Message: message, RequestId: "test", Success: false }, { status });
}

function revisions(repo: TestRepository): Record<string, unknown> {
  const entry = (revision: string) => ({
    Revision: revision === "main" ? "master" : revision,
    CreatedAt: 1_777_890_000,
  });
  return { Branches: repo.branches().map(entry), Tags: repo.tags().map(entry) };
}

/** An unknown revision is no error there: the list of files is null. */
function sendFiles(response: ServerResponse, repo: TestRepository, url: URL): void {
  const revision = url.searchParams.get("Revision") ?? "master";
  const commit = repo.resolve(revision);
  if (commit === undefined) return sendData(response, { Files: null, IsVisual: 0, LatestCommitter: null });
  const root = (url.searchParams.get("Root") ?? "").replace(/^\/+/, "");
  const prefix = root === "" ? "" : `${root}/`;
  const recursive = url.searchParams.get("Recursive")?.toLowerCase() === "true";
  const folders = new Set<string>();
  const entries: Record<string, unknown>[] = [];
  const common = {
    CommittedDate: 1_777_890_030,
    CommitterName: "tester",
    CommitMessage: "Upload files",
    Revision: commit,
  };
  for (const [path, content] of repo.files(commit)) {
    if (!path.startsWith(prefix)) continue;
    const inside = path.slice(prefix.length).split("/");
    for (let depth = 1; depth < inside.length && (recursive || depth === 1); depth++) {
      const name = prefix + inside.slice(0, depth).join("/");
      if (folders.has(name)) continue;
      folders.add(name);
      entries.push({ ...common, Name: inside[depth - 1], Path: name, Type: "tree", Size: 0, Sha256: "", IsLFS: false });
    }
    if (!recursive && inside.length > 1) continue;
    entries.push({
      ...common,
      Id: content.gitOid,
      InCheck: false,
      IsLFS: content.isLfs,
      Mode: "33188",
      Name: inside.at(-1),
      Path: path,
      Sha256: content.sha256,
      Size: content.size,
      Type: "blob",
    });
  }
  const isPaged = repo.kind === "dataset" && url.searchParams.has("PageNumber");
  const size = Number(url.searchParams.get("PageSize") ?? 100);
  const from = isPaged ? (Number(url.searchParams.get("PageNumber")) - 1) * size : 0;
  const latest = { Id: commit, ShortId: commit.slice(0, 8), Message: "Upload files", CommittedDate: 1_777_890_030 };
  const files = entries.slice(from, from + (isPaged ? size : fileLimit));
  sendData(response, {
    Files: files,
    IsVisual: 0,
    LatestCommitter: latest,
    TotalCount: isPaged ? entries.length : undefined,
  });
}

function legacyInfo(repo: TestRepository): Record<string, unknown> {
  const { facts } = repo;
  const [owner, name] = repo.id.split("/");
  return {
    Id: 1,
    Path: owner,
    Name: name,
    ...(repo.kind === "dataset" && { Namespace: owner }),
    Downloads: facts.downloads ?? 0,
    Likes: facts.likes ?? 0,
    Stars: facts.likes ?? 0,
    License: facts.licence ?? "",
    Tags: facts.tags ?? [],
    Architectures: facts.architecture === undefined ? [] : [facts.architecture],
    ModelType: facts.modelType === undefined ? [] : [facts.modelType],
    BaseModel: facts.baseModel === undefined ? [] : [facts.baseModel],
    Tasks: [{ Name: facts.task ?? "text-generation" }],
    Revision: "master",
    CreatedTime: 1_767_300_000,
    LastUpdatedTime: 1_777_890_030,
    StorageSize: [...repo.files(repo.resolve("main") ?? "").values()].reduce((sum, { size }) => sum + size, 0),
    /** 5: public, 1: private. */
    Visibility: facts.private === true ? 1 : 5,
    /** 1: a licence must be accepted, 2: not. */
    ProtectedMode: facts.gated === undefined || facts.gated === false ? 2 : 1,
  };
}

function openInfo(repo: TestRepository): Record<string, unknown> {
  const { facts } = repo;
  return {
    id: repo.id,
    display_name: repo.id.split("/")[1],
    description: "",
    downloads: facts.downloads ?? 0,
    likes: facts.likes ?? 0,
    license: facts.licence ?? "",
    tasks: [facts.task ?? "text-generation"],
    tags: [...(facts.tags ?? []), ...(facts.modelType === undefined ? [] : [facts.modelType])],
    created_at: "2026-01-02T03:04:05Z",
    last_modified: facts.lastModified ?? "2026-05-04T10:20:30Z",
    file_size: [...repo.files(repo.resolve("main") ?? "").values()].reduce((sum, { size }) => sum + size, 0),
    ...(facts.parameters !== undefined && { params: facts.parameters }),
    private: facts.private ?? false,
    gated: facts.gated !== undefined && facts.gated !== false,
  };
}

function sendSearch(hub: HubState, response: ServerResponse, kind: RepoKind, url: URL): void {
  const text = (url.searchParams.get("search") ?? "").toLowerCase();
  const owner = url.searchParams.get("owner");
  const number = Number(url.searchParams.get("page_number") ?? 1);
  const size = Number(url.searchParams.get("page_size") ?? 10);
  if (number * size > 3000) {
    sendJson(response, { success: false, message: "page_number * page_size must be <= 3000" }, { status: 400 });
    return;
  }
  const found = hub
    .repositories(kind)
    .filter(
      ({ id, facts }) =>
        facts.private !== true && id.toLowerCase().includes(text) && (owner === null || id.startsWith(`${owner}/`)),
    );
  const sort = url.searchParams.get("sort");
  found.sort((a, b) =>
    sort === "likes"
      ? (b.facts.likes ?? 0) - (a.facts.likes ?? 0)
      : (b.facts.downloads ?? 0) - (a.facts.downloads ?? 0),
  );
  const page = found.slice((number - 1) * size, number * size).map(openInfo);
  const data = { [`${kind}s`]: page, total_count: found.length, page_number: number, page_size: size };
  sendJson(response, { success: true, request_id: "test", data });
}
