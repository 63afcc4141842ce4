import { existsSync, readdirSync, writeFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CancelledError } from "../../../../core/contract/errors.ts";
import { realDisk } from "../../../../core/hub/download/data-file.ts";
import type { DownloadProgress } from "../../../../core/hub/download/download-options.ts";
import { Throttle } from "../../../../core/hub/download/throttle.ts";
import { faultList } from "../../../hub-server/faults.ts";
import { TestRepository, bytesContent } from "../../../hub-server/repository.ts";
import { gatedModel, noise } from "../../../hub-server/samples.ts";
import { asText, makeWorld, readFolder, someFiles } from "./world.ts";

const bytesOf = (files: Record<string, string | Buffer>) =>
  Object.values(files).reduce((sum, data) => sum + Buffer.byteLength(data), 0);

describe("downloadSnapshot", () => {
  it.each(["huggingface", "modelscope"] as const)(
    "brings all files of %s, checked, with nothing left over",
    async (from) => {
      const world = await makeWorld();
      const seen: DownloadProgress[] = [];
      const result = await world.get({ from, onProgress: (progress) => seen.push(progress) });
      expect(readFolder(result.path)).toEqual(asText(someFiles));
      expect(result.fetched_bytes).toBe(bytesOf(someFiles));
      const checked = Object.fromEntries(result.files.map((file) => [file.path, file.checked]));
      expect(checked["model.safetensors"]).toBe("sha256");
      expect(checked["config.json"]).toBe(from === "huggingface" ? "git" : "sha256");
      const last = seen.at(-1);
      expect(last).toMatchObject({
        source: from,
        bytes_done: bytesOf(someFiles),
        seconds_left: 0,
        retries: 0,
        note: null,
      });
      expect(last?.files.every(({ state, done, size }) => state === "done" && done === size)).toBe(true);
      const left = readdirSync(world.root, { recursive: true }).map(String);
      expect(left.filter((name) => /incomplete|\.ranges|partial/.test(name))).toEqual([]);
    },
  );

  it("asks for a large file in ranges, several at a time, and for the signed address only once or twice", async () => {
    const world = await makeWorld();
    await world.get({ connections: 3 });
    const ranges = world.hub.requests.filter(({ origin }) => origin === "cdn").map(({ range }) => range);
    expect(ranges).toHaveLength(Math.ceil(400_000 / (64 * 1024)));
    expect(new Set(ranges).size).toBe(ranges.length);
    const addresses = world.hub.requests.filter(({ path }) =>
      path.endsWith("resolve/" + world.repo.resolve("main") + "/model.safetensors"),
    );
    expect(addresses.length).toBeLessThanOrEqual(3);
  });

  it("fetches nothing a second time", async () => {
    const world = await makeWorld();
    await world.get();
    expect((await world.get()).fetched_bytes).toBe(0);
  });

  it("fetches one content once, whatever its names", async () => {
    const data = noise("twice", 100_000);
    const files = { "a.bin": data, "b/c.bin": data };
    const world = await makeWorld({ repo: new TestRepository("model", "acme/tiny", files) });
    const result = await world.get();
    expect(result.fetched_bytes).toBe(100_000);
    expect(readFolder(result.path)).toEqual(asText(files));
  });

  it("goes on after a stop with what is missing only, also from another mirror", async () => {
    const world = await makeWorld({ bytesPerSecond: 150_000 });
    const stop = new AbortController();
    const first = world.get({
      signal: stop.signal,
      connections: 2,
      onProgress: ({ fetched_bytes }) => fetched_bytes > 100_000 && stop.abort(),
    });
    await expect(first).rejects.toBeInstanceOf(CancelledError);
    const snapshots = join(world.root, "models--acme--tiny", "snapshots");
    expect(existsSync(snapshots) ? readdirSync(snapshots) : []).toEqual([]);
    const mirror = await makeWorld({ repo: world.repo });
    const snapshot = await world.snapshot();
    world.hub.offline();
    Object.assign(world, { source: () => mirror.source() });
    const second = await world.get({ snapshot });
    expect(second.fetched_bytes).toBeLessThan(bytesOf(someFiles) - 90_000);
    expect(readFolder(second.path)).toEqual(asText(someFiles));
  });

  it("takes the other hub when the first one goes away, and does not ask it before", async () => {
    const world = await makeWorld();
    const quiet = await world.get({ alternative: () => Promise.reject(new Error("not needed")) });
    expect(quiet.retries).toBe(0);
    const other = await makeWorld({ repo: world.repo });
    const snapshot = await other.snapshot();
    let asked = 0;
    other.hub.setFaults((kind, path) =>
      kind === "address" && !path.startsWith("/api/v1") ? { name: "status-503", at: 0 } : undefined,
    );
    const result = await other.get({
      snapshot,
      alternative: async () => {
        asked += 1;
        return { source: world.source("modelscope"), snapshot: await world.snapshot("modelscope") };
      },
    });
    expect(asked).toBe(1);
    expect(readFolder(result.path)).toEqual(asText(someFiles));
    expect(world.hub.requests.some(({ origin }) => origin === "cdn")).toBe(true);
  });

  it("does not go round a licence by way of another hub", async () => {
    const repo = gatedModel();
    const world = await makeWorld({ repo, tokens: { known: [], let_in: [repo.id] } });
    let asked = false;
    const alternative = () => {
      asked = true;
      return Promise.resolve(undefined);
    };
    await expect(world.get({ alternative })).rejects.toMatchObject({ code: "gated" });
    await expect(world.get({ alternative, token: "known" })).rejects.toMatchObject({ code: "gated" });
    expect(asked).toBe(false);
    expect((await world.get({ token: "let_in" })).retries).toBe(0);
    expect(world.hub.leaks).toEqual([]);
  });

  it("renews signed addresses that run out in the middle", async () => {
    const world = await makeWorld({ signatureSeconds: 0.15, bytesPerSecond: 300_000 });
    const result = await world.get({ connections: 1 });
    expect(readFolder(result.path)).toEqual(asText(someFiles));
    const refused = world.hub.requests.filter(({ origin, status }) => origin === "cdn" && status === 403);
    expect(refused.length).toBeGreaterThan(0);
  });

  it("stays at its commit when the branch moves on, and says what is wrong when the commit is taken away", async () => {
    const world = await makeWorld();
    const snapshot = await world.snapshot();
    world.repo.commit({ "config.json": "other" });
    expect(readFolder((await world.get({ snapshot })).path)).toEqual(asText(someFiles));
    const gone = await makeWorld();
    const before = await gone.snapshot();
    gone.repo.commit({ "config.json": "other" });
    gone.repo.forget(before.commit);
    await expect(gone.get({ snapshot: before })).rejects.toMatchObject({ code: "no-such-revision" });
  });

  it("keeps to a bandwidth limit that may change meanwhile", async () => {
    const world = await makeWorld();
    const throttle = new Throttle(100_000);
    const began = performance.now();
    let events = 0;
    setTimeout(() => (throttle.bytesPerSecond = null), 500);
    await world.get({ bandwidthLimit: throttle, onProgress: () => (events += 1) });
    const seconds = (performance.now() - began) / 1000;
    expect(seconds).toBeGreaterThan(0.45);
    expect(seconds).toBeLessThan(3);
    // Four a second and one at the end.
    expect(events).toBeLessThanOrEqual(4 * seconds + 2);
  });

  it("takes a file whole where a server sends no parts of it", async () => {
    const world = await makeWorld({
      faults: (kind) => (kind === "bytes" ? { name: "range-ignored", at: 0 } : undefined),
    });
    const result = await world.get({ connections: 4 });
    expect(readFolder(result.path)).toEqual(asText(someFiles));
  });

  it("keeps to a range that comes with status 200, and to its Content-Range alone", async () => {
    const world = await makeWorld();
    const snapshot = await world.snapshot();
    const weights = someFiles["model.safetensors"];
    const server = createServer((request, response) => {
      const [, start, end] = /(\d+)-(\d+)/.exec(request.headers.range ?? "") ?? [];
      response.writeHead(200, { "content-range": `bytes ${start}-${end}/${weights.length}` });
      response.end(weights.subarray(Number(start), Number(end) + 1));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
    const source = { ...world.source(), locate: () => ({ url, credentials: undefined }) };
    Object.assign(world, { source: () => source });
    const files = snapshot.files.filter(({ path }) => path === "model.safetensors");
    const result = await world.get({ snapshot: { ...snapshot, files } });
    server.close();
    expect([result.retries, result.fetched_bytes]).toEqual([0, weights.length]);
  });

  it("finds damage in what is here when it is asked to, and mends it", async () => {
    const world = await makeWorld();
    const { path } = await world.get();
    const file = join(path, "model.safetensors");
    const damaged = readFileSync(file);
    damaged[1000] ^= 1;
    writeFileSync(file, damaged);
    expect((await world.get()).fetched_bytes).toBe(0);
    const mended = await world.get({ checkExisting: true });
    expect(mended.fetched_bytes).toBe(400_000);
    expect(readFolder(mended.path)).toEqual(asText(someFiles));
  });
});

describe("a download that cannot work", () => {
  it("is refused before anything is written when the disk has no room", async () => {
    const world = await makeWorld();
    const disk = { ...realDisk, free: () => 1_000_000 };
    const error = {
      code: "disk-space",
      message: expect.stringMatching(/needs 17.* MB more .* only 1 MB are free/) as string,
    };
    await expect(world.get({ disk })).rejects.toMatchObject(error);
    expect(readdirSync(world.root)).toEqual([]);
    expect(world.hub.requests.some(({ origin }) => origin === "cdn")).toBe(false);
  });

  it("refuses names that would leave the folder, whoever put them on the list", async () => {
    const world = await makeWorld();
    const snapshot = await world.snapshot();
    for (const path of ["../x", "/etc/passwd", "a/../../b", "C:\\x", "a\\..\\b", "nul\0", "a//b", "con. "]) {
      const hostile = { ...snapshot, files: [{ ...snapshot.files[0], path }] };
      await expect(world.get({ snapshot: hostile }), path).rejects.toMatchObject({ code: "hostile-file-name" });
    }
    expect(readdirSync(world.root)).toEqual([]);
  });

  it("gives up with the reason when contents never match, and shows nothing", async () => {
    const world = await makeWorld({ faults: (kind) => (kind === "bytes" ? { name: "corrupt", at: 0.5 } : undefined) });
    const patience = { idle: 1, firstWait: 0.001, longestWait: 0.01, attempts: 3, total: 5 };
    await expect(world.get({ patience })).rejects.toMatchObject({
      code: "checksum-mismatch",
      message: expect.stringContaining("arrived 3 times with other contents") as string,
    });
    expect(existsSync(join(world.root, "models--acme--tiny", "snapshots", world.repo.resolve("main") ?? ""))).toBe(
      false,
    );
  });

  it.each([
    ["longer-range", "answer-too-long"],
    ["wrong-total", "wrong-size"],
    ["wrong-content-range", "wrong-range"],
    ["login-page", "wrong-size"],
    ["gzip", "wrong-encoding"],
    ["status-416", "wrong-range"],
  ] as const)("does not try for ever: %s ends with %s", async (name, code) => {
    const world = await makeWorld({ faults: (kind) => (kind === "bytes" ? { name, at: 0.5 } : undefined) });
    await expect(world.get({ patience: { firstWait: 0.001, longestWait: 0.01, attempts: 3 } })).rejects.toMatchObject({
      code,
    });
  });

  it.each([
    ["status-503", "server-error"],
    ["reset", "connection-lost"],
    ["status-429", "rate-limited"],
  ] as const)("waits as long as its patience for %s, then says %s", async (name, code) => {
    const world = await makeWorld();
    const snapshot = await world.snapshot();
    world.hub.setFaults(() => ({ name, at: 0.5 }));
    const patience = { firstWait: 0.01, longestWait: 0.02, total: 0.3 };
    await expect(world.get({ snapshot, patience })).rejects.toMatchObject({ code });
  });

  it("never writes more than was announced, even when a server sends without end", async () => {
    const world = await makeWorld();
    const snapshot = await world.snapshot();
    let sent = 0;
    const bomb = createServer((request, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" });
      const piece = Buffer.alloc(1024 ** 2, 1);
      const more = () => {
        while (!response.destroyed && response.write(piece)) sent += piece.length;
      };
      response.on("drain", more).on("error", () => undefined);
      more();
    });
    await new Promise<void>((resolve) => bomb.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(bomb.address() as AddressInfo).port}/x`;
    const source = { ...world.source(), locate: () => ({ url, credentials: undefined }) };
    Object.assign(world, { source: () => source });
    await expect(
      world.get({ snapshot, patience: { firstWait: 0.001, longestWait: 0.01, attempts: 2 } }),
    ).rejects.toMatchObject({
      code: "checksum-mismatch",
    });
    bomb.closeAllConnections();
    bomb.close();
    expect(sent).toBeLessThan(400 * 1024 ** 2);
    const written = readdirSync(world.root, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith(".hone.incomplete"));
    for (const name of written) expect(readFileSync(join(world.root, name)).length).toBeLessThanOrEqual(400_000);
  });

  it("stops with disk-full and goes on when there is room again", async () => {
    const world = await makeWorld();
    let writes = 0;
    const disk = {
      ...realDisk,
      open: async (path: string) => {
        const file = await realDisk.open(path);
        return {
          ...file,
          write: async (pieces: readonly Buffer[], position: number) => {
            if (++writes > 3)
              throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
            await file.write(pieces, position);
          },
        };
      },
    };
    await expect(world.get({ disk, connections: 1 })).rejects.toMatchObject({
      code: "disk-full",
      fix: expect.stringContaining("free some space and resume") as string,
    });
    const result = await world.get();
    expect(result.fetched_bytes).toBeLessThan(bytesOf(someFiles));
    expect(readFolder(result.path)).toEqual(asText(someFiles));
  });

  it("frees the memory of what is written, and of nothing else", async () => {
    const world = await makeWorld();
    const pieces: { buffer: ArrayBufferLike; whole: boolean }[] = [];
    const disk = {
      ...realDisk,
      open: async (path: string) => {
        const file = await realDisk.open(path);
        const write = async (some: readonly Buffer[], position: number) => {
          const mine = some.map(({ buffer, length }) => ({ buffer, whole: buffer.byteLength === length }));
          pieces.push(...mine);
          await file.write(some, position);
          expect(mine.every(({ buffer }) => buffer.byteLength > 0)).toBe(true);
        };
        return { ...file, write };
      },
    };
    const result = await world.get({ disk });
    expect(readFolder(result.path)).toEqual(asText(someFiles));
    expect(pieces.some(({ whole }) => whole)).toBe(true);
    for (const { buffer, whole } of pieces) expect(buffer.byteLength === 0).toBe(whole);
  });

  it("does not trust a note that does not fit its file", async () => {
    const world = await makeWorld({ bytesPerSecond: 150_000 });
    const stop = new AbortController();
    const onProgress = ({ fetched_bytes }: DownloadProgress) => fetched_bytes > 100_000 && stop.abort();
    await expect(world.get({ signal: stop.signal, connections: 2, onProgress })).rejects.toBeInstanceOf(CancelledError);
    const note = readdirSync(world.root, { recursive: true })
      .map(String)
      .find((name) => name.endsWith(".ranges"));
    writeFileSync(join(world.root, note ?? "?"), '{"version":1,"size":400000,"done":[[0,999999999]]}');
    expect(readFolder((await world.get()).path)).toEqual(asText(someFiles));
  });

  it("checks what has no hash by its size", async () => {
    const world = await makeWorld();
    const snapshot = await world.snapshot();
    const files = snapshot.files.map((file) => ({ ...file, sha256: null, etag: null }));
    const result = await world.get({ snapshot: { ...snapshot, files } });
    expect(result.files.every(({ checked }) => checked === "size")).toBe(true);
    expect(readFolder(result.path)).toEqual(asText(someFiles));
  });

  it("hashes large files beside the download", async () => {
    const files = { "model.safetensors": bytesContent("model.safetensors", noise("large", 20_000_000)) };
    const world = await makeWorld({
      repo: new TestRepository("model", "acme/large", files),
      faults: faultList(["corrupt"], { skip: 2 }),
    });
    const result = await world.get({ pieceBytes: 1024 ** 2 });
    expect(result.retries).toBe(1);
    expect(result.fetched_bytes).toBe(40_000_000);
  });
});
