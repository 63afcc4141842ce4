/** The known word nearest to a mistyped one. */

/** Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`: optimal string alignment distance. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, rows[i - 2][j - 2] + 1);
      row.push(best);
    }
    rows.push(row);
  }
  return rows[a.length][b.length];
}

/**
 * The nearest of `known` when it is near enough to be meant: at most a third of the word differs, or one contains
 * the other and is no mere letter or two.
 */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const lower = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Infinity;
  const allowed = Math.max(1, Math.floor(lower.length / 3));
  for (const candidate of known) {
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance > allowed || distance >= Math.min(lower.length, candidate.length)) continue;
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  if (best !== undefined) return best;
  const holds = (long: string, short: string) => short.length >= 3 && long.includes(short);
  return [...known].find((candidate) => {
    const other = candidate.toLowerCase();
    return holds(other, lower) || holds(lower, other);
  });
}
