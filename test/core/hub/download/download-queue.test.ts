import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Download } from "../../../../core/contract/hub.ts";
import { DownloadQueue, type QueueOptions } from "../../../../core/hub/download/download-queue.ts";
import { TestRepository } from "../../../hub-server/repository.ts";
import { gatedModel, ggufModel, noise, sampleDataset, sampleModel } from "../../../hub-server/samples.ts";
import { startHubServer, type HubServer } from "../../../hub-server/hub-server.ts";
import { testPatience } from "../../../hub-server/soak.ts";
import { temporaryFolder } from "./world.ts";

let hub: HubServer;
let home: string;
const queues: DownloadQueue[] = [];
const big = () =>
  new TestRepository("model", "acme/big", { "config.json": "{}", "model.safetensors": noise("big", 900_000) });

beforeEach(async () => {
  home = temporaryFolder();
  vi.stubEnv("HONE_HOME", join(home, "hone"));
  vi.stubEnv("HF_HUB_CACHE", join(home, "cache"));
  vi.stubEnv("HF_HOME", join(home, "hf"));
  vi.stubEnv("MODELSCOPE_CACHE", join(home, "ms"));
  vi.stubEnv("HF_TOKEN", "");
  hub = await startHubServer({
    repositories: [sampleModel(), gatedModel(), ggufModel(), sampleDataset(), big()],
    bytesPerSecond: 400_000,
  });
});

afterEach(async () => {
  for (const queue of queues.splice(0)) await queue.close();
  await hub.close();
  vi.unstubAllEnvs();
});

function open(options: QueueOptions = {}): DownloadQueue {
  const queue = new DownloadQueue({
    hubs: () => ({ huggingface: { endpoint: hub.huggingface }, modelscope: { endpoint: hub.modelscope } }),
    download: { patience: testPatience, pieceBytes: 100_000, noteSeconds: 0, connections: 2 },
    ...options,
  });
  queues.push(queue);
  return queue;
}

const model = (id: string) => ({ ref: { source: "huggingface", kind: "model", id, revision: "main" } }) as const;

async function until(queue: DownloadQueue, holds: (list: Download[]) => boolean): Promise<void> {
  if (holds(queue.list())) return;
  await new Promise<void>((resolve) => {
    const stop = queue.subscribe((list) => {
      if (!holds(list)) return;
      stop();
      resolve();
    });
  });
}

const incomplete = () =>
  existsSync(join(home, "cache"))
    ? readdirSync(join(home, "cache"), { recursive: true })
        .map(String)
        .filter((name) => /incomplete|\.ranges/.test(name))
    : [];

