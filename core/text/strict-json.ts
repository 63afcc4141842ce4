/**
 * JSON exactly as RFC 8259 has it, for text that a model wrote. Beyond `JSON.parse`: it reads a value in the middle of a
 * text, refuses repeated keys, says where in the value it failed, and remembers how integers were spelled.
 */

export type JsonPath = readonly (string | number)[];

export interface JsonReading {
  value: unknown;
  /** Index behind the value. */
  end: number;
  /** Whole numbers that are not written in plain digits, such as `5.0` or `5e0`. */
  unplainIntegers: JsonPath[];
}

export class JsonFault extends Error {
  /** What was read so far: the values of the outermost object's finished members. */
  readonly members: Readonly<Record<string, unknown>>;
  /** Where in the value. */
  readonly path: JsonPath;
  /** `value`: no value where one must stand; `syntax`: anything else; `end`: the text ended too early. */
  readonly kind: "value" | "syntax" | "end";

  constructor(
    kind: "value" | "syntax" | "end",
    what: string,
    path: JsonPath,
    members: Readonly<Record<string, unknown>>,
  ) {
    super(what);
    this.name = "JsonFault";
    this.kind = kind;
    this.path = path;
    this.members = members;
  }
}

const maxDepth = 64;

/**
 * The value in a text that a model wrote, from `start` on, and whether anything but white space stands around it.
 * Undefined when there is none.
 */
export function jsonIn(text: string, start = 0): { value: unknown; around: boolean } | undefined {
  if (start < 0) return undefined;
  try {
    const { value, end } = readJson(text, start);
    return { value, around: (text.slice(0, start) + text.slice(end)).trim() !== "" };
  } catch (error) {
    if (error instanceof JsonFault) return undefined;
    throw error;
  }
}

/** Reads one value that begins at `start` (white space before it is allowed). Throws `JsonFault`. */
export function readJson(text: string, start = 0): JsonReading {
  const path: (string | number)[] = [];
  const unplainIntegers: JsonPath[] = [];
  const members: Record<string, unknown> = {};
  let at = start;

  const fail = (what: string, kind: "value" | "syntax" = "syntax"): never => {
    throw new JsonFault(at >= text.length ? "end" : kind, `${what} at character ${at - start + 1}`, [...path], members);
  };
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const skipSpace = () => match(/[ \t\n\r]*/y);
  const expect = (char: string) => {
    skipSpace();
    if (text.charAt(at) !== char) fail(`expected ${char}`);
    at++;
  };
  const string = (): string => {
    const found = match(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y);
    if (found === undefined) {
      // A string that never closes is an early end, not a wrong character.
      if (!text.slice(at + 1).includes('"')) at = text.length;
      return fail("not a string", "value");
    }
    return JSON.parse(found) as string;
  };
  const number = (): number => {
    const begin = at;
    const found = match(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y);
    if (found === undefined || /[\w.+-]/.test(text.charAt(at))) {
      at = begin;
      return fail("not a JSON number", "value");
    }
    const value = Number(found);
    if (!Number.isFinite(value)) {
      at = begin;
      return fail("a number too large", "value");
    }
    if (Number.isInteger(value) && !/^(?:0|-?[1-9][0-9]*)$/.test(found)) unplainIntegers.push([...path]);
    return value;
  };
  const literal = (): boolean | null => {
    const found = match(/(?:true|false|null)\b/y);
    if (found === undefined) return fail("not a JSON value", "value");
    return found === "null" ? null : found === "true";
  };
  const value = (): unknown => {
    if (path.length > maxDepth) fail("nested too deeply");
    skipSpace();
    const char = text.charAt(at);
    if (char === "{") return object();
    if (char === "[") return array();
    if (char === '"') return string();
    return /[-0-9]/.test(char) ? number() : literal();
  };
  const object = (): Record<string, unknown> => {
    const result: Record<string, unknown> = path.length === 0 ? members : {};
    const keys = new Set<string>();
    at++;
    skipSpace();
    if (text.charAt(at) === "}") {
      at++;
      return result;
    }
    for (;;) {
      skipSpace();
      if (text.charAt(at) !== '"') fail("expected a key");
      const key = string();
      if (keys.has(key)) fail(`the key ${JSON.stringify(key)} stands twice`);
      keys.add(key);
      expect(":");
      path.push(key);
      const item = value();
      path.pop();
      Object.defineProperty(result, key, { value: item, enumerable: true, writable: true, configurable: true });
      skipSpace();
      if (text.charAt(at) === "}") break;
      expect(",");
    }
    at++;
    return result;
  };
  const array = (): unknown[] => {
    const result: unknown[] = [];
    at++;
    skipSpace();
    if (text.charAt(at) === "]") {
      at++;
      return result;
    }
    for (;;) {
      path.push(result.length);
      result.push(value());
      path.pop();
      skipSpace();
      if (text.charAt(at) === "]") break;
      expect(",");
    }
    at++;
    return result;
  };

  const result = value();
  return { value: result, end: at, unplainIntegers };
}
