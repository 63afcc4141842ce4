/** A run's own folder: made whole, written while training, put in order when a run is taken up again. */

import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { usedOptions, type RunConfig } from "../../contract/config.ts";
import { HoneError } from "../../contract/errors.ts";
import { parseConfigInput, recordKey, resolveConfig } from "../../contract/resolve-config.ts";
import {
  metricsRowSchema,
  runFiles,
  runRecordSchema,
  type MetricsRow,
  type RolloutLine,
  type RunEvent,
  type RunRecord,
  type Seam,
} from "../../contract/run.ts";
import { fsyncPath, publishFolder, removePartial, writeFileAtomic } from "../../files/atomic.ts";
import { appendJsonLine, readJsonLines, repairJsonLines, toJsonLines } from "../../files/jsonl.ts";
import { requireWritable } from "../../files/system-error.ts";
import { runWord } from "../../store/library.ts";

export class RunFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  file(name: keyof typeof runFiles): string {
    return join(this.path, runFiles[name]);
  }

  get name(): string {
    return basename(this.path);
  }

  /** Makes the folder with its `config.json`, in one rename: a run folder that exists can be resumed. */
  static async create(path: string, config: RunConfig, record: RunRecord): Promise<RunFolder> {
    const folder = new RunFolder(path);
    const fill = async (temporary: string) => {
      for (const name of ["checkpoints", "rollouts", "evaluations", "logs"] as const) {
        mkdirSync(join(temporary, runFiles[name]));
      }
      writeFileSync(join(temporary, runFiles.config), configText(config, record));
    };
    try {
      await publishFolder(folder.path, fill, { replace: false });
    } catch (error) {
      if (!(error instanceof HoneError) || error.code !== "folder-exists") throw error;
      throw folder.#exists(error);
    }
    return folder;
  }

  /** Refuses, before anything long begins, a path at which no run folder can be made: `run-exists`, `not-writable`. */
  static requireNew(path: string): void {
    const folder = new RunFolder(path);
    if (existsSync(folder.path) && (!statSync(folder.path).isDirectory() || readdirSync(folder.path).length > 0)) {
      throw folder.#exists();
    }
    requireWritable(folder.path, "choose another folder, or set HONE_HOME for all of Hone's own");
  }

  #exists(cause?: unknown): HoneError {
    const other = "choose another folder, with --output-dir (hone demo: --out)";
    const isRun = existsSync(this.file("config"));
    return new HoneError("run-exists", `${this.path} already exists and is not empty`, {
      cause,
      fix: isRun ? `go on with \`hone resume ${runWord(this.path)}\`, or ${other}` : other,
    });
  }

  /** Opens an existing run folder. Throws `not-a-run` where there is none. */
  static open(path: string): RunFolder {
    const folder = new RunFolder(path);
    if (existsSync(folder.file("config"))) return folder;
    throw new HoneError("not-a-run", `${folder.path} is no run folder: it has no ${runFiles.config}`, {
      fix: "`hone ls` lists the runs",
    });
  }

  /** The resolved options and the record of what made the run. */
  readConfig(): { config: RunConfig; record: RunRecord } {
    const path = this.file("config");
    let json: unknown;
    try {
      json = JSON.parse(readFileSync(path, "utf8"));
    } catch (error) {
      throw new HoneError("not-a-run", `${path} is not JSON`, { cause: error });
    }
    const record = runRecordSchema.safeParse((json as Record<string, unknown> | null)?.[recordKey]);
    if (!record.success) {
      const issue = record.error.issues[0];
      throw new HoneError("not-a-run", `${path}: ${[recordKey, ...issue.path].join(".")}: ${issue.message}`);
    }
    return { config: resolveConfig(parseConfigInput(json, path)), record: record.data };
  }

  writeConfig(config: RunConfig, record: RunRecord): void {
    writeFileAtomic(this.file("config"), configText(config, record));
  }

  appendMetrics(row: MetricsRow): void {
    appendJsonLine(this.file("metrics"), row);
  }

  /** Rows of all steps, ascending, each step once; seams are left out. */
  readMetrics(): MetricsRow[] {
    const rows = readJsonLines(this.file("metrics")).rows.map((row) => metricsRowSchema.safeParse(row));
    return rows.filter((row) => row.success).map((row) => row.data);
  }

  /** Forces the metrics to the disk, so that a checkpoint never knows steps that the metrics lack. */
  syncMetrics(): void {
    if (existsSync(this.file("metrics"))) fsyncPath(this.file("metrics"));
  }

  rolloutFile(step: number): string {
    return join(this.file("rollouts"), `step_${step}.jsonl`);
  }

  /** Steps whose rollouts were kept, ascending. */
  rolloutSteps(): number[] {
    return this.#stepsIn("rollouts", rolloutName);
  }

  writeRollouts(step: number, lines: readonly RolloutLine[]): void {
    writeFileAtomic(this.rolloutFile(step), toJsonLines(lines));
  }

  evaluationFile(step: number, name: string): string {
    return join(this.file("evaluations"), `${step}-${name}.json`);
  }

  /** Steps at which this part of the rows was measured and the answers kept, ascending. */
  evaluationSteps(part: string): number[] {
    return this.#stepsIn("evaluations", evaluationName, part);
  }

  #stepsIn(kind: "rollouts" | "evaluations", pattern: RegExp, part?: string): number[] {
    if (!existsSync(this.file(kind))) return [];
    return readdirSync(this.file(kind))
      .flatMap((file) => {
        const match = pattern.exec(file);
        return match !== null && match[2] === part ? [Number(match[1])] : [];
      })
      .sort((a, b) => a - b);
  }

  writeEvaluation(step: number, name: string, result: unknown): void {
    writeFileAtomic(this.evaluationFile(step, name), JSON.stringify(result) + "\n");
  }

  appendEvent(event: RunEvent): void {
    appendJsonLine(this.file("events"), event);
  }

  /**
   * Puts the folder in order after a stop or a kill, so that the run can go on after step `step`: left-overs go, rows
   * of later steps move to `logs/dropped-metrics.jsonl`, later rollouts and evaluations go (their steps are done
   * again), and `metrics.jsonl` gets a seam. With `pending` the metrics of `step` itself are still to come, too.
   */
  rewindTo(step: number, { pending }: { pending: boolean }): Seam {
    for (const name of ["checkpoints", "rollouts", "evaluations", "logs"] as const) {
      mkdirSync(this.file(name), { recursive: true });
      removePartial(this.file(name));
    }
    removePartial(this.path);
    for (const name of ["checkpointIndex", "events", "droppedMetrics"] as const) repairJsonLines(this.file(name));

    const { rows } = readJsonLines(this.file("metrics"));
    const isLater = (row: unknown) => {
      const parsed = metricsRowSchema.safeParse(row);
      return parsed.success && parsed.data.step > (pending ? step - 1 : step);
    };
    const dropped = rows.filter(isLater);
    for (const row of dropped) appendJsonLine(this.file("droppedMetrics"), row);
    const seam: Seam = {
      event: "resume",
      step,
      time: Date.now() / 1000,
      dropped_steps: dropped.map((row) => (row as MetricsRow).step),
    };
    writeFileAtomic(this.file("metrics"), toJsonLines([...rows.filter((row) => !isLater(row)), seam]));

    for (const [name, pattern] of [
      ["rollouts", rolloutName],
      ["evaluations", evaluationName],
    ] as const) {
      for (const entry of readdirSync(this.file(name))) {
        const match = pattern.exec(entry);
        if (match !== null && Number(match[1]) > step) rmSync(join(this.file(name), entry));
      }
    }
    return seam;
  }
}

const rolloutName = /^step_(\d+)\.jsonl$/;
const evaluationName = /^(\d+)-(.+)\.json$/;

function configText(config: RunConfig, record: RunRecord): string {
  return JSON.stringify({ ...usedOptions(config), [recordKey]: record }, null, 2) + "\n";
}
