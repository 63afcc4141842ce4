/** Where in a file something is that a message tells: `FILE:LINE:COLUMN`, `FILE: key.of.json: …`, a JSON position. */

export interface Place {
  line: number;
  column?: number;
}

/** Undefined when the message is not about this file. */
export function placeOf(message: string, path: string, text: string): Place | undefined {
  const begin = message.indexOf(path);
  if (begin < 0) return undefined;
  const rest = message.slice(begin + path.length);
  const [, line, column] = /^:(\d+)(?::(\d+))?/.exec(rest) ?? [];
  if (line !== undefined) return { line: Number(line), ...(column !== undefined && { column: Number(column) }) };
  const json = /line (\d+) column (\d+)/.exec(rest);
  if (json !== null) return { line: Number(json[1]), column: Number(json[2]) };
  const position = /at position (\d+)/.exec(rest)?.[1];
  if (position !== undefined) return { line: text.slice(0, Number(position)).split("\n").length };
  const [, keys] = /^: (?:there is no key "([^"]+)"|[\w.-]+(?=:))/.exec(rest) ?? [];
  const named = keys ?? /^: ([\w.-]+):/.exec(rest)?.[1];
  return { line: named === undefined ? 1 : lineOfKey(text, named.split(".")) };
}

/** The line on which the last of nested keys stands; the nearest that is there. */
function lineOfKey(text: string, keys: readonly string[]): number {
  let at = 0;
  for (const key of keys) {
    const found = text.indexOf(`"${key}"`, at);
    if (found < 0) break;
    at = found;
  }
  return text.slice(0, at).split("\n").length;
}
