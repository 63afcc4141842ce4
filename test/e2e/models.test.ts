/** Models from a hub to the chat, in a browser: found, weighed, downloaded, opened; and everything that goes wrong on the way. */

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { startHubServer, type HubServer } from "../hub-server/hub-server.ts";
import { TestRepository, bytesContent, type Files } from "../hub-server/repository.ts";
import { gatedModel, ggufModel, noise, sampleModel, starterModel } from "../hub-server/samples.ts";
import { startHone, type Hone } from "./hone.ts";

const starter = starterModel();
if (starter === undefined) throw new Error("the starter model is missing in assets/starter");
const patience = { timeout: 30_000 };

/** Slow enough to be interrupted: weights of noise, with a configuration that can be weighed. */
const large = noise("models.test", 12e6);
function slowModel(): TestRepository {
  const files: Files = {
    "config.json": JSON.stringify({ architectures: ["LlamaForCausalLM"], model_type: "llama" }),
    "tokenizer.json": "{}",
    "model.safetensors": large,
  };
  return new TestRepository("model", "acme/slow", files, { licence: "apache-2.0", modelType: "llama" });
}

/** Larger than any disk: a head that tells of it, and nothing of the rest. */
function hugeModel(): TestRepository {
  const bytes = 4e15;
  const tensor = { dtype: "F32", shape: [bytes / 4], data_offsets: [0, bytes] };
  const header = Buffer.from(JSON.stringify({ "model.embed_tokens.weight": tensor }));
  const file = Buffer.alloc(300_000);
  file.writeBigUInt64LE(BigInt(header.length));
  header.copy(file, 8);
  const content = { ...bytesContent("model.safetensors", file), size: 8 + header.length + bytes };
  const files: Files = { "config.json": "{}", "tokenizer.json": "{}", "model.safetensors": content };
  return new TestRepository("model", "acme/huge", files, { licence: "apache-2.0", modelType: "llama" });
}

let hub: HubServer;
let hone: Hone;
beforeAll(async () => {
  hub = await startHubServer({
    repositories: [sampleModel(), gatedModel(), ggufModel(), slowModel(), hugeModel(), starter],
    tokens: { hf_granted: ["acme/locked"], hf_other: [] },
    bytesPerSecond: 400e3,
  });
  const none = { HTTP_PROXY: "", HTTPS_PROXY: "", http_proxy: "", https_proxy: "", HF_TOKEN: "" };
  hone = await startHone({ ...none, HF_ENDPOINT: hub.huggingface, MODELSCOPE_ENDPOINT: hub.modelscope });
}, 30_000);
afterAll(async () => {
  await hone.close();
  await hub.close();
});

async function look(page: Page, repo: string): Promise<void> {
  await page.goto(`${page.url().split("#")[0]}#/models/search?repo=${encodeURIComponent(repo)}`);
  await page.getByRole("dialog").waitFor();
}

/** Files of the finished snapshot of a repository, by name. */
function snapshot(id: string): Map<string, Buffer> {
  const folder = join(hone.home, "hf", "hub", `models--${id.replace("/", "--")}`, "snapshots");
  const [commit = "none"] = readdirSync(folder);
  return new Map(readdirSync(join(folder, commit)).map((name) => [name, readFileSync(join(folder, commit, name))]));
}

