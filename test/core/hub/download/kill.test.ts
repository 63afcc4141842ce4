import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { Random } from "../../../../core/contract/random.ts";
import { downloadSchema } from "../../../../core/contract/hub.ts";
import { TestRepository } from "../../../hub-server/repository.ts";
import { noise } from "../../../hub-server/samples.ts";
import { asText, makeWorld, readFolder, temporaryFolder } from "./world.ts";

const child = fileURLToPath(new URL("./queue-child.ts", import.meta.url));

it("goes on after kill -9, as often as it comes, and fetches little twice", async () => {
  const size = 6_000_000;
  const files = { "config.json": '{ "model_type": "llama" }', "model.safetensors": noise("killed", size) };
  const world = await makeWorld({ repo: new TestRepository("model", "acme/killed", files), bytesPerSecond: 2_000_000 });
  const home = temporaryFolder();
  const cache = join(home, "cache");
  const environment = {
    ...process.env,
    HONE_HOME: join(home, "hone"),
    HF_HOME: join(home, "hf"),
    HF_HUB_CACHE: cache,
    MODELSCOPE_CACHE: join(home, "ms"),
    HF_ENDPOINT: world.hub.huggingface,
    MODELSCOPE_ENDPOINT: world.hub.modelscope,
    HF_TOKEN: "",
  };
  const ref = JSON.stringify({ source: "huggingface", kind: "model", id: "acme/killed", revision: "main" });
  const start = () => spawn(process.execPath, [child, ref], { env: environment, stdio: ["ignore", "pipe", "inherit"] });
  const random = new Random("kill");
  const snapshots = join(cache, "models--acme--killed", "snapshots");
  let kills = 0;
  for (; kills < 3; kills++) {
    const running = start();
    const before = world.hub.sent();
    // Somewhere in the next one and a half megabytes.
    const enough = before + 500_000 + random.integer(1_000_000);
    while (world.hub.sent() < enough && running.exitCode === null) await new Promise((go) => setTimeout(go, 5));
    running.kill("SIGKILL");
    await ended(running);
    expect(existsSync(snapshots) ? readdirSync(snapshots) : []).toEqual([]);
  }
  const last = start();
  const output: string[] = [];
  last.stdout.on("data", (piece: Buffer) => output.push(piece.toString()));
  await ended(last);
  const download = downloadSchema.parse(JSON.parse(output.join("").trim().split("\n").at(-1) ?? ""));
  expect(download).toMatchObject({ state: "done", error: null });
  expect(readFolder(download.path ?? "")).toEqual(asText(files));
  // What was in flight when the process was killed is lost: a note is written every twentieth of a second.
  const again = world.hub.sent() - size;
  process.stderr.write(`killed ${kills} times: ${again} of ${size} bytes were sent twice\n`);
  expect(again).toBeLessThan(kills * 1_200_000);
  expect(world.hub.requests.filter(({ path }) => path.includes("/tree/"))).toHaveLength(1);
}, 60_000);

async function ended(running: ChildProcess): Promise<void> {
  if (running.exitCode !== null || running.signalCode !== null) return;
  await new Promise((resolve) => running.once("exit", resolve));
}
