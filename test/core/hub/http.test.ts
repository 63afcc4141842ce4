/** The one way onto the network: who sees credentials, what stops, and what every failure is called. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CancelledError, errorToData } from "../../../core/contract/errors.ts";
import {
  Credentials,
  drop,
  isTransient,
  readBytes,
  readJsonBody,
  readText,
  request,
  showUrl,
} from "../../../core/hub/http.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const servers: Server[] = [];

/** A server of its own origin; `host` may be another name of this machine. */
async function serve(handler: Handler, host = "127.0.0.1"): Promise<string> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}

beforeEach(() => {
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"]) {
    vi.stubEnv(name, undefined);
    vi.stubEnv(name.toLowerCase(), undefined);
  }
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const secret = "hf_averysecrettoken";
const code = (name: string) => expect.objectContaining({ code: name }) as Error;

describe("credentials", () => {
  test("go to their own origin only, at every redirect, also when it comes back", async () => {
    const seen: [string, string | undefined][] = [];
    const hub: string = await serve((request, response) => {
      seen.push(["hub", request.headers.authorization]);
      if (request.url === "/end") response.end("done");
      else response.writeHead(302, { location: `${cdn}/there` }).end();
    });
    const cdn: string = await serve((request, response) => {
      seen.push(["cdn", request.headers.authorization ?? request.headers.cookie]);
      response.writeHead(307, { location: `${hub}/end` }).end();
    }, "localhost");
    const reply = await request(`${hub}/file`, { credentials: Credentials.bearer(hub, secret) });
    expect(await readText(reply, 100)).toBe("done");
    expect(reply.redirects.map(({ url }) => url)).toEqual([`${hub}/file`, `${cdn}/there`]);
    expect(seen).toEqual([
      ["hub", `Bearer ${secret}`],
      ["cdn", undefined],
      ["hub", `Bearer ${secret}`],
    ]);
  });

  test("another port of the same host is another origin", async () => {
    let seen: string | undefined = "nothing";
    const other = await serve((request, response) => {
      seen = request.headers.authorization;
      response.end();
    });
    const hub = await serve((_request, response) => response.writeHead(302, { location: other }).end());
    await drop((await request(hub, { credentials: Credentials.bearer(hub, secret) })).body);
    expect(seen).toBeUndefined();
  });

  test("are shown by no printer, and stand in no error", async () => {
    const credentials = Credentials.bearer("https://huggingface.co/x", secret);
    expect(inspect(credentials, { depth: 9, showHidden: true })).not.toContain(secret);
    expect(JSON.stringify({ credentials })).not.toContain(secret);
    const address = "http://user:pass@127.0.0.1:1/file?X-Amz-Signature=abc";
    const failed = request(address, { credentials: Credentials.bearer(address, secret) });
    const error = await failed.then(() => undefined, errorToData);
    expect(error).toMatchObject({ code: "connection-refused" });
    expect(JSON.stringify(error)).not.toMatch(/averysecret|pass@|abc/);
    expect(showUrl(address)).toBe("http://127.0.0.1:1/file");
  });

  test("a token that would end its header is refused, and not repeated", () => {
    for (const bad of ["a\nb", "a b", "", "ключ"]) {
      expect(() => Credentials.bearer("https://huggingface.co", bad)).toThrow(code("bad-token"));
    }
  });
});

describe("redirects", () => {
  test("a loop ends after ten, with a word on proxies", async () => {
    let count = 0;
    const hub: string = await serve((_request, response) => {
      count++;
      response.writeHead(302, { location: `${hub}/again` }).end();
    });
    await expect(request(hub)).rejects.toThrow(code("redirect-loop"));
    expect(count).toBe(11);
  });

  test.each(["ftp://example.org/x", "file:///etc/passwd", "http://", "javascript:alert(1)"])(
    "%s is no place to go on to",
    async (location) => {
      const hub = await serve((_request, response) => response.writeHead(302, { location }).end());
      await expect(request(hub)).rejects.toThrow(code("bad-redirect"));
    },
  );

  test("none is followed for a POST, or when the caller wants to see it", async () => {
    const hub = await serve((_request, response) => response.writeHead(302, { location: "/x" }).end());
    for (const options of [{ method: "POST", body: "{}" }, { maxRedirects: 0 }] as const) {
      const reply = await request(hub, options);
      await drop(reply.body);
      expect(reply).toMatchObject({ status: 302, headers: { location: "/x" } });
    }
  });
});

describe("failures have names and may pass, or not", () => {
  test("a host that refuses, an unknown host, no address", async () => {
    const refused = await request("http://127.0.0.1:1/").catch((error: unknown) => error);
    expect(refused).toEqual(code("connection-refused"));
    expect(isTransient(refused)).toBe(true);
    await expect(request("http://no-such-host.invalid/")).rejects.toThrow(code("offline"));
    await expect(request("huggingface.co")).rejects.toThrow(code("bad-address"));
    await expect(request("ftp://huggingface.co")).rejects.toThrow(code("bad-address"));
  });

  test("silence before the head, and in the body", async () => {
    const mute = await serve(() => undefined);
    await expect(request(mute, { idleSeconds: 0.2 })).rejects.toThrow(code("timed-out"));
    const stalls = await serve((_request, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("some");
    });
    const reply = await request(stalls, { idleSeconds: 0.2 });
    await expect(readBytes(reply, 1000)).rejects.toThrow(code("timed-out"));
  });

  test("a line that breaks off", async () => {
    const cuts = await serve((_request, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("some", () => response.destroy());
    });
    await expect(readBytes(await request(cuts), 1000)).rejects.toThrow(code("connection-lost"));
    const slams = await serve((request) => request.socket.destroy());
    await expect(request(slams)).rejects.toThrow(code("connection-lost"));
  });

  test("more bytes than expected are not held", async () => {
    let sent = 0;
    const bomb = await serve((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65536))) sent += 65536;
        response.once("drain", more);
      };
      more();
    });
    await expect(readBytes(await request(bomb), 100_000)).rejects.toThrow(code("answer-too-large"));
    expect(sent).toBeLessThan(100e6);
  });

  test("a web page instead of JSON: a proxy's login", async () => {
    const page = await serve((_request, response) => response.end("<html>sign in</html>"));
    const error = await readJsonBody(await request(page), 1000).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "bad-answer", fix: expect.stringContaining("web page") as string });
  });

  test("cancelling is no failure", async () => {
    const mute = await serve(() => undefined);
    const abort = new AbortController();
    const waiting = request(mute, { signal: abort.signal });
    setTimeout(() => abort.abort(), 30);
    await expect(waiting).rejects.toThrow(CancelledError);
  });
});