test("search, look at the fit, download with one click, and talk with it", { timeout: 90_000 }, async () => {
  const page = await hone.open("/models/search");
  await page.getByRole("textbox", { name: "Search" }).fill("starter");
  await page.getByRole("search").getByRole("button", { name: "Search" }).click();
  await page.getByRole("button", { name: "hone/starter" }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByText("821,120 parameters").waitFor();
  expect(await drawer.getByRole("table").first().getByText("fits", { exact: true }).count()).toBe(3);
  await drawer.getByRole("button", { name: /^Download 1\.67 MB/ }).click();
  await page.waitForURL(/#\/chat\?model=hone%2Fstarter/, patience);
  expect(snapshot("hone/starter").get("model.safetensors")).toEqual(
    readFileSync(join(import.meta.dirname, "..", "..", "assets", "starter", "model.safetensors")),
  );
  await page.goto(`${page.url().split("#")[0]}#/models`);
  const row = page.getByRole("row", { name: /hone\/starter/ }).first();
  await row.getByText("yes").waitFor();
  await row.getByRole("button", { name: "Details of hone/starter" }).click();
  await page.getByRole("dialog").getByText("1,024 tokens of context").waitFor();
  await page
    .getByRole("dialog")
    .getByRole("row", { name: /Licence/ })
    .waitFor();
});

test(
  "a download is paused, survives a cut line and a killed Hone, and ends with the same bytes",
  { timeout: 120_000 },
  async () => {
    let page = await hone.open("/models/downloads");
    await look(page, "acme/slow");
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Download 12 MB/ })
      .click();
    const bar = (on: Page) => on.getByRole("progressbar", { name: "Progress of acme/slow" }).first();
    const done = async (on: Page) => Number(await bar(on).getAttribute("aria-valuenow"));
    await expect.poll(() => done(page), patience).toBeGreaterThan(5);
    await page.getByRole("button", { name: "Pause: acme/slow" }).first().click();
    await page.getByText("paused").first().waitFor();
    const halted = hub.sent();
    await page.waitForTimeout(600);
    expect(hub.sent()).toBe(halted);
    await page.getByRole("button", { name: "Go on: acme/slow" }).first().click();
    await expect.poll(() => hub.sent(), patience).toBeGreaterThan(halted + 1e6);
    hub.offline();
    await page.waitForTimeout(500);
    hub.online();
    const before = hub.sent();
    await expect.poll(() => hub.sent(), patience).toBeGreaterThan(before + 500e3);
    await page.waitForTimeout(2200);
    await hone.kill();
    await hone.restart();
    page = await hone.open("/models/downloads");
    expect(await done(page)).toBeGreaterThan(5);
    await page
      .getByRole("region", { name: "Ended" })
      .getByRole("article", { name: "acme/slow" })
      .waitFor({ timeout: 60_000 });
    expect(snapshot("acme/slow").get("model.safetensors")?.equals(large)).toBe(true);
    // What was here before the kill did not come a second time: at most what the last notes did not name yet.
    expect(hub.sent()).toBeLessThan(2 * large.length);
  },
);

test("a gated model says what to do, and a good token opens it", { timeout: 60_000 }, async () => {
  const page = await hone.open("/models/search");
  await look(page, "acme/locked");
  const drawer = page.getByRole("dialog");
  await drawer.getByText("This model is given out only to those who accept its licence").waitFor();
  expect(await drawer.getByRole("button", { name: /^Download/ }).isDisabled()).toBe(true);
  const give = async (token: string) => {
    await drawer.getByRole("textbox", { name: "Access token of Hugging Face" }).fill(token);
    await drawer.getByRole("button", { name: "Keep and try again" }).click();
  };
  await give("hf_mistyped");
  await drawer.getByText("The hub does not accept the token").waitFor();
  await give("hf_other");
  await drawer.getByText("Your token's account has not been let in yet").waitFor();
  await give("hf_granted");
  await drawer.getByText("you have been let in").waitFor();
  await drawer.getByRole("button", { name: /^Download/ }).click();
  await drawer
    .getByText("It is on this machine, whole and checked.")
    .or(page.getByText("acme/locked is here"))
    .first()
    .waitFor(patience);
  expect(hub.leaks).toEqual([]);
});

test("what the disk cannot hold is refused before anything is fetched", { timeout: 30_000 }, async () => {
  const page = await hone.open("/models/search");
  await look(page, "acme/huge");
  const drawer = page.getByRole("dialog");
  await drawer.getByText(/the disk has no room for it/).waitFor();
  expect(await drawer.getByRole("button", { name: /^Download/ }).isDisabled()).toBe(true);
});

test("a quantisation is recommended, and another may be chosen", { timeout: 40_000 }, async () => {
  const page = await hone.open("/models/search");
  await look(page, "acme/tiny-GGUF");
  const drawer = page.getByRole("dialog");
  await expect
    .poll(() => drawer.getByRole("radio", { name: /^Q8_0 60 kB recommended/ }).isChecked(), patience)
    .toBe(true);
  await drawer.getByRole("radio", { name: /^Q4_K_M/ }).check();
  await drawer.getByRole("button", { name: "Download 40 kB" }).waitFor(patience);
});

test("without a network the search says so, and the rest works", { timeout: 40_000 }, async () => {
  const page = await hone.open("/models/search");
  hub.offline();
  try {
    await page.getByRole("textbox", { name: "Search" }).fill("tiny");
    await page.getByRole("search").getByRole("button", { name: "Search" }).click();
    await page.getByRole("alert").first().waitFor(patience);
  } finally {
    hub.online();
  }
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "acme/tiny", exact: true }).waitFor(patience);
  await page.goto(`${page.url().split("#")[0]}#/models/catalogue`);
  await page.getByRole("article", { name: "Qwen3 0.6B" }).getByText("LoRA: ").waitFor();
});

test("a model is deleted after it was said what goes", { timeout: 30_000 }, async () => {
  const page = await hone.open("/models");
  await page.getByRole("button", { name: "Details of hone/starter" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete hone/starter" });
  await dialog.getByText(/^Frees 1\.\d+ MB/).waitFor();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.waitFor({ state: "hidden" });
  await expect.poll(() => page.getByRole("button", { name: "Details of hone/starter" }).count(), patience).toBe(0);
});
