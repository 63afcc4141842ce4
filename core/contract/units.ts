/** Quantities and texts in few words, the same in every door. */

/** `1.5 GB`: decimal units, three significant digits. */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${units[unit]}`;
}

/** Bytes of `8000000`, `500MB`, `2 GB` or `1.5GiB`; undefined when the text is no amount. */
export function parseBytes(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b)?\s*$/i.exec(text);
  if (match === null) return undefined;
  const [, amount, unit = "", binary] = match;
  const power = unit === "" ? 0 : "kmgt".indexOf(unit.toLowerCase()) + 1;
  return Math.round(Number(amount) * (binary === "" || binary === undefined ? 1000 : 1024) ** power);
}

/** `8 s`, `3 min 20 s`, `2 h 05 min`. */
export function formatSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return "?";
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** `12,345`. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

/** `12 %` of 0.12. */
export function formatPercent(share: number, digits = 0): string {
  return `${(100 * share).toFixed(digits)} %`;
}

/** At most three digits behind the point: `0.5`, `-0.123`. */
export function formatDecimal(value: number): string {
  return String(Number(value.toFixed(3)));
}

/** `1 step`, `2,000 steps`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** One line of at most 60 characters. */
export function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}

/** A word as a shell takes it: quoted where it has to be. */
export function shellWord(word: string): string {
  return /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
