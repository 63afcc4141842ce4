/** A hub, a cache and a download between them, for tests. */

import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import type { HubSourceName, RepoSnapshot } from "../../../../core/contract/hub.ts";
import type { DownloadOptions, DownloadResult } from "../../../../core/hub/download/download-options.ts";
import { downloadSnapshot } from "../../../../core/hub/download/download-snapshot.ts";
import { openSource } from "../../../../core/hub/sources/open-hub.ts";
import type { HubSource } from "../../../../core/hub/sources/source.ts";
import { cacheTarget } from "../../../../core/hub/storage/snapshot-target.ts";
import { startHubServer, type HubOptions, type HubServer } from "../../../hub-server/hub-server.ts";
import { TestRepository } from "../../../hub-server/repository.ts";
import { testPatience } from "../../../hub-server/soak.ts";
import { noise } from "../../../hub-server/samples.ts";

export interface World {
  hub: HubServer;
  repo: TestRepository;
  root: string;
  source(name?: HubSourceName, token?: string): HubSource;
  snapshot(name?: HubSourceName, token?: string): Promise<RepoSnapshot>;
  /** Downloads all files. `files` may be others than the snapshot's. */
  get(
    options?: DownloadOptions & { from?: HubSourceName; token?: string; snapshot?: RepoSnapshot },
  ): Promise<DownloadResult>;
}

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-download-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const someFiles = {
  "config.json": '{ "model_type": "llama" }\n',
  "model.safetensors": noise("weights", 400_000),
  "folder/notes.txt": "in a folder\n",
  "empty.txt": "",
};

export async function makeWorld(options: Partial<HubOptions> & { repo?: TestRepository } = {}): Promise<World> {
  const repo = options.repo ?? new TestRepository("model", "acme/tiny", someFiles);
  const hub = await startHubServer({ repositories: [repo], ...options });
  cleanups.push(() => hub.close());
  const root = join(temporaryFolder(), "cache");
  mkdirSync(root);
  const world: World = {
    hub,
    repo,
    root,
    source: (name = "huggingface", token = "") => openSource(name, { endpoint: hub[name], token }),
    snapshot: (name = "huggingface", token = "") => {
      const revision = name === "huggingface" ? "main" : "master";
      return world.source(name, token).snapshot({ source: name, kind: repo.kind, id: repo.id, revision });
    },
    get: async ({ from = "huggingface", token = "", snapshot, ...rest } = {}) => {
      const wanted = snapshot ?? (await world.snapshot(from, token));
      const target = cacheTarget(wanted, wanted.files, { root });
      return downloadSnapshot(world.source(from, token), wanted, wanted.files, target, {
        patience: testPatience,
        pieceBytes: 64 * 1024,
        noteSeconds: 0,
        ...rest,
      });
    },
  };
  return world;
}

/** All files below a folder with their contents; links are followed. */
export function readFolder(path: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(path, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const file = join(entry.parentPath, entry.name);
    found[file.slice(path.length + 1)] = readFileSync(file).toString("latin1");
  }
  return found;
}

export function asText(files: Record<string, string | Buffer>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, data]) => [name, Buffer.from(data).toString("latin1")]));
}
