/**
 * Downloads under faults: each kind of fault by itself, then all of them mixed. Every download must end with files that
 * are the hub's to the byte, with nothing visible before. `node test/hub-server/soak.ts [faults] [seed]` prints the table.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorMessage, HoneError } from "../../core/contract/errors.ts";
import { Random } from "../../core/contract/random.ts";
import { realDisk, type Disk } from "../../core/hub/download/data-file.ts";
import type { DownloadOptions, DownloadResult } from "../../core/hub/download/download-options.ts";
import { downloadSnapshot } from "../../core/hub/download/download-snapshot.ts";
import { openSource } from "../../core/hub/sources/open-hub.ts";
import { cacheTarget } from "../../core/hub/storage/snapshot-target.ts";
import { faultList, faultNames, faultsFor, randomFaults, type FaultName } from "./faults.ts";
import { startHubServer, type HubServer } from "./hub-server.ts";
import { TestRepository, type Files } from "./repository.ts";
import { noise } from "./samples.ts";

/** Patience for a hub on the same machine: waits in hundredths of a second. */
export const testPatience = { idle: 0.3, slow: 0.4, firstWait: 0.01, longestWait: 0.05, total: 20, attempts: 12 };

/** What the client's own side can meet. */
const clientFaults = ["disk-full", "read-only-folder", "paused", "network-gone"] as const;
type ClientFault = (typeof clientFaults)[number];

export interface SoakRow {
  fault: FaultName | ClientFault;
  /** How often it happened. */
  count: number;
  downloads: number;
  /** Downloads that ended with the hub's bytes, by themselves or when they were resumed. */
  identical: number;
  retries: number;
  /** Bytes fetched again, as a share of all that were needed. */
  fetchedAgain: number;
  outcome: string;
}

export interface SoakReport {
  rows: SoakRow[];
  mixed: { faults: number; downloads: number; identical: number; resumed: number; fetchedAgain: number };
  seconds: number;
  problems: string[];
}

const outcomes: Record<FaultName | ClientFault, string> = {
  reset: "asked again",
  "status-429": "waited as Retry-After says, asked again",
  "status-500": "waited, asked again",
  "status-502": "waited, asked again",
  "status-503": "waited as Retry-After says, asked again",
  "status-504": "waited, asked again",
  hang: "given up after the time-out, asked again",
  "expired-signature": "a new signed address was fetched",
  "redirect-loop": "stopped after ten redirects, asked again",
  "revision-moves": "stayed at the commit it began with",
  cut: "went on from the last byte",
  "range-ignored": "asked again, then took the file whole",
  "wrong-content-range": "refused, asked again",
  "wrong-total": "refused, asked again",
  "shorter-range": "the rest was asked for",
  "longer-range": "refused when longer than announced, asked again",
  "empty-body": "asked again",
  corrupt: "found by the checksum, fetched again",
  "status-416": "refused, asked again",
  trickle: "given up as too slow, went on from the last byte",
  "login-page": "refused, asked again",
  gzip: "refused, asked again",
  "disk-full": "stopped with disk-full, resumed",
  "read-only-folder": "stopped with not-writable, resumed",
  paused: "stopped, resumed",
  "network-gone": "waited for the network, went on",
};

/** A hub and a folder of its own, so that faults of one are not another's. */
interface World {
  folder: string;
  hub: HubServer;
  repo: TestRepository;
  random: Random;
  problems: string[];
  number: number;
}

/** Most of a download under faults is waiting: so many go on at a time. */
const lanes = 8;

/** `faults`: about how many of the mixed kind; `each`: times that each kind comes by itself. */
export async function runSoak(options: { faults: number; each: number; seed: number | string }): Promise<SoakReport> {
  const random = new Random(options.seed);
  const problems: string[] = [];
  const began = performance.now();
  const rows: SoakRow[] = [];
  const kinds = [...faultNames, ...clientFaults];
  await inLanes(kinds.length, async (index) => {
    rows[index] = await inWorld(random.split("row", index), problems, (world) =>
      soakOne(world, kinds[index], options.each),
    );
  });
  const parts: Mixed[] = [];
  await inLanes(lanes, async (index) => {
    parts[index] = await inWorld(random.split("mixed", index), problems, (world) =>
      soakMixed(world, Math.ceil(options.faults / lanes)),
    );
  });
  const sum = (value: (part: Mixed) => number) => parts.reduce((total, part) => total + value(part), 0);
  return {
    rows,
    mixed: {
      faults: sum(({ faults }) => faults),
      downloads: sum(({ downloads }) => downloads),
      identical: sum(({ identical }) => identical),
      resumed: sum(({ resumed }) => resumed),
      fetchedAgain: Math.max(0, sum(({ fetched }) => fetched) / sum(({ needed }) => needed) - 1),
    },
    seconds: (performance.now() - began) / 1000,
    problems,
  };
}