describe("proxies", () => {
  /** An HTTP proxy that tunnels to wherever it is told, and keeps a list. */
  async function proxy(seen: string[]): Promise<string> {
    const { connect } = await import("node:net");
    const address = await serve((request, response) => {
      seen.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim());
      response.end("by the proxy");
    });
    servers.at(-1)?.on("connect", (request: IncomingMessage, client: Socket) => {
      seen.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim());
      if (request.url?.startsWith("forbidden.invalid") === true) {
        client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
        return;
      }
      const target = new URL(`http://${request.url}`);
      const server = connect(Number(target.port), target.hostname, () => {
        client.write("HTTP/1.1 200 OK\r\n\r\n");
        server.pipe(client);
        client.pipe(server);
      });
      server.on("error", () => client.destroy());
      client.on("error", () => server.destroy());
    });
    return address;
  }

  test("HTTP_PROXY is used, with its user and password; NO_PROXY goes around it", async () => {
    const seen: string[] = [];
    const address = await proxy(seen);
    const hub = await serve((_request, response) => response.end("hub"));
    vi.stubEnv("HTTPS_PROXY", address.replace("http://", "http://me:word@"));
    vi.stubEnv("HTTP_PROXY", address.replace("http://", "me:word@"));
    vi.stubEnv("NO_PROXY", "localhost");
    expect(await readText(await request(`${hub}/x`), 100)).toBe("by the proxy");
    expect(seen).toEqual([`${hub}/x Basic ${Buffer.from("me:word").toString("base64")}`]);
    const before = seen.length;
    expect(await readText(await request(hub.replace("127.0.0.1", "localhost")), 100)).toBe("hub");
    expect(seen.length).toBe(before);
  });

  test("a proxy that refuses, and a setting that is no address", async () => {
    vi.stubEnv("HTTPS_PROXY", await proxy([]));
    const refused = await request("https://forbidden.invalid/").catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "proxy-refused",
      message: expect.stringContaining("forbidden.invalid") as string,
    });
    vi.stubEnv("HTTPS_PROXY", "ftp://user:hush@proxy");
    const bad = await request("https://huggingface.co/").catch((error: unknown) => error);
    expect(bad).toMatchObject({ code: "bad-proxy" });
    expect(JSON.stringify(errorToData(bad))).not.toContain("hush");
  });
});
