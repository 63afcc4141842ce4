/** Who listens to what, and news gathered so that a fast run cannot flood a window. */

type Listener = (news: unknown) => void;

/** At most ten times a second for one stream. */
const interval = 100;

export class News {
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #late = new Map<string, NodeJS.Timeout>();

  subscribe(topic: string, key: string | undefined, listener: Listener): () => void {
    const stream = streamName(topic, key);
    const listeners = this.#listeners.get(stream) ?? new Set();
    this.#listeners.set(stream, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(stream);
    };
  }

  hasListeners(topic: string): boolean {
    return this.#listeners.has(topic);
  }

  tell(topic: string, news: unknown, key?: string): void {
    for (const listener of this.#listeners.get(streamName(topic, key)) ?? []) listener(news);
  }

  /** Tells `news()` as it is then, soon, and once for all calls until then. */
  tellSoon(topic: string, news: () => unknown, key?: string): void {
    const stream = streamName(topic, key);
    if (this.#late.has(stream)) return;
    const timer = setTimeout(() => {
      this.#late.delete(stream);
      this.tell(topic, news(), key);
    }, interval);
    this.#late.set(stream, timer);
  }

  close(): void {
    for (const timer of this.#late.values()) clearTimeout(timer);
    this.#listeners.clear();
  }
}

function streamName(topic: string, key: string | undefined): string {
  return key === undefined ? topic : `${topic} ${key}`;
}
