/**
 * Both hubs on this machine: Hugging Face, ModelScope and a CDN with signed addresses, each at its own origin. The CDN
 * has another host name, as in life: clients tell origins by it.
 */

import { createHmac, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { RepoKind } from "../../core/contract/hub.ts";
import type { Fault, FaultName, FaultPlan, RequestKind } from "./faults.ts";
import { answerHuggingFace } from "./huggingface.ts";
import { answerModelScope } from "./modelscope.ts";
import type { Content, TestRepository } from "./repository.ts";
import { sendContent, sendFault, sendText } from "./send.ts";

export interface HubOptions {
  repositories: readonly TestRepository[];
  /** Token → names of the gated and private repositories that it opens. */
  tokens?: Record<string, readonly string[]>;
  /** Old name → new name. */
  moved?: Record<string, string>;
  faults?: FaultPlan;
  /** How long a signed address is good for. Default 3600. */
  signatureSeconds?: number;
  /** Entries of one page of a tree; the hub's own number otherwise. */
  pageSize?: number;
  /** Of the CDN, to one connection. */
  bytesPerSecond?: number;
}

export interface SeenRequest {
  origin: "huggingface" | "modelscope" | "cdn";
  method: string;
  path: string;
  range: string | undefined;
  /** As it was sent. Undefined while the request runs or when the connection was cut before. */
  status: number | undefined;
}

/** What the parts of the hub share. */
export interface HubState {
  readonly options: HubOptions;
  /** Token → names of the repositories that it opens. */
  readonly tokens: ReadonlyMap<string, readonly string[]>;
  readonly moved: ReadonlyMap<string, string>;
  readonly huggingface: string;
  readonly modelscope: string;
  repositories(kind: RepoKind): TestRepository[];
  repository(kind: RepoKind, id: string): TestRepository | undefined;
  fault(kind: RequestKind, path: string): Fault | undefined;
  signedUrl(content: Content, name: string, expired: boolean): string;
  /** Puts a commit with other contents on the main branch. */
  moveRevision(repo: TestRepository): void;
}

export interface HubServer {
  huggingface: string;
  modelscope: string;
  cdn: string;
  requests: SeenRequest[];
  /** Bytes of contents that the CDN has sent. */
  sent(): number;
  /** How often each fault happened. */
  faults: Partial<Record<FaultName, number>>;
  /** Credentials that arrived at an origin which must not see them. */
  leaks: string[];
  setFaults(plan: FaultPlan | undefined): void;
  /** Cuts all connections and answers no more until `online` is called. */
  offline(): void;
  online(): void;
  close(): Promise<void>;
}

export async function startHubServer(options: HubOptions): Promise<HubServer> {
  const secret = randomBytes(16);
  const requests: SeenRequest[] = [];
  const faults: HubServer["faults"] = {};
  const leaks: string[] = [];
  let plan = options.faults;
  let away = false;
  let sent = 0;
  const contents = new Map<string, Content>();

  const listen = async (
    origin: SeenRequest["origin"],
    answer: (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>,
  ): Promise<{ server: Server; port: number }> => {
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? "/", "http://hub.invalid");
      const seen: SeenRequest = {
        origin,
        method: request.method ?? "",
        path: url.pathname + (origin === "modelscope" ? url.search : ""),
        range: request.headers.range,
        status: undefined,
      };
      requests.push(seen);
      response.on("finish", () => (seen.status = response.statusCode));
      if (away) {
        request.socket.destroy();
        return;
      }
      answer(request, response, url).catch((error: unknown) => {
        // A client that goes away in the middle is no fault of the server's.
        if (!response.headersSent && !response.destroyed) sendText(response, 500, String(error));
        else response.destroy();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return { server, port: (server.address() as AddressInfo).port };
  };

  const sign = (path: string, expires: number): string =>
    createHmac("sha256", secret).update(`${path}\n${expires}`).digest("hex");

  const cdnServer = await listen("cdn", async (request, response, url) => {
    if (request.headers.authorization !== undefined || request.headers.cookie !== undefined) leaks.push(url.pathname);
    const fault = state.fault("bytes", url.pathname);
    if (fault !== undefined && sendFault(response, fault)) return;
    const expires = Number(url.searchParams.get("X-Amz-Expires-At"));
    if (url.searchParams.get("X-Amz-Signature") !== sign(url.pathname, expires)) {
      sendText(response, 403, s3Error("SignatureDoesNotMatch", "The request signature does not match"), xml);
      return;
    }
    if (Date.now() > expires) {
      sendText(response, 403, s3Error("AccessDenied", "Request has expired"), xml);
      return;
    }
    const content = contents.get(url.pathname.split("/").at(-1) ?? "");
    if (content === undefined) {
      sendText(response, 404, s3Error("NoSuchKey", "The specified key does not exist."), xml);
      return;
    }
    await sendContent(request, response, content, {
      etag: `"${content.sha256.slice(0, 32)}"`,
      fault,
      bytesPerSecond: options.bytesPerSecond,
      onBytes: (bytes) => (sent += bytes),
    });
  });
  const cdn = `http://localhost:${cdnServer.port}`;

  const hfServer = await listen("huggingface", (request, response, url) =>
    answerHuggingFace(state, request, response, url),
  );
  const msServer = await listen("modelscope", (request, response, url) =>
    answerModelScope(state, request, response, url),
  );
  const servers = [cdnServer.server, hfServer.server, msServer.server];

  const state: HubState = {
    options,
    tokens: new Map(Object.entries(options.tokens ?? {})),
    moved: new Map(Object.entries(options.moved ?? {})),
    huggingface: `http://127.0.0.1:${hfServer.port}`,
    modelscope: `http://127.0.0.1:${msServer.port}`,
    repositories: (kind) => options.repositories.filter((repo) => repo.kind === kind),
    repository: (kind, id) => options.repositories.find((repo) => repo.kind === kind && repo.id === id),
    fault: (kind, path) => {
      const fault = plan?.(kind, path);
      if (fault !== undefined) faults[fault.name] = (faults[fault.name] ?? 0) + 1;
      return fault;
    },
    signedUrl: (content, name, expired) => {
      contents.set(content.sha256, content);
      const path = `/xet-bridge-test/${content.sha256}`;
      const expires = Date.now() + (expired ? -1000 : (options.signatureSeconds ?? 3600) * 1000);
      const query = new URLSearchParams({
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Expires-At": String(expires),
        "X-Amz-Signature": sign(path, expires),
        "response-content-disposition": `inline; filename="${name}";`,
      });
      return `${cdn}${path}?${query.toString()}`;
    },
    moveRevision: (repo) => {
      const now = repo.files(repo.resolve("main") ?? "");
      repo.commit(Object.fromEntries([...now.keys()].map((path) => [path, `moved on: ${path}, ${now.size}`])));
    },
  };

  return {
    huggingface: state.huggingface,
    modelscope: state.modelscope,
    cdn,
    requests,
    sent: () => sent,
    faults,
    leaks,
    setFaults: (next) => (plan = next),
    offline: () => {
      away = true;
      for (const server of servers) server.closeAllConnections();
    },
    online: () => (away = false),
    close: async () => {
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

const xml = { "content-type": "application/xml" };

function s3Error(code: string, message: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
}
