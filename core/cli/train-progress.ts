/** A training run as it goes, for a terminal: a small panel that is redrawn, or plain lines where there is none. */

import type { Method } from "../contract/config.ts";
import { headlineMetrics } from "../contract/metric-labels.ts";
import type { MetricsRow } from "../contract/run.ts";
import { formatCount, formatSeconds } from "../contract/units.ts";
import type { Alarm } from "../train/alarms/alarms.ts";
import type { BestMetric, TrainEvent } from "../train/events.ts";
import { paint, progressBar, say, sparkline } from "./terminal.ts";

const lineWidth = 24;
const barWidth = 28;
const labelWidth = 22;

export class TrainProgress {
  readonly #live: boolean;
  readonly #rows: MetricsRow[] = [];
  #evaluation = "";
  #method: Method = "gspo";
  #compared: BestMetric | undefined;
  /** Of this process, the model before training included. */
  #record: number | undefined;
  #phase = "";
  #secondsLeft: number | undefined;
  #total = 0;
  #drawn = 0;

  constructor(live = process.stderr.isTTY) {
    this.#live = live;
  }

  readonly listen = (event: TrainEvent): void => {
    switch (event.type) {
      case "phase":
        this.#phase = event.phase;
        this.#draw();
        break;
      case "step":
        this.#rows.push(event.row);
        this.#total = event.totalSteps;
        this.#secondsLeft = event.secondsLeft;
        if (this.#live) this.#draw();
        else if (this.#isDue(event.row.step)) say(this.#plainLine(event.row));
        break;
      case "evaluation": {
        const measured = headlineMetrics(this.#method).filter(({ name }) => event.metrics[name] !== undefined);
        const parts = measured
          .filter(({ name }) => name.startsWith("eval_"))
          .map(({ name, label, format }) => `${label} ${format(event.metrics[name])}`);
        if (parts.length === 0) break;
        this.#evaluation = `${parts.join(", ")} at step ${event.step}${this.#isRecord(event) ? ", the best so far" : ""}`;
        if (!this.#live) say(this.#evaluation);
        break;
      }
      case "begin":
        this.#method = event.method;
        this.#compared = event.best;
        break;
      case "checkpoint":
        if (!this.#live) say(`checkpoint ${event.path}`);
        break;
      case "alarm":
        this.#say(alarmLine(event.alarm, process.stderr));
        this.#say(`  → ${event.alarm.action}`);
        break;
      case "note":
        this.#say(event.message);
        break;
    }
  };

  /** Leaves the last panel standing, so that what follows begins below it. */
  end(): void {
    this.#phase = "";
    this.#draw();
    this.#drawn = 0;
  }

  #isRecord({ best, metrics }: Extract<TrainEvent, { type: "evaluation" }>): boolean {
    if (this.#compared === undefined) return false;
    const { metric, better } = this.#compared;
    if (!(metric in metrics)) return false;
    const value = (better === "higher" ? 1 : -1) * metrics[metric];
    const isRecord = this.#record !== undefined && value > this.#record;
    this.#record = Math.max(this.#record ?? value, value);
    return best && isRecord;
  }

  /** About forty lines for a whole run. */
  #isDue(step: number): boolean {
    const every = Math.max(1, Math.round(this.#total / 40));
    return step === 1 || step % every === 0 || step === this.#total;
  }

  #plainLine(row: MetricsRow): string {
    const parts = [
      `step ${row.step}/${this.#total}`,
      ...quantities(this.#method, row).map(({ label, value }) => `${label} ${value}`),
      `${formatCount(row["tokens_per_second"])} tok/s`,
      ...(this.#secondsLeft === undefined ? [] : [`${formatSeconds(this.#secondsLeft)} left`]),
    ];
    return parts.join("  ");
  }

  /** A remark that stays, above the panel. */
  #say(text: string): void {
    this.#erase();
    say(text);
    this.#draw();
  }

  #erase(): void {
    if (this.#drawn === 0) return;
    process.stderr.write(`\u001b[${this.#drawn}A\u001b[J`);
    this.#drawn = 0;
  }

  #draw(): void {
    if (!this.#live) return;
    const lines = this.#panel();
    this.#erase();
    if (lines.length === 0) return;
    const width = process.stderr.columns || 80;
    process.stderr.write(lines.map((line) => cutVisible(line, width - 1) + "\n").join(""));
    this.#drawn = lines.length;
  }

  #panel(): string[] {
    const last = this.#rows[this.#rows.length - 1];
    if (last === undefined) return this.#phase === "" ? [] : [paint("dim", `${this.#phase} …`, process.stderr)];
    const share = last.step / this.#total;
    const left = this.#secondsLeft === undefined ? "" : `${formatSeconds(this.#secondsLeft)} left`;
    const bar = progressBar(share, barWidth);
    const lines = [`step ${last.step}/${this.#total}  ${bar}  ${Math.floor(100 * share)} %  ${left}`];
    for (const { label, value, name } of quantities(this.#method, last)) {
      const history = this.#rows.map((row) => row[name]).filter((one) => one !== undefined);
      lines.push(`${label.padEnd(labelWidth)} ${value.padStart(8)}  ${sparkline(history, lineWidth)}`);
    }
    const speed = `${formatCount(last["tokens_per_second"])} tok/s`;
    lines.push(
      [speed, this.#evaluation, this.#phase === "" ? "" : paint("dim", this.#phase, process.stderr)]
        .filter((part) => part !== "")
        .join(" · "),
    );
    return lines;
  }
}

/** What was seen and when; an alarm stands out from a note. */
export function alarmLine(
  { kind, step, message }: Omit<Alarm, "name" | "action">,
  stream: { isTTY?: boolean },
): string {
  return kind === "alarm" ? paint("yellow", `! step ${step}: ${message}`, stream) : `step ${step}: ${message}`;
}

/** What of a step's metrics is worth a line. */
function quantities(method: Method, row: MetricsRow): { name: string; label: string; value: string }[] {
  return headlineMetrics(method)
    .filter(({ name }) => !name.startsWith("eval_") && row[name] !== undefined)
    .map(({ name, label, format }) => ({ name, label, value: format(row[name]) }));
}

/** Cuts a line to a number of visible characters; colour codes take no room. */
export function cutVisible(line: string, width: number): string {
  let visible = 0;
  let out = "";
  for (const part of line.split(/(\u001b\[[0-9;]*m)/)) {
    if (part.startsWith("\u001b[")) out += part;
    else {
      out += part.slice(0, Math.max(0, width - visible));
      visible += part.length;
    }
  }
  return out;
}
