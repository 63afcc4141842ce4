/** News of runs in training, gathered until they are due. */

import type { RunNews } from "../../contract/api/api.ts";
import type { News } from "./news.ts";

export class RunNewsDesk {
  readonly #waiting = new Map<string, RunNews>();
  readonly #news: News;

  constructor(news: News) {
    this.#news = news;
  }

  add(run: string, more: Partial<RunNews>): void {
    const { rows = [], events = [], rollout_steps = [], checkpoints = [] } = more;
    const gathered = this.#waiting.get(run) ?? { rows: [], events: [], rollout_steps: [], checkpoints: [] };
    gathered.rows.push(...rows);
    gathered.events.push(...events);
    gathered.rollout_steps.push(...rollout_steps);
    gathered.checkpoints.push(...checkpoints);
    this.#waiting.set(run, gathered);
    this.#news.tellSoon(
      "run",
      () => {
        this.#waiting.delete(run);
        return gathered;
      },
      run,
    );
  }
}
