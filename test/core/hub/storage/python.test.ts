/**
 * What Hone writes, read by the Python libraries without a network. Needs a Python with `huggingface_hub`, named by
 * HONE_HUB_PYTHON or found as `python3`.
 */

import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cacheTarget } from "../../../../core/hub/storage/snapshot-target.ts";
import { commitOf, download, madeFile, madeRef, newFolder, plain, safetensors } from "./made-repo.ts";

const python = process.env["HONE_HUB_PYTHON"] ?? "python3";
const has = (module: string) => spawnSync(python, ["-c", `import ${module}`]).status === 0;
const [hasHub, hasModelScope] = [has("huggingface_hub"), has("modelscope_hub")];
if (!hasHub) writeSync(2, "skipped: the cache as huggingface_hub reads it (no Python with it; HONE_HUB_PYTHON)\n");
if (!hasModelScope)
  writeSync(2, "skipped: the cache as modelscope_hub reads it (no Python with it; HONE_HUB_PYTHON)\n");

/** What a script prints as JSON. The network is forbidden by the library's own switch. */
function runPython(root: string, script: string): unknown {
  const env = { ...process.env, HF_HUB_CACHE: root, HF_HUB_OFFLINE: "1", MODELSCOPE_CACHE: root };
  const { stdout, stderr, status } = spawnSync(python, ["-c", script], { encoding: "utf8", env });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout);
}

const [one, two] = [commitOf("one"), commitOf("two")];
const config = madeFile("config.json", '{"model_type": "llama"}');
const weights = madeFile("model.safetensors", safetensors(1000));
const rows = madeFile("data/train-00000-of-00001.parquet", "PAR1");

const scan = `
import json
from huggingface_hub import snapshot_download, scan_cache_dir, try_to_load_from_cache, hf_hub_download
info = scan_cache_dir()
print(json.dumps({
  "warnings": [str(w) for w in info.warnings],
  "size": info.size_on_disk,
  "incomplete": len(info.incomplete_files),
  "repos": sorted([r.repo_type, r.repo_id, r.size_on_disk, r.nb_files, sorted(r.refs), len(r.revisions)] for r in info.repos),
  "snapshot": snapshot_download("acme/tiny", local_files_only=True),
  "pinned": snapshot_download("acme/tiny", revision="${one}", local_files_only=True),
  "file": hf_hub_download("acme/tiny", "config.json", local_files_only=True),
  "cached": try_to_load_from_cache("acme/tiny", "model.safetensors"),
  "missing": try_to_load_from_cache("acme/tiny", "nothing.json"),
  "rows": open(hf_hub_download("acme/rows", "data/train-00000-of-00001.parquet", repo_type="dataset", revision="refs/convert/parquet", local_files_only=True)).read(),
}))`;

describe.skipIf(!hasHub).each([
  { symlinks: true, name: "with links" },
  { symlinks: false, name: "without links" },
])("huggingface_hub, $name", ({ symlinks }) => {
  test("reads two revisions, a dataset and a download that stopped", { timeout: 60_000 }, () => {
    const root = newFolder();
    const changed = madeFile("config.json", '{"model_type": "qwen3"}');
    download(root, [config, weights], { symlinks });
    download(root, [changed, weights], { symlinks, commit: two });
    download(root, [rows], {
      symlinks,
      ref: madeRef("acme/rows", { kind: "dataset", revision: "refs/convert/parquet" }),
    });
    const stopped = cacheTarget({ ref: madeRef("acme/half"), commit: one }, [plain(weights)], { root, symlinks });
    stopped.open();
    writeFileSync(stopped.incomplete(weights).data, "half");
    writeFileSync(stopped.incomplete(weights).state, "[[0, 4]]");
    stopped.close();

    const snapshots = join(root, "models--acme--tiny", "snapshots");
    const sizes = config.size + changed.size + weights.size;
    // Without links it counts names, and does not see that two of them are one file.
    const counted = symlinks ? sizes : sizes + weights.size;
    const repo = (...values: unknown[]) => values;
    expect(runPython(root, scan)).toEqual({
      warnings: [],
      size: counted + rows.size,
      incomplete: 1,
      repos: [
        repo("dataset", "acme/rows", rows.size, 1, ["refs/convert/parquet"], 1),
        repo("model", "acme/half", 0, 0, [], 0),
        repo("model", "acme/tiny", counted, symlinks ? 3 : 4, ["main"], 2),
      ],
      snapshot: join(snapshots, two),
      pinned: join(snapshots, one),
      file: join(snapshots, two, "config.json"),
      cached: join(snapshots, two, "model.safetensors"),
      missing: null,
      rows: "PAR1",
    });
  });
});

describe.skipIf(!hasHub)("huggingface_hub", () => {
  test("deletes a revision of Hone's, and Hone sees what is left", { timeout: 60_000 }, () => {
    const root = newFolder();
    download(root, [config, weights]);
    download(root, [config], { commit: two });
    const script = `
import json
from huggingface_hub import scan_cache_dir
plan = scan_cache_dir().delete_revisions("${one}")
freed = plan.expected_freed_size
plan.execute()
print(json.dumps(freed))`;
    expect(runPython(root, script)).toBe(weights.size);
    const target = cacheTarget({ ref: madeRef(), commit: two }, [plain(config)], { root });
    expect(target.here(config)).toBe(true);
    expect(target.here(weights)).toBe(false);
  });
});

describe.skipIf(!hasModelScope)("modelscope_hub", () => {
  test("finds a model and its files", { timeout: 60_000 }, () => {
    const root = newFolder();
    download(root, [config, weights], { ref: madeRef("acme/tiny", { source: "modelscope", revision: "master" }) });
    rmSync(join(root, ".lock"), { recursive: true, force: true });
    const script = `
import json
from pathlib import Path
from modelscope_hub._cache_manager import scan_cache
from modelscope_hub import HubApi
info = scan_cache(Path(${JSON.stringify(root)}))
path = HubApi().download_repo("acme/tiny", repo_type="model", local_files_only=True)
print(json.dumps({"repos": [[r.repo_id, r.repo_type, r.revision] for r in info.repos], "path": str(path)}))`;
    expect(runPython(root, script)).toEqual({
      repos: [["acme/tiny", "model", "master"]],
      path: join(root, "models", "acme--tiny", "snapshots", "master"),
    });
  });
});