async function inLanes(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function inWorld<T>(random: Random, problems: string[], work: (world: World) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "hone-soak-"));
  const repo = new TestRepository("model", "acme/soak", soakFiles("soak"));
  const hub = await startHubServer({ repositories: [repo] });
  try {
    return await work({ folder, hub, repo, random, problems, number: 0 });
  } finally {
    await hub.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

export function soakFiles(seed: string): Files {
  return {
    "config.json": `{ "model_type": "llama", "seed": "${seed}" }\n`,
    "tokenizer.json": noise(`${seed}/tokenizer`, 40_000).toString("hex"),
    "model-00001-of-00002.safetensors": noise(`${seed}/1`, 260_000),
    "model-00002-of-00002.safetensors": noise(`${seed}/2`, 150_001),
    "deep/er/notes.txt": "a file in folders\n",
    "empty.txt": "",
  };
}

async function soakOne(world: World, fault: SoakRow["fault"], each: number): Promise<SoakRow> {
  const row: SoakRow = {
    fault,
    count: 0,
    downloads: 0,
    identical: 0,
    retries: 0,
    fetchedAgain: 0,
    outcome: outcomes[fault],
  };
  let needed = 0;
  let fetched = 0;
  for (let i = 0; i < each; i++) {
    const before = isServerFault(fault) ? (world.hub.faults[fault] ?? 0) : 0;
    const times = 1 + world.random.integer(2);
    const at = world.random.next();
    // Files on the CDN are asked for once or twice over the hub; their ranges and the small files more often.
    const skip = world.random.integer(addressFaults.includes(fault) ? 2 : 9);
    world.hub.setFaults(
      isServerFault(fault)
        ? faultList(
            Array.from({ length: times }, () => fault),
            { at, skip },
          )
        : undefined,
    );
    const { result, interruptions } = await download(world, isServerFault(fault) ? [] : [fault]);
    row.downloads += 1;
    row.count += isServerFault(fault) ? (world.hub.faults[fault] ?? 0) - before : interruptions;
    if (result === undefined) continue;
    row.identical += 1;
    row.retries += result.retries;
    needed += result.bytes;
    fetched += result.fetched_bytes;
  }
  row.fetchedAgain = needed === 0 ? 0 : Math.max(0, fetched / needed - 1);
  return row;
}

interface Mixed {
  faults: number;
  downloads: number;
  identical: number;
  resumed: number;
  needed: number;
  fetched: number;
}

async function soakMixed(world: World, wanted: number): Promise<Mixed> {
  const mixed: Mixed = { faults: 0, downloads: 0, identical: 0, resumed: 0, needed: 0, fetched: 0 };
  let own = 0;
  while (mixed.faults < wanted) {
    world.hub.setFaults(randomFaults({ seed: world.random.uint32(), rate: 0.35, limit: 12 }));
    const mine = clientFaults.filter(() => world.random.next() < 0.15);
    const { result, interruptions } = await download(world, mine);
    own += interruptions;
    mixed.faults = own + Object.values(world.hub.faults).reduce((sum, n) => sum + n, 0);
    mixed.downloads += 1;
    mixed.resumed += interruptions > 0 ? 1 : 0;
    if (result === undefined) continue;
    mixed.identical += 1;
    mixed.needed += result.bytes;
    mixed.fetched += result.fetched_bytes;
  }
  return mixed;
}

const addressFaults: readonly string[] = faultsFor("address").filter((name) => !faultsFor("bytes").includes(name));

function isServerFault(fault: SoakRow["fault"]): fault is FaultName {
  return (faultNames as readonly string[]).includes(fault);
}

/** One snapshot into a cache of its own, resumed until it is whole. Undefined when something is wrong with it. */
async function download(
  world: World,
  mine: readonly ClientFault[],
): Promise<{ result: DownloadResult | undefined; interruptions: number }> {
  const { hub, random, repo } = world;
  const number = world.number++;
  const root = join(world.folder, `cache-${number}`);
  mkdirSync(root);
  const commit = repo.resolve("main") ?? "";
  const contents = await readAll(repo, commit);
  const [huggingface, modelscope] = (["huggingface", "modelscope"] as const).map((name) =>
    openSource(name, { endpoint: hub[name], token: "" }),
  );
  const ref = (source: "huggingface" | "modelscope") => ({ source, kind: repo.kind, id: repo.id, revision: commit });
  const plan = { pending: [...mine] };
  let interruptions = 0;
  let fetchedBefore = 0;
  let path = "";
  for (let attempt = 0; attempt < 8; attempt++) {
    const fault = plan.pending.shift();
    const abort = new AbortController();
    const options: DownloadOptions = {
      patience: testPatience,
      connections: 3,
      pieceBytes: 60_000,
      noteSeconds: 0,
      signal: abort.signal,
      ...(fault !== undefined && { disk: faultyDisk(fault, random, () => interruptions++, abort, hub) }),
    };
    try {
      const snapshot = await huggingface.snapshot(ref("huggingface"));
      const other = random.next() < 0.5 ? undefined : await modelscope.snapshot(ref("modelscope"));
      const target = cacheTarget(snapshot, snapshot.files, { root });
      path = target.path;
      const result = await downloadSnapshot(huggingface, snapshot, snapshot.files, target, {
        ...options,
        ...(other !== undefined && { alternative: () => Promise.resolve({ source: modelscope, snapshot: other }) }),
      });
      const problem = differences(path, contents);
      if (problem === undefined) {
        rmSync(root, { recursive: true, force: true });
        return { result: { ...result, fetched_bytes: result.fetched_bytes + fetchedBefore }, interruptions };
      }
      world.problems.push(`download ${number}: ${problem}`);
      return { result: undefined, interruptions };
    } catch (error) {
      fetchedBefore = notedBytes(root);
      // Only what was put in its way may stop it, and nothing of it may be seen.
      const isOwn =
        fault !== undefined && (!(error instanceof HoneError) || ["disk-full", "not-writable"].includes(error.code));
      const mayPass =
        error instanceof HoneError &&
        ["rate-limited", "server-error", "timed-out", "connection-lost"].includes(error.code);
      if (!isOwn && !mayPass) {
        world.problems.push(`download ${number} (${mine.join(", ")}): ${errorMessage(error)}`);
        return { result: undefined, interruptions };
      }
      if (path !== "" && existsSync(path))
        world.problems.push(`download ${number}: ${path} is visible after ${errorMessage(error)}`);
    }
  }
  world.problems.push(`download ${number} did not end`);
  return { result: undefined, interruptions };
}

/** Bytes that earlier attempts left, from their notes. */
function notedBytes(root: string): number {
  const files = readdirSync(root, { recursive: true, withFileTypes: true });
  let sum = 0;
  for (const entry of files) {
    const path = join(entry.parentPath, entry.name);
    if (entry.name.endsWith(".ranges")) {
      const note = JSON.parse(readFileSync(path, "utf8")) as { done: [number, number][] };
      sum += note.done.reduce((bytes, [from, to]) => bytes + to - from, 0);
    } else if (/blobs$/.test(entry.parentPath) && /^[0-9a-f]{40,64}$/.test(entry.name)) sum += statSync(path).size;
  }
  return sum;
}

/** A disk that fails once, or after whose write something else happens once. */
function faultyDisk(
  fault: ClientFault,
  random: Random,
  happened: () => void,
  abort: AbortController,
  hub: HubServer,
): Disk {
  let writes = 1 + random.integer(6);
  return {
    free: (folder) => realDisk.free(folder),
    open: async (path) => {
      const file = await realDisk.open(path);
      return {
        ...file,
        write: async (pieces, position) => {
          writes -= 1;
          if (writes !== 0) return file.write(pieces, position);
          happened();
          if (fault === "disk-full" || fault === "read-only-folder") {
            const code = fault === "disk-full" ? "ENOSPC" : "EROFS";
            throw Object.assign(new Error(`${code}: write`), { code, syscall: "write", path });
          }
          await file.write(pieces, position);
          if (fault === "paused") abort.abort();
          else {
            hub.offline();
            setTimeout(() => hub.online(), 60);
          }
        },
      };
    },
  };
}

async function readAll(repo: TestRepository, commit: string): Promise<Map<string, Buffer>> {
  const contents = new Map<string, Buffer>();
  for (const [path, content] of repo.files(commit)) {
    const pieces: Buffer[] = [];
    for await (const piece of content.read(0, content.size) as AsyncIterable<Buffer>) pieces.push(piece);
    contents.set(path, Buffer.concat(pieces));
  }
  return contents;
}

function differences(path: string, contents: ReadonlyMap<string, Buffer>): string | undefined {
  for (const [name, bytes] of contents) {
    const file = join(path, name);
    if (!existsSync(file)) return `${name} is missing`;
    const found = createHash("sha256").update(readFileSync(file)).digest("hex");
    if (found !== createHash("sha256").update(bytes).digest("hex")) return `${name} is not the hub's`;
  }
  const found = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  return found.length === contents.size ? undefined : `${found.length} files instead of ${contents.size}`;
}

export function soakTable({ rows, mixed, seconds, problems }: SoakReport): string {
  const lines = [
    "| fault | times | downloads | identical | retries | fetched again | what was done |",
    "|---|---|---|---|---|---|---|",
    ...rows.map((row) => {
      const again = `${(100 * row.fetchedAgain).toFixed(0)} %`;
      return `| ${[row.fault, row.count, row.downloads, row.identical, row.retries, again, row.outcome].join(" | ")} |`;
    }),
    "",
    `mixed: ${mixed.faults} faults in ${mixed.downloads} downloads (${mixed.resumed} of them stopped and resumed): ` +
      `${mixed.identical} identical, ${(100 * mixed.fetchedAgain).toFixed(0)} % fetched again`,
    `all of it: ${rows.reduce((sum, { count }) => sum + count, mixed.faults)} faults in ${seconds.toFixed(1)} s`,
    problems.length === 0 ? "nothing half-visible, nothing different" : `PROBLEMS:\n${problems.join("\n")}`,
  ];
  return lines.join("\n");
}

if (import.meta.main) {
  const [faults = "400", seed = "1"] = process.argv.slice(2);
  const report = await runSoak({ faults: Number(faults), each: 10, seed });
  process.stdout.write(soakTable(report) + "\n");
  if (report.problems.length > 0) process.exitCode = 1;
}
