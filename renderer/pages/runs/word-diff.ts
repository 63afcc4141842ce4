/** What changed between two texts, word by word: the longest common subsequence of their words. */

export interface DiffPart {
  kind: "same" | "gone" | "new";
  text: string;
}

/** Longer texts are compared line by line, so that the table of a diff stays small. */
const mostWords = 1500;

export function wordDiff(before: string, after: string): DiffPart[] {
  const [a, b] = [words(before), words(after)];
  const isLong = a.length > mostWords || b.length > mostWords;
  return isLong ? diff(lines(before), lines(after)) : diff(a, b);
}

function words(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

function lines(text: string): string[] {
  return text.split(/(?<=\n)/).slice(0, mostWords);
}

function diff(a: readonly string[], b: readonly string[]): DiffPart[] {
  const width = b.length + 1;
  /** Length of the longest common subsequence of what follows `a[i]` and `b[j]`. */
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const parts: DiffPart[] = [];
  const add = (kind: DiffPart["kind"], text: string) => {
    const last = parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else parts.push({ kind, text });
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add("same", a[i]);
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      add("gone", a[i++]);
    } else add("new", b[j++]);
  }
  return parts;
}
