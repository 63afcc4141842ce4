import { mkdirSync, mkdtempSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, request, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startHost, type Host } from "../../../core/host/host.ts";

let home: string;
let renderer: string;
let host: Host | undefined;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "hone-host-"));
  process.env["HONE_HOME"] = home;
  renderer = join(home, "renderer");
  mkdirSync(join(renderer, "assets"), { recursive: true });
  writeFileSync(join(renderer, "index.html"), "<title>Hone</title>");
  writeFileSync(join(renderer, "assets", "main-1.js"), "1;");
  writeFileSync(join(home, "private.txt"), "not for a page");
});

afterEach(async () => {
  await host?.close();
  host = undefined;
});

async function open(): Promise<Host> {
  host = await startHost({ renderer });
  return host;
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A request as a program may write it, with any Host and Origin. */
async function ask(
  port: number,
  path: string,
  { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const sent = request({ host: "127.0.0.1", port, path, method, headers, setHost: !("Host" in headers) });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const piece of response) text += String(piece);
  return { status: response.statusCode ?? 0, headers: response.headers, body: text };
}

async function admitted(running: Host): Promise<{ Cookie: string; Origin: string }> {
  const { port } = running;
  const { headers } = await ask(port, running.newUrl().replace(/^.*\/\?/, "/?"));
  const cookie = headers["set-cookie"]?.[0] ?? "";
  return { Cookie: cookie.split(";")[0] ?? "", Origin: `http://127.0.0.1:${port}` };
}

test("the address opens the page once, and the cookie cannot be read by scripts or sent by other sites", async () => {
  const running = await open();
  const { port } = running;
  const path = running.newUrl().replace(/^.*\/\?/, "/?");
  const first = await ask(port, path);
  expect(first.status).toBe(303);
  expect(first.headers["set-cookie"]?.[0]).toMatch(/HttpOnly; SameSite=Strict/);
  const second = await ask(port, path);
  expect(second.status).toBe(403);
  expect(second.body).toContain("used already");
  expect((await ask(port, "/")).status).toBe(403);
  expect((await ask(port, "/?token=guess")).status).toBe(403);
});

test("with the cookie: the page with its guards, nothing outside of its folder", async () => {
  const running = await open();
  const headers = await admitted(running);
  const page = await ask(running.port, "/", { headers });
  expect(page.body).toContain("<title>Hone");
  expect(page.headers["content-security-policy"]).toContain("script-src 'self'");
  expect(page.headers["x-content-type-options"]).toBe("nosniff");
  const script = await ask(running.port, "/assets/main-1.js", { headers });
  expect(script.headers["cache-control"]).toContain("immutable");
  for (const path of ["/../private.txt", "/%2e%2e/private.txt", "/..%2fprivate.txt", "/assets", "/%E0%A4%A", "/%00"]) {
    const answer = await ask(running.port, path, { headers });
    expect(answer.status, path).toBe(404);
    expect(answer.body).not.toContain("not for a page");
  }
});

test("another Host is refused: a name that leads to 127.0.0.1 gives no site access", async () => {
  const running = await open();
  const headers = await admitted(running);
  for (const name of ["evil.example", `evil.example:${running.port}`, "127.0.0.1:1"]) {
    expect((await ask(running.port, "/", { headers: { ...headers, Host: name } })).status).toBe(421);
  }
  const local = { ...headers, Host: `localhost:${running.port}` };
  expect((await ask(running.port, "/", { headers: local })).status).toBe(200);
});

test("the socket needs the cookie and the page's own Origin", async () => {
  const running = await open();
  const { Cookie, Origin } = await admitted(running);
  const address = `ws://127.0.0.1:${running.port}/api`;
  const outcome = async (headers: Record<string, string>): Promise<string> => {
    const socket = new WebSocket(address, { headers });
    const result = await once(socket, "open").then(() => "open", String);
    socket.on("error", () => undefined);
    socket.terminate();
    return result;
  };
  expect(await outcome({ Cookie, Origin })).toBe("open");
  expect(await outcome({ Origin })).toContain("403");
  expect(await outcome({ Cookie })).toContain("403");
  expect(await outcome({ Cookie, Origin: "http://evil.example" })).toContain("403");
});

test("what is no message is not heard; what is no JSON ends the socket; the server goes on", async () => {
  const running = await open();
  const headers = await admitted(running);
  const socket = new WebSocket(`ws://127.0.0.1:${running.port}/api`, { headers });
  await once(socket, "open");
  for (const text of ["null", "7", "[]", "{}", '{"kind":"call","id":"x"}', '{"kind":"subscribe","id":1,"topic":7}']) {
    socket.send(text);
  }
  socket.send(JSON.stringify({ kind: "call", id: 5, name: "jobs.list", input: {} }));
  const [data] = (await once(socket, "message")) as [Buffer];
  expect(JSON.parse(data.toString())).toEqual({ kind: "result", id: 5, value: [] });
  socket.send("no json");
  const [code] = (await once(socket, "close")) as [number];
  expect(code).toBe(1007);
  expect((await ask(running.port, "/", { headers })).status).toBe(200);
});

test("a dropped file is kept under its name, wherever that name would lead", async () => {
  const running = await open();
  const headers = await admitted(running);
  const name = encodeURIComponent("../../../etc/rows<1>.jsonl");
  const answer = await ask(running.port, `/upload?name=${name}`, { method: "PUT", headers, body: '{"text":"x"}\n' });
  const { path } = JSON.parse(answer.body) as { path: string };
  expect(path.startsWith(join(home, "uploads"))).toBe(true);
  expect(path).toMatch(/rows_1_\.jsonl$/);
  expect(readFileSync(path, "utf8")).toBe('{"text":"x"}\n');
  for (const [given, kept] of [
    ["..", "file"],
    ["a/..", "file"],
    [`${"长".repeat(300)}.jsonl`, /^长{54}\.jsonl$/],
  ] as const) {
    const put = { method: "PUT", headers, body: "x" };
    const more = await ask(running.port, `/upload?name=${encodeURIComponent(given)}`, put);
    expect(more.status, given).toBe(200);
    expect((JSON.parse(more.body) as { path: string }).path.split("/").at(-1)).toMatch(kept);
  }
});

test("an upload of another origin, without a size, or too large is refused, and one cut short leaves nothing", async () => {
  const running = await open();
  const headers = await admitted(running);
  const put = (more: Record<string, string>) =>
    ask(running.port, "/upload?name=a", { method: "PUT", headers: { ...headers, ...more } });
  expect((await put({ Origin: "http://evil.example" })).status).toBe(403);
  expect((await put({ "Transfer-Encoding": "chunked" })).status).toBe(413);
  const cut = request({
    ...{ host: "127.0.0.1", port: running.port, path: "/upload?name=cut", method: "PUT" },
    headers: { ...headers, "Content-Length": "1000" },
  });
  cut.on("error", () => undefined);
  cut.write("half");
  const uploads = join(home, "uploads");
  await expect.poll(() => readdirSync(home).includes("uploads") && readdirSync(uploads).length).toBe(1);
  cut.destroy();
  await expect.poll(() => readdirSync(uploads)).toEqual([]);
});

test("uploads that were forgotten are removed at the next start", async () => {
  const [old, fresh] = ["old", "fresh"].map((name) => join(home, "uploads", name));
  for (const folder of [old, fresh]) mkdirSync(String(folder), { recursive: true });
  const longAgo = Date.now() / 1000 - 8 * 86_400;
  utimesSync(String(old), longAgo, longAgo);
  await open();
  expect(readdirSync(join(home, "uploads"))).toEqual(["fresh"]);
});

test("a port in use, and a page that was not built, are told with the way out", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  await expect(startHost({ renderer, port })).rejects.toMatchObject({ code: "port-taken", fix: expect.any(String) });
  taken.close();
  await expect(startHost({ renderer: home })).rejects.toMatchObject({ code: "no-renderer" });
});
