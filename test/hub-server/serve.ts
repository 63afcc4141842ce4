/**
 * Starts the test hub by hand: `node test/hub-server/serve.ts [--folder <model folder>=owner/name …] [--faults <rate>]
 * [--seed <n>] [--rate <bytes per second>]`. Prints the addresses to set and waits.
 */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { randomFaults } from "./faults.ts";
import { startHubServer } from "./hub-server.ts";
import { TestRepository, fileContent, type Files } from "./repository.ts";
import { gatedModel, ggufModel, sampleDataset, sampleModel, starterModel } from "./samples.ts";

const { values } = parseArgs({
  options: {
    folder: { type: "string", multiple: true, default: [] },
    faults: { type: "string" },
    seed: { type: "string", default: "1" },
    rate: { type: "string" },
  },
});

const repositories = [sampleModel(), gatedModel(), ggufModel(), sampleDataset()];
const starter = starterModel();
if (starter !== undefined) repositories.push(starter);
for (const entry of values.folder) {
  const [folder, id] = entry.split("=");
  if (id === undefined) throw new Error(`--folder takes <folder>=<owner/name>, not ${entry}`);
  repositories.push(await folderRepository(folder, id));
}

const hub = await startHubServer({
  repositories,
  tokens: { hf_granted: ["acme/locked"], hf_other: [] },
  ...(values.faults !== undefined && {
    faults: randomFaults({ seed: values.seed, rate: Number(values.faults), limit: Number.POSITIVE_INFINITY }),
  }),
  ...(values.rate !== undefined && { bytesPerSecond: Number(values.rate) }),
});
process.stdout.write(`HF_ENDPOINT=${hub.huggingface}\nMODELSCOPE_ENDPOINT=${hub.modelscope}\n`);
process.stdout.write(`repositories: ${repositories.map(({ kind, id }) => `${kind} ${id}`).join(", ")}\n`);
process.stdout.write("tokens: hf_granted opens acme/locked, hf_other opens nothing; Ctrl-C ends\n");

async function folderRepository(folder: string, id: string): Promise<TestRepository> {
  const files: Files = {};
  for (const name of readdirSync(folder)) {
    if (statSync(join(folder, name)).isFile()) files[name] = await fileContent(join(folder, name));
  }
  return new TestRepository("model", id, files);
}
