/** What the Models page asks about this machine. */

import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { CallContext, JobOrder } from "../../../../core/app/service/handlers.ts";
import { modelHandlers } from "../../../../core/app/handlers/model-handlers.ts";
import type { WorkContext } from "../../../../core/app/service/work.ts";
import { moveModelsWork } from "../../../../core/app/works/move-models-work.ts";
import { modelsFolder } from "../../../../core/hub/storage/places.ts";
import { download, madeFile, madeRef, newFolder } from "../../hub/storage/made-repo.ts";

const before = { ...process.env };
let home: string;

beforeEach(() => {
  home = newFolder();
  for (const name of ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"]) delete process.env[name];
  Object.assign(process.env, {
    HOME: home,
    HF_HOME: join(home, "hf"),
    MODELSCOPE_CACHE: join(home, "ms"),
    OLLAMA_MODELS: join(home, "ollama"),
    HONE_HOME: join(home, "hone"),
  });
  download(modelsFolder(), [madeFile("config.json", "{}"), madeFile("model.safetensors", "weights")]);
  download(modelsFolder(), [madeFile("train.jsonl", "{}")], { ref: madeRef("acme/rows", { kind: "dataset" }) });
});
afterAll(() => {
  process.env = before;
});

const told: unknown[] = [];
const orders: JobOrder[] = [];
const unused = () => Promise.reject(new Error("not asked for here"));
const context: CallContext & WorkContext = {
  signal: new AbortController().signal,
  call: unused,
  secret: unused,
  tell: (topic, news) => void told.push([topic, news]),
  startJob: (order) => {
    orders.push(order);
    return Promise.resolve("job-1");
  },
  report: (report) => void told.push(report),
};

test("lists, says what would be deleted, deletes it, and tells the lists", async () => {
  const listing = await modelHandlers["models.list"]({}, context);
  expect(listing.models.map(({ reference }) => reference).filter((name) => name !== "starter")).toEqual([
    "datasets/acme/rows",
    "acme/tiny",
  ]);
  const plan = await modelHandlers["models.plan_removal"]({ reference: "acme/tiny", kind: "model" }, context);
  expect(plan).toMatchObject({ removed: false, paths: [join(modelsFolder(), "models--acme--tiny")] });
  expect(await modelHandlers["models.remove"]({ reference: "acme/tiny", kind: "model" }, context)).toEqual({
    ...plan,
    removed: true,
  });
  expect(told).toContainEqual(["library", "models"]);
  await modelHandlers["models.remove"]({ reference: "acme/rows", kind: "dataset" }, context);
  expect(told).toContainEqual(["library", "datasets"]);
  expect(await modelHandlers["models.leftovers"]({}, context)).toEqual([]);
  expect(await modelHandlers["models.clean_up"]({}, context)).toBe(0);
});

test("moves the models folder as a job", async () => {
  const to = join(home, "moved");
  const plan = await modelHandlers["models.plan_move"]({ to }, context);
  expect(plan).toMatchObject({ to, bytes_to_copy: 0 });
  expect(await modelHandlers["models.move"]({ to }, context)).toBe("job-1");
  expect(orders).toMatchObject([{ work: "move-models", input: { to } }]);
  expect(await moveModelsWork({ to }, context)).toMatchObject({ to, left: [] });
  expect(told).toContainEqual(expect.objectContaining({ phase: "copying" }));
  expect(modelsFolder()).toBe(to);
  expect(await modelHandlers["models.unfinished_move"]({}, context)).toBeNull();
  expect(await modelHandlers["models.give_up_move"]({}, context)).toBeNull();
});
