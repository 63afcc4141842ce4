/** A download as it goes: bars that are redrawn on a terminal, a line now and then where there is none. */

import { hubSourceLabels, type FileProgress } from "../contract/hub.ts";
import { formatBytes, formatPercent, formatSeconds, plural } from "../contract/units.ts";
import type { DownloadProgress } from "../hub/download/download-options.ts";
import { paint, progressBar, say } from "./terminal.ts";
import { cutVisible } from "./train-progress.ts";

const barWidth = 28;
const fileBarWidth = 12;
const nameWidth = 32;
/** Bars of files at once; a repository may have hundreds. */
const mostFiles = 6;
/** A file's speed is that of the last seconds. */
const speedMs = 3000;
/** Between two plain lines. */
const plainMs = 5000;

export class GetProgress {
  readonly #live: boolean;
  #drawn = 0;
  #told = Number.NEGATIVE_INFINITY;
  #note: string | null = null;
  /** By path: what was there some seconds ago and since. */
  readonly #seen = new Map<string, { time: number; done: number }[]>();
  last: DownloadProgress | undefined;

  constructor(live = process.stderr.isTTY) {
    this.#live = live;
  }

  readonly show = (progress: DownloadProgress): void => {
    this.last = progress;
    if (progress.bytes_done === progress.bytes && progress.fetched_bytes === 0) return;
    if (this.#live) this.#draw(progressLines(progress, (file) => this.#speed(file)));
    else this.#sayPlain(progress);
  };

  /** The panel goes: what follows says how it ended. */
  end(): void {
    this.#erase();
  }

  #speed({ path, done }: FileProgress): number {
    const now = performance.now();
    const samples = [...(this.#seen.get(path) ?? []), { time: now, done }].filter(({ time }) => now - time < speedMs);
    this.#seen.set(path, samples);
    const [first] = samples;
    return now - first.time < 200 ? 0 : (1000 * Math.max(0, done - first.done)) / (now - first.time);
  }

  #sayPlain(progress: DownloadProgress): void {
    const isNew = progress.note !== null && progress.note !== this.#note;
    this.#note = progress.note;
    const now = performance.now();
    if (!isNew && now - this.#told < plainMs) return;
    this.#told = now;
    say(totalText(progress) + (progress.note === null ? "" : `; ${progress.note}`));
  }

  #erase(): void {
    if (this.#drawn > 0) process.stderr.write(`\u001b[${this.#drawn}A\u001b[J`);
    this.#drawn = 0;
  }

  #draw(lines: readonly string[]): void {
    this.#erase();
    const width = process.stderr.columns || 80;
    process.stderr.write(lines.map((line) => `${cutVisible(line, width - 1)}\n`).join(""));
    this.#drawn = lines.length;
  }
}

function totalText({ bytes, bytes_done, bytes_per_second, seconds_left }: DownloadProgress): string {
  const share = bytes === 0 ? 1 : bytes_done / bytes;
  const left = seconds_left === null || seconds_left === 0 ? "" : `, ${formatSeconds(seconds_left)} left`;
  const speed = bytes_per_second > 0 ? `, ${formatBytes(bytes_per_second)}/s` : "";
  return `${formatPercent(Math.floor(100 * share) / 100)}  ${formatBytes(bytes_done)} of ${formatBytes(bytes)}${speed}${left}`;
}

/** Files that move, then the whole, then what it waits for. `speedOf`: bytes per second of one file. */
export function progressLines(progress: DownloadProgress, speedOf: (file: FileProgress) => number): string[] {
  const moving = progress.files.filter(({ state }) => state === "downloading" || state === "checking");
  const waiting = progress.files.filter(({ state }) => state === "waiting").length;
  const done = progress.files.filter(({ state }) => state === "done").length;
  const counts = [
    `${plural(done, "file")} done`,
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(moving.length > mostFiles ? [`${moving.length - mostFiles} more under way`] : []),
    `from ${hubSourceLabels[progress.source]}`,
  ];
  return [
    ...moving.slice(0, mostFiles).map((file) => fileLine(file, speedOf(file))),
    `${progressBar(progress.bytes === 0 ? 1 : progress.bytes_done / progress.bytes, barWidth)}  ${totalText(progress)}`,
    paint("dim", counts.join(" · "), process.stderr),
    ...(progress.note === null ? [] : [paint("yellow", progress.note, process.stderr)]),
  ];
}

function fileLine({ path, size, done, state }: FileProgress, speed: number): string {
  const name = path.length > nameWidth ? `…${path.slice(1 - nameWidth)}` : path.padEnd(nameWidth);
  const rate = speed > 0 ? `  ${formatBytes(speed)}/s  ${formatSeconds(Math.round((size - done) / speed))}` : "";
  const what = state === "checking" ? "checking" : `${formatBytes(done)} of ${formatBytes(size)}${rate}`;
  return `${name}  ${progressBar(size === 0 ? 1 : done / size, fileBarWidth)}  ${what}`;
}