describe("DownloadQueue", () => {
  it("brings what is needed of several repositories, and tells how far it is", async () => {
    const queue = open({ parallel: 2 });
    const seen: Download[][] = [];
    queue.subscribe((list) => seen.push(list));
    queue.add(model("acme/big"));
    queue.add(model("acme/tiny"));
    queue.add({ ...model("acme/tiny-GGUF"), quant: "Q8_0" });
    queue.add({ ref: { source: "huggingface", kind: "dataset", id: "acme/rows", revision: "main" } });
    await queue.idle();
    const list = queue.list();
    expect(list.map(({ ref, state, error }) => [ref.id, state, error])).toEqual([
      ["acme/rows", "done", null],
      ["acme/tiny-GGUF", "done", null],
      ["acme/tiny", "done", null],
      ["acme/big", "done", null],
    ]);
    expect(list[1].quant).toBe("Q8_0");
    expect(readdirSync(list[1].path ?? "").sort()).toEqual(["README.md", "tiny-Q8_0.gguf"]);
    expect(readdirSync(list[0].path ?? "")).toContain("default");
    const running = seen.map((all) => all.filter(({ state }) => state === "downloading").length);
    expect(Math.max(...running)).toBe(2);
    const speeds = seen.flatMap((all) =>
      all.filter(({ ref }) => ref.id === "acme/big").map((one) => one.bytes_per_second),
    );
    expect(Math.max(...speeds)).toBeGreaterThan(100_000);
    expect(incomplete()).toEqual([]);
  });

  it("pauses, goes on, and is not asked twice for the same", async () => {
    const queue = open();
    const { id } = queue.add(model("acme/big"));
    await until(queue, ([one]) => one.bytes_done > 200_000);
    await queue.pause(id);
    expect(queue.list()[0]).toMatchObject({ state: "paused", bytes_per_second: 0 });
    const sent = hub.sent();
    await new Promise((go) => setTimeout(go, 150));
    expect(hub.sent()).toBe(sent);
    expect(queue.add(model("acme/big")).id).toBe(id);
    await queue.idle();
    expect(queue.list()).toHaveLength(1);
    expect(queue.list()[0]).toMatchObject({ state: "done", bytes_done: 900_002 });
    expect(hub.sent()).toBeLessThan(1_200_000);
  });

  it("goes on in another process where the first one stopped", async () => {
    const first = open();
    first.add(model("acme/big"));
    await until(first, ([one]) => one.bytes_done > 200_000);
    await first.close();
    const asked = hub.requests.length;
    const second = open();
    await second.idle();
    expect(second.list()[0]).toMatchObject({
      state: "done",
      commit: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
    });
    // What the files are was known already.
    expect(hub.requests.slice(asked).some(({ path }) => path.startsWith("/api/models/acme/big"))).toBe(false);
  });

  it("cancels and leaves nothing; resumed, it begins anew", async () => {
    const queue = open();
    const { id } = queue.add(model("acme/big"));
    await until(queue, ([one]) => one.bytes_done > 200_000);
    await queue.cancel(id);
    expect(queue.list()[0]).toMatchObject({ state: "cancelled", bytes_done: 0 });
    expect(incomplete()).toEqual([]);
    queue.resume(id);
    await queue.idle();
    expect(queue.list()[0].state).toBe("done");
    queue.remove(id);
    expect(queue.list()).toEqual([]);
  });

  it("keeps what failed in the list, with the reason and the way out", async () => {
    const queue = open();
    const { id } = queue.add(model("acme/locked"));
    queue.add(model("acme/nothing"));
    await queue.idle();
    const [missing, locked] = queue.list();
    expect(locked).toMatchObject({ state: "failed", error: { code: "gated" } });
    expect(locked.error?.fix).toContain("/acme/locked");
    expect(missing).toMatchObject({ state: "failed", error: { code: "no-such-repo" } });
    await queue.close();
    const later = open();
    expect(later.list().map(({ state }) => state)).toEqual(["failed", "failed"]);
    later.resume(id);
    await later.idle();
    expect(later.list()[1]).toMatchObject({ state: "failed", error: { code: "gated" } });
  });

  it("refuses to take an active one off the list, and one that it does not know", async () => {
    const queue = open();
    const { id } = queue.add(model("acme/big"));
    expect(() => queue.remove(id)).toThrow(/has not ended/);
    await expect(queue.pause("nobody")).rejects.toMatchObject({ code: "no-such-download" });
    await queue.cancel(id);
  });

  it("lists the files again when the commit was taken away while it waited", async () => {
    const repo = big();
    await hub.close();
    hub = await startHubServer({ repositories: [repo], bytesPerSecond: 400_000 });
    // The other hub would still have the old contents.
    const hubs = { huggingface: { endpoint: hub.huggingface }, modelscope: { endpoint: "http://127.0.0.1:9" } };
    const queue = open({ hubs: () => hubs });
    const { id } = queue.add(model("acme/big"));
    await until(queue, ([one]) => one.bytes_done > 200_000);
    await queue.pause(id);
    const old = repo.resolve("main") ?? "";
    const commit = repo.commit({ "config.json": '{ "new": true }', "model.safetensors": noise("big", 900_000) });
    repo.forget(old);
    queue.resume(id);
    await queue.idle();
    expect(queue.list()[0]).toMatchObject({ state: "done", commit });
    expect(readFileSync(join(queue.list()[0].path ?? "", "config.json"), "utf8")).toContain("new");
    // The weights are the same content: what was there of them was gone on with.
    expect(hub.sent()).toBeLessThan(1_300_000);
  });

  it("limits all downloads together", async () => {
    const queue = open({ bandwidthLimit: 300_000 });
    const began = performance.now();
    queue.add(model("acme/tiny"));
    await queue.idle();
    expect(performance.now() - began).toBeGreaterThan(700);
    queue.bandwidthLimit = null;
    expect(queue.bandwidthLimit).toBeNull();
  });

  it("puts a damaged list aside and begins a new one", async () => {
    const first = open();
    await first.close();
    const path = join(home, "hone", "downloads", "queue.json");
    writeFileSync(path, "{ not json");
    expect(open().list()).toEqual([]);
    expect(existsSync(`${path}.damaged`)).toBe(true);
  });

  it("tells when another process manages the downloads", () => {
    const folder = join(home, "busy");
    const queue = open({ folder });
    // A process that lives and is not this one.
    writeFileSync(
      join(folder, "run.lock"),
      readFileSync(join(folder, "run.lock"), "utf8")
        .replace(/"pid":\d+,.*"host"/, `"pid":${process.ppid},"host"`)
        .replace(/"began":"\d+"/, '"began":null'),
    );
    expect(() => open({ folder })).toThrow(/another Hone manages the downloads/);
    expect(queue.list()).toEqual([]);
  });
});
