/** How busy the machine is, once a second while somebody looks. */

import { availableParallelism, cpus, freemem, totalmem } from "node:os";
import type { SystemLoad } from "../../contract/api/app-calls.ts";

const interval = 1000;

export function watchLoad(tell: (load: SystemLoad) => void): { start(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let before = processorTimes();
  const measure = () => {
    const now = processorTimes();
    const [busy, total] = [now.busy - before.busy, now.total - before.total];
    before = now;
    tell({
      time: Date.now() / 1000,
      cpu: total > 0 ? Math.min(1, busy / total) : 0,
      memory_used: totalmem() - (process.availableMemory() || freemem()),
      memory_total: totalmem(),
      hone_memory: process.memoryUsage.rss(),
    });
  };
  return {
    start() {
      if (timer !== undefined) return;
      before = processorTimes();
      timer = setInterval(measure, interval);
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

function processorTimes(): { busy: number; total: number } {
  const times = cpus()
    .slice(0, availableParallelism())
    .map((cpu) => cpu.times);
  const sum = (pick: (one: (typeof times)[number]) => number) => times.reduce((all, one) => all + pick(one), 0);
  const idle = sum((one) => one.idle);
  const total = sum((one) => one.user + one.nice + one.sys + one.irq) + idle;
  return { busy: total - idle, total };
}
