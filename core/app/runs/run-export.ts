/** Parts of a run for use elsewhere. */

import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { CheckedInput } from "../../contract/api/api.ts";
import { HoneError } from "../../contract/errors.ts";
import type { MetricsRow } from "../../contract/run.ts";
import { publishFolder, writeFileAtomic } from "../../files/atomic.ts";
import { folderBytes, requireFreeBytes } from "../../files/disk.ts";
import { requireWholePath, requireWritable } from "../../files/system-error.ts";
import { requireRun } from "../../store/library.ts";
import { checkpointFolder, listCheckpoints } from "../../train/run-folder/checkpoints.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";

/** Returns the path of what was written. Throws `exists` rather than write over anything. */
export async function exportRun(wanted: CheckedInput<"runs.export">): Promise<{ path: string }> {
  const run = RunFolder.open(requireRun(wanted.run));
  requireWholePath(wanted.folder);
  requireWritable(wanted.folder, "choose another folder");
  mkdirSync(wanted.folder, { recursive: true });
  switch (wanted.what) {
    case "metrics": {
      const path = newPath(wanted.folder, `${run.name}-metrics.csv`);
      writeFileAtomic(path, metricsCsv(run.readMetrics()));
      return { path };
    }
    case "bundle":
      return copyInto(run.path, newPath(wanted.folder, run.name));
    case "checkpoint": {
      const steps = await listCheckpoints(run.path);
      if (!steps.includes(wanted.step)) {
        throw new HoneError("no-such-checkpoint", `the run ${run.name} has no checkpoint ${wanted.step}`, {
          fix: `it has ${steps.join(", ") || "none yet"}`,
        });
      }
      return copyInto(checkpointFolder(run.path, wanted.step), newPath(wanted.folder, `${run.name}-${wanted.step}`));
    }
  }
}

function newPath(folder: string, name: string): string {
  const path = join(folder, name);
  if (!existsSync(path)) return path;
  throw new HoneError("exists", `${path} is there already`, { fix: "move it away, or choose another folder" });
}

async function copyInto(from: string, to: string): Promise<{ path: string }> {
  requireFreeBytes(to, folderBytes(from), "the copy");
  await publishFolder(
    to,
    async (temporary) => {
      cpSync(from, temporary, { recursive: true });
    },
    { replace: false },
  );
  return { path: to };
}

/** All metrics that any step has, in the order in which they first appear; a step without one has an empty cell. */
function metricsCsv(rows: readonly MetricsRow[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) => names.map((name) => row[name] ?? "").join(","));
  return [names.join(","), ...lines, ""].join("\n");
}
