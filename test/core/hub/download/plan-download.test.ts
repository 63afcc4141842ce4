/** One plan for `hone get` and for the queue: both are asked the same here, and must do the same. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DownloadQueue } from "../../../../core/hub/download/download-queue.ts";
import {
  describePlan,
  planDownload,
  readOrder,
  runDownload,
  type DownloadOrder,
  type GetRequest,
} from "../../../../core/hub/download/plan-download.ts";
import type { HubSettings } from "../../../../core/hub/find-snapshot.ts";
import { writeStorage } from "../../../../core/hub/storage/places.ts";
import { startHubServer, type HubServer } from "../../../hub-server/hub-server.ts";
import { ggufModel, sampleDataset, sampleModel } from "../../../hub-server/samples.ts";
import { testPatience } from "../../../hub-server/soak.ts";
import { temporaryFolder } from "./world.ts";

let hub: HubServer;
let home: string;
let hubs: HubSettings;

beforeEach(async () => {
  hub = await startHubServer({ repositories: [sampleModel(), ggufModel(), sampleDataset()] });
  hubs = { huggingface: { endpoint: hub.huggingface, token: "" }, modelscope: { endpoint: hub.modelscope, token: "" } };
  vi.stubEnv("HF_HUB_CACHE", "");
  vi.stubEnv("HUGGINGFACE_HUB_CACHE", "");
  useFreshHome();
});

afterEach(async () => {
  await hub.close();
  vi.unstubAllEnvs();
});

function useFreshHome(): void {
  home = temporaryFolder();
  vi.stubEnv("HONE_HOME", join(home, "hone"));
  vi.stubEnv("HF_HOME", join(home, "hf"));
  vi.stubEnv("MODELSCOPE_CACHE", join(home, "ms"));
}

interface Outcome {
  path: string | null;
  /** Code of the error, or null. */
  failed: string | null;
}

const patience = { ...testPatience, attempts: 2, total: 0.1 };

async function byGet(order: DownloadOrder): Promise<Outcome> {
  try {
    const { snapshot, choice } = await planDownload(order, { hubs });
    const { path } = await runDownload(order, snapshot, choice.files, { hubs, patience });
    return { path, failed: null };
  } catch (error) {
    return { path: null, failed: (error as { code: string }).code };
  }
}

async function byQueue(order: DownloadOrder): Promise<Outcome> {
  const queue = new DownloadQueue({ hubs: () => hubs, download: { patience } });
  try {
    queue.add(order);
    await queue.idle();
    const [{ path, error }] = queue.list();
    return { path, failed: error?.code ?? null };
  } finally {
    await queue.close();
  }
}

const ways = [
  ["hone get", byGet],
  ["the queue", byQueue],
] as const;

describe.each(ways)("%s", (_name, fetch) => {
  it.each<[string, GetRequest, string[]]>([
    ["what is needed", { reference: "acme/tiny-GGUF:q4_k_m" }, ["README.md", "tiny-Q4_K_M.gguf"]],
    ["a file by its name", { reference: "acme/tiny", files: ["config.json"] }, ["config.json"]],
    ["a quantisation by its file", { reference: "acme/tiny-GGUF/tiny-Q8_0.gguf" }, ["README.md", "tiny-Q8_0.gguf"]],
    ["a dataset's split", { reference: "acme/rows", kind: "dataset", split: "test" }, ["default"]],
  ])("fetches %s", async (_what, request, names) => {
    const { path, failed } = await fetch(readOrder(request));
    expect(failed).toBeNull();
    expect(readdirSync(path ?? "").sort()).toEqual(names);
  });

  it("takes a whole snapshot of another cache, and fetches nothing", async () => {
    const first = await byGet(readOrder({ reference: "acme/tiny" }));
    writeStorage({ version: 1, models_folder: join(home, "elsewhere"), move: null });
    const sent = hub.sent();
    expect(await fetch(readOrder({ reference: "acme/tiny" }))).toEqual(first);
    expect(hub.sent()).toBe(sent);
    // What that cache has in part only comes into the own folder.
    const more = await fetch(readOrder({ reference: "acme/tiny", files: ["config.json", "original/params.json"] }));
    expect(more.path).toContain(join(home, "elsewhere"));
  });

  it("goes on from the other hub, but not when one was named", async () => {
    hub.setFaults((kind, path) =>
      kind === "address" && !path.startsWith("/api/v1") ? { name: "status-503", at: 0 } : undefined,
    );
    const only = await fetch(readOrder({ reference: "acme/tiny", source: "huggingface" }));
    expect(only).toEqual({ path: null, failed: "server-error" });
    expect(hub.requests.some(({ origin }) => origin === "modelscope")).toBe(false);
    expect((await fetch(readOrder({ reference: "acme/tiny" }))).failed).toBeNull();
    expect(hub.requests.some(({ origin }) => origin === "modelscope")).toBe(true);
  });

  it("refuses a file that is not there and one that runs code", async () => {
    expect((await fetch(readOrder({ reference: "acme/tiny", files: ["config.jsn"] }))).failed).toBe("no-such-file");
    expect((await fetch(readOrder({ reference: "acme/tiny", files: ["a.bin"] }))).failed).toBe("only-pickle");
  });
});

describe("readOrder", () => {
  it("knows a hub's own names, links and files", () => {
    expect(readOrder({ reference: "ms:acme/tiny" })).toMatchObject({
      ref: { source: "modelscope", revision: "master" },
      this_hub_only: false,
    });
    expect(readOrder({ reference: "https://huggingface.co/acme/tiny/blob/main/config.json" })).toMatchObject({
      ref: { id: "acme/tiny", kind: "model" },
      files: ["config.json"],
    });
    expect(readOrder({ reference: "https://huggingface.co/acme/tiny/blob/main/README.md" }).files).toEqual([]);
    expect(readOrder({ reference: "acme/tiny", source: "modelscope" })).toMatchObject({ this_hub_only: true });
    expect(() => readOrder({ reference: "hf:acme/tiny", source: "modelscope" })).toThrow(/another hub than --source/);
  });
});

it("the plan says what is here and what would come", async () => {
  const order = readOrder({ reference: "acme/tiny" });
  const before = describePlan(await planDownload(order, { hubs }));
  expect(before).toMatchObject({ bytes_to_fetch: before.bytes, verdict: "fits", format: "safetensors" });
  const { path } = await byQueue(order);
  const after = describePlan(await planDownload(order, { hubs }));
  expect(after).toMatchObject({ bytes_to_fetch: 0, path });
  expect(after.files.every(({ here }) => here)).toBe(true);
});
