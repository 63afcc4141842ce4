/**
 * The app in a browser: the built renderer over HTTP and the contract over a WebSocket, on loopback only.
 *
 * Who opens the address with the one-time token gets a cookie, and the token is spent. Everything else needs the cookie,
 * a `Host` of this server (against DNS rebinding) and, for the socket, an `Origin` of it too.
 */

import { randomBytes, timingSafeEqual } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { WebSocketServer, type WebSocket } from "ws";
import { createApp, type App } from "../app/service/app.ts";
import { HoneError } from "../contract/errors.ts";
import { Rpc, type Channel } from "../contract/rpc.ts";
import { freeBytes } from "../files/disk.ts";
import { honeHome } from "../files/hone-home.ts";
import { builtRenderer, findPageFile, guardHeaders, requireRenderer } from "./page-files.ts";

export interface HostOptions {
  /** 0: a free one. */
  port?: number;
  /** Folder of the built renderer. */
  renderer?: string;
}

export interface Host {
  /** Opens the app once. */
  readonly url: string;
  readonly port: number;
  readonly app: App;
  /** A new one-time address, for another window. */
  newUrl(): string;
  /** Stops all work in an orderly way, then the server. */
  close(): Promise<void>;
}

const cookieName = "hone";

/** Bytes of one file that is dropped onto the page. */
const uploadLimit = 4 * 2 ** 30;

/** Characters of an uploaded file's name: file systems take 255 bytes. */
const longestName = 60;

/** Uploads are read soon after they came: what is older was imported or forgotten. */
const uploadDays = 7;

/** Throws `no-renderer` when the page was not built, `port-taken` when the port is in use. */
export async function startHost({ port = 0, renderer = builtRenderer }: HostOptions = {}): Promise<Host> {
  requireRenderer(renderer);
  removeOldUploads();
  const app = createApp("browser");
  const server = new HostServer(app, renderer);
  try {
    await server.listen(port);
  } catch (error) {
    await app.close();
    throw error;
  }
  return {
    url: server.newUrl(),
    port: server.port,
    app,
    newUrl: () => server.newUrl(),
    close: async () => {
      await app.close();
      await server.close();
    },
  };
}

function uploadsFolder(): string {
  return join(honeHome(), "uploads");
}

function removeOldUploads(): void {
  const folder = uploadsFolder();
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (Date.now() - statSync(path).mtimeMs > uploadDays * 86_400_000) rmSync(path, { recursive: true, force: true });
  }
}

class HostServer {
  readonly #app: App;
  readonly #renderer: string;
  readonly #http: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 2 ** 20 });
  /** Of the cookie: for as long as this server lives. */
  readonly #secret = randomBytes(32).toString("base64url");
  readonly #tokens = new Set<string>();

