/**
 * Times our download of a repository from the test hub next to Python's `huggingface_hub` on the same hub:
 * `node test/hub-server/throughput.ts --python <python with huggingface_hub> [--bytes 500000000] [--rounds 3]`.
 * Each download is a process of its own with an empty cache; start-up is not counted. The two take turns.
 */

import { spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parseBytes } from "../../core/contract/units.ts";
import { downloadSnapshot } from "../../core/hub/download/download-snapshot.ts";
import { openSource } from "../../core/hub/sources/open-hub.ts";
import { cacheTarget } from "../../core/hub/storage/snapshot-target.ts";
import { noise } from "./samples.ts";

const id = "acme/speed";

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      python: { type: "string" },
      bytes: { type: "string", default: "500MB" },
      rounds: { type: "string", default: "3" },
      child: { type: "string" },
    },
  });
  if (values.child !== undefined) return downloadHere(values.child);
  if (values.python === undefined) throw new Error("--python names a Python that has huggingface_hub");
  const bytes = parseBytes(values.bytes) ?? 500e6;
  const folder = mkdtempSync(join(tmpdir(), "hone-speed-"));
  const server = spawn(
    process.execPath,
    [fileURLToPath(new URL("serve.ts", import.meta.url)), "--folder", `${makeModel(folder, bytes)}=${id}`],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  try {
    const endpoint = await new Promise<string>((resolve, reject) => {
      server.on("exit", () => reject(new Error("the hub did not start")));
      server.stdout.on("data", (piece: Buffer) => {
        const found = /HF_ENDPOINT=(\S+)/.exec(piece.toString());
        if (found !== null) resolve(found[1]);
      });
    });
    const times: Record<"hone" | "huggingface_hub", Timing[]> = { hone: [], huggingface_hub: [] };
    for (let round = 0; round < Number(values.rounds); round++) {
      const cache = () => {
        const path = join(folder, "cache");
        rmSync(path, { recursive: true, force: true });
        mkdirSync(path);
        return {
          ...process.env,
          HF_ENDPOINT: endpoint,
          HF_HUB_CACHE: path,
          HF_HOME: path,
          HF_HUB_DISABLE_TELEMETRY: "1",
          HF_HUB_DISABLE_PROGRESS_BARS: "1",
        };
      };
      times.hone.push(await timed(process.execPath, [fileURLToPath(import.meta.url), "--child", endpoint], cache()));
      times.huggingface_hub.push(await timed(values.python, ["-c", pythonProgram], cache()));
    }
    const median = (list: Timing[], part: keyof Timing) =>
      list.map((one) => one[part]).sort((x, y) => x - y)[Math.floor(list.length / 2)];
    for (const [name, list] of Object.entries(times)) {
      const all = list.map(({ seconds }) => seconds.toFixed(2)).join(", ");
      const speed = (bytes / 1e6 / median(list, "seconds")).toFixed(0);
      process.stdout.write(
        `${name.padEnd(16)} ${all} s; median ${speed} MB/s, ${median(list, "busy").toFixed(2)} s of processor\n`,
      );
    }
    const ratio = (part: keyof Timing) => (median(times.huggingface_hub, part) / median(times.hone, part)).toFixed(2);
    process.stdout.write(
      `ratios (above 1: Hone needs less): ${ratio("seconds")} by the clock, ${ratio("busy")} of the processor\n`,
    );
  } finally {
    server.removeAllListeners("exit").kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

const pythonProgram = `
import resource, time, warnings
warnings.filterwarnings("ignore")
from huggingface_hub import snapshot_download
cpu = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
began, busy = time.perf_counter(), cpu()
snapshot_download("${id}")
print("seconds", time.perf_counter() - began, "busy", cpu() - busy)
`;

async function downloadHere(endpoint: string): Promise<void> {
  const began = performance.now();
  const before = process.cpuUsage();
  const source = openSource("huggingface", { endpoint });
  const snapshot = await source.snapshot({ source: "huggingface", kind: "model", id, revision: "main" });
  await downloadSnapshot(source, snapshot, snapshot.files, cacheTarget(snapshot, snapshot.files));
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(`seconds ${(performance.now() - began) / 1000} busy ${(user + system) / 1e6}\n`);
}

interface Timing {
  seconds: number;
  /** Of the processor, all threads: tells more than the clock on a machine that others use. */
  busy: number;
}

async function timed(command: string, options: string[], environment: NodeJS.ProcessEnv): Promise<Timing> {
  const child = spawn(command, options, { env: environment, stdio: ["ignore", "pipe", "inherit"] });
  const output: string[] = [];
  child.stdout.on("data", (piece: Buffer) => output.push(piece.toString()));
  const code = await new Promise<number | null>((resolve) => child.on("exit", resolve));
  const found = /seconds ([\d.]+) busy ([\d.]+)/.exec(output.join(""));
  if (code !== 0 || found === null) throw new Error(`${command} failed: ${output.join("")}`);
  return { seconds: Number(found[1]), busy: Number(found[2]) };
}

/** Two weight files and what a model has beside them. */
function makeModel(folder: string, bytes: number): string {
  const path = join(folder, "model");
  mkdirSync(path);
  writeFileSync(join(path, "config.json"), '{ "model_type": "llama" }\n');
  writeFileSync(join(path, "tokenizer.json"), noise("tokenizer", 500_000).toString("hex"));
  const block = noise("block", 4_000_000);
  for (const [index, name] of ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"].entries()) {
    const file = openSync(join(path, name), "w");
    block.writeUInt32LE(index);
    for (let left = Math.floor(bytes / 2); left > 0; left -= block.length)
      writeSync(file, block, 0, Math.min(left, block.length));
    closeSync(file);
  }
  return path;
}

await main();