  constructor(app: App, renderer: string) {
    this.#app = app;
    this.#renderer = renderer;
    this.#http = createServer((request, response) => {
      void this.#answer(request, response);
    });
    this.#http.on("upgrade", (request, socket, head) => {
      const allowed = this.#isOurs(request) && this.#hasCookie(request) && this.#isSameOrigin(request);
      if (!allowed || pathOf(request) !== "/api") {
        socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
        new Rpc(socketChannel(webSocket), this.#app);
      });
    });
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#http.once("error", (error: NodeJS.ErrnoException) => {
        const taken = error.code === "EADDRINUSE";
        const known = new HoneError("port-taken", `port ${port} is in use`, { fix: "choose another with --port" });
        reject(taken ? known : error);
      });
      this.#http.listen(port, "127.0.0.1", resolve);
    });
  }

  newUrl(): string {
    const token = randomBytes(24).toString("base64url");
    this.#tokens.add(token);
    return `http://127.0.0.1:${this.port}/?token=${token}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#http.closeAllConnections();
    await new Promise<void>((resolve) => this.#http.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(guardHeaders)) response.setHeader(name, value);
    try {
      if (!this.#isOurs(request)) return refuse(response, 421, "this server answers to 127.0.0.1 and localhost only");
      const token = new URL(request.url ?? "/", "http://127.0.0.1").searchParams.get("token");
      if (token !== null) return this.#admit(token, request, response);
      if (!this.#hasCookie(request)) {
        return refuse(response, 403, "Open the address that Hone printed; it works once. `hone app` makes a new one.");
      }
      if (request.method === "PUT" && pathOf(request) === "/upload") return await this.#receive(request, response);
      if (request.method !== "GET" && request.method !== "HEAD") return refuse(response, 405, "only GET");
      this.#sendFile(pathOf(request), response);
    } catch (error) {
      if (!response.headersSent) refuse(response, 500, error instanceof Error ? error.message : String(error));
      else response.destroy();
    }
  }

  /** A reload of the address finds the token spent, and the cookie in place. */
  #admit(token: string, request: IncomingMessage, response: ServerResponse): void {
    if (!this.#tokens.delete(token) && !this.#hasCookie(request)) {
      return refuse(response, 403, "This address was used already. `hone app` makes a new one.");
    }
    response.setHeader("Set-Cookie", `${this.#cookie()}=${this.#secret}; HttpOnly; SameSite=Strict; Path=/`);
    response.writeHead(303, { Location: "/" }).end();
  }

  #cookie(): string {
    // Cookies know no ports: two hosts on one machine must not take each other's.
    return `${cookieName}-${this.port}`;
  }

  #hasCookie(request: IncomingMessage): boolean {
    const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim().split("="));
    const given = Buffer.from(pairs.find(([name]) => name === this.#cookie())?.[1] ?? "");
    const wanted = Buffer.from(this.#secret);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }

  #isOurs(request: IncomingMessage): boolean {
    return [`127.0.0.1:${this.port}`, `localhost:${this.port}`].includes(request.headers.host ?? "");
  }

  #isSameOrigin(request: IncomingMessage): boolean {
    return request.headers.origin === `http://${request.headers.host ?? ""}`;
  }

  /** A file that was dropped onto the page: kept in Hone's folder, since a browser does not tell where it came from. */
  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#isSameOrigin(request)) return refuse(response, 403, "not from this page");
    const given = new URL(request.url ?? "/", "http://127.0.0.1").searchParams.get("name") ?? "";
    const last = basename(given.replaceAll("\\", "/")).replace(/[^\p{L}\p{N}._ -]/gu, "_");
    // The end of a name tells the kind of file; dots alone are no name.
    const name = /^\.*$/.test(last) ? "file" : last.slice(-longestName);
    const folder = join(uploadsFolder(), randomBytes(6).toString("hex"));
    const size = Number(request.headers["content-length"] ?? Number.NaN);
    if (!(size <= uploadLimit)) {
      const why = "files of over 4 GB, and of unknown size, are not taken from a browser: give their path instead";
      return refuse(response, 413, why);
    }
    mkdirSync(folder, { recursive: true });
    if (freeBytes(folder) < size) {
      rmSync(folder, { recursive: true });
      return refuse(response, 507, `there is no room for it on the disk of ${honeHome()}`);
    }
    const path = join(folder, name);
    try {
      await pipeline(request, createWriteStream(path, { flags: "wx" }));
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ path }));
  }

  #sendFile(path: string, response: ServerResponse): void {
    const file = findPageFile(this.#renderer, path);
    if (file === undefined) return refuse(response, 404, "there is no such file");
    for (const [name, value] of Object.entries(file.headers)) response.setHeader(name, value);
    createReadStream(file.path).pipe(response);
  }
}

function pathOf(request: IncomingMessage): string {
  return new URL(request.url ?? "/", "http://127.0.0.1").pathname;
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" }).end(`${why}\n`);
}

function socketChannel(socket: WebSocket): Channel {
  return {
    send: (message) => {
      socket.send(JSON.stringify(message));
    },
    listen: (onMessage, onClose) => {
      socket.on("message", (data: Buffer) => {
        let message: unknown;
        try {
          message = JSON.parse(data.toString("utf8"));
        } catch {
          socket.close(1007, "that is no JSON");
          return;
        }
        onMessage(message);
      });
      socket.on("close", () => {
        onClose(new HoneError("window-closed", "the window was closed"));
      });
      // `close` follows.
      socket.on("error", () => undefined);
    },
  };
}
