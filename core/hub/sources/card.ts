/**
 * A model or dataset card as Markdown that can be shown without care: no HTML, no images that load, no links but to web
 * pages. The page that shows it must still not render raw HTML; this is the first of two fences.
 */

import type { RepoCard } from "../../contract/hub.ts";

/** `page`: what relative links are relative to. */
export function readCard(text: string, { page }: { page: string }): RepoCard {
  const { front, body } = splitFrontMatter(
    text
      .replace(/^\uFEFF/, "")
      .replaceAll("\r\n", "\n")
      .replaceAll("\0", ""),
  );
  const images: string[] = [];
  const markdown = outsideCode(body, (part) => cleanMarkdown(part, page, images));
  return { markdown: markdown.trim(), facts: readFacts(front), images: [...new Set(images)].slice(0, 200), cut: false };
}

function splitFrontMatter(text: string): { front: string; body: string } {
  const match = /^---[ \t]*\n([\s\S]*?)\n---[ \t]*(?:\n|$)/.exec(text);
  return match === null ? { front: "", body: text } : { front: match[1], body: text.slice(match[0].length) };
}

/**
 * The front matter's top-level values: `key: text` and lists, nothing nested. YAML in full is not needed, and its
 * readers have been a way in for hostile files.
 */
function readFacts(front: string): RepoCard["facts"] {
  const facts: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  let key: string | undefined;
  for (const line of front.split("\n")) {
    const entry = /^([A-Za-z_][\w-]*):[ \t]*(.*)$/.exec(line);
    const item = /^\s*-[ \t]+(.+)$/.exec(line);
    if (entry !== null) {
      key = entry[1];
      const value = entry[2].trim();
      const list = /^\[(.*)\]$/.exec(value);
      if (list !== null)
        facts[key] = list[1]
          .split(",")
          .map(plainValue)
          .filter((word) => word !== "");
      else if (value !== "" && !/^[|>&*!]/.test(value)) facts[key] = plainValue(value);
    } else if (item !== null && key !== undefined && !/^[\w-]+:( |$)/.test(item[1])) {
      const before = facts[key];
      if (before === undefined) facts[key] = [plainValue(item[1])];
      else if (Array.isArray(before)) before.push(plainValue(item[1]));
    }
  }
  return { ...facts };
}

function plainValue(text: string): string {
  const value = text.trim();
  const quoted = /^(["'])(.*)\1$/.exec(value);
  return (quoted === null ? value : quoted[2]).slice(0, 500);
}

/** Applies `clean` to what stands between fenced blocks and code spans, which are shown as they are. */
function outsideCode(text: string, clean: (part: string) => string): string {
  const parts: string[] = [];
  let plain: string[] = [];
  let code: string[] | undefined;
  let fence = "";
  const flush = () => {
    if (plain.length > 0) parts.push(outsideSpans(plain.join("\n"), clean));
    plain = [];
  };
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (code !== undefined) {
      code.push(line);
      const ends = mark?.[1].startsWith(fence) === true && mark[2].trim() === "";
      if (!ends) continue;
      parts.push(code.join("\n"));
      code = undefined;
    } else if (mark !== null && !(mark[1].startsWith("`") && mark[2].includes("`"))) {
      flush();
      fence = mark[1];
      code = [line];
    } else plain.push(line);
  }
  flush();
  if (code !== undefined) parts.push(code.join("\n"));
  return parts.join("\n");
}

/** Code spans of one line: between two runs of equally many backquotes. */
function outsideSpans(text: string, clean: (part: string) => string): string {
  const spans: string[] = [];
  const lines = text.split("\n").map((line) => {
    const runs = [...line.matchAll(/`+/g)];
    const later = new Map<number, number[]>();
    runs.forEach((run, i) => later.set(run[0].length, [...(later.get(run[0].length) ?? []).slice(-999), i]));
    let result = "";
    let at = 0;
    for (let i = 0; i < runs.length; i++) {
      const end = later.get(runs[i][0].length)?.find((index) => index > i);
      if (end === undefined) continue;
      const stop = runs[end].index + runs[end][0].length;
      // A mark that no card can hold stands for the span while the rest is cleaned.
      result += `${line.slice(at, runs[i].index)}\u0000${spans.length}\u0000`;
      spans.push(line.slice(runs[i].index, stop));
      at = stop;
      i = end;
    }
    return result + line.slice(at);
  });
  return clean(lines.join("\n")).replaceAll(/\u0000(\d+)\u0000/g, (_all, index: string) => spans[Number(index)] ?? "");
}

const unseen =
  /<(script|style|iframe|object|embed|svg|math|template|noscript|head|title|textarea)\b[\s\S]*?(?:<\/\1\s*>|$)/gi;

/** An address in parentheses, which may hold some itself, and a title. Bounded repeats throughout: no card may take seconds. */
const target = String.raw`\(\s{0,9}<?((?:[^\s()<>]|\([^\s()]{0,200}\)){0,2000})>?(?:\s{1,9}(?:"[^"]{0,500}"|'[^']{0,500}'))?\s{0,9}\)`;
const imagePattern = new RegExp(String.raw`!\[([^\]]{0,1000})\](?:${target}|\[[^\]]{0,200}\])?`, "g");
const linkPattern = new RegExp(String.raw`\[([^[\]]{0,1000})\]${target}`, "g");
const definition = /^( {0,3}\[[^\]^][^\]]{0,200}\]:)[ \t]{1,9}<?([^\s<>]{1,2000})>?([ \t].{0,500})?$/gm;

function cleanMarkdown(text: string, page: string, images: string[]): string {
  const image = (alt: string, address: string) => {
    const url = webAddress(address, page);
    if (url !== undefined) images.push(url);
    const words = alt.replaceAll(/[[\]()<>`!]/g, "").trim();
    return words === "" ? "" : `(image: ${words})`;
  };
  const withoutTags = stripTags(
    text
      .replaceAll(/<!--[\s\S]*?(?:-->|$)/g, "")
      .replaceAll(unseen, "")
      .replaceAll(/<img\b([^>]{0,4000})>/gi, (_all, attributes: string) =>
        image(attribute(attributes, "alt"), attribute(attributes, "src")),
      )
      .replaceAll(/<a\b([^>]{0,2000})>([\s\S]{0,4000}?)<\/a\s*>/gi, (_all, attributes: string, words: string) => {
        const url = webAddress(attribute(attributes, "href"), page);
        const label = stripTags(words).replaceAll(/[[\]]/g, "").trim();
        return url === undefined ? label : `[${label === "" ? url : label}](${url})`;
      })
      .replaceAll(/<br\s*\/?>/gi, "\n")
      .replaceAll(/<\/?(?:p|div|h[1-6]|li|ul|ol|table|tr|center|details|summary|section)\b[^<>]{0,2000}>/gi, "\n")
      // An address in angle brackets is a link, not a tag.
      .replaceAll(/<((?:[a-z][a-z\d+.-]*:)[^\s<>]{0,2000})>/gi, (_all, url: string) => webAddress(url, page) ?? ""),
  );
  return (
    withoutTags
      .replaceAll(imagePattern, (_all, alt: string, address: string | undefined) => image(alt, address ?? ""))
      .replaceAll(/!+(?=\[)/g, "")
      .replaceAll(linkPattern, (_all, words: string, address: string) => {
        const url = address.startsWith("#") ? undefined : webAddress(address, page);
        return url === undefined ? words : `[${words}](${url})`;
      })
      .replaceAll(definition, (_all, name: string, address: string) => {
        const url = webAddress(address, page);
        return url === undefined ? "" : `${name} ${url}`;
      })
      // Whatever else could be read as a link or a definition, and leads elsewhere than to the web, is broken apart.
      .replaceAll(/\]([(:])(?=\s{0,99}(\S{0,9}))/g, (all, sign: string, next: string) =>
        /^https?:\/\//i.test(next) ? all : `] ${sign}`,
      )
      // What was between brackets may only now begin like a tag.
      .replaceAll(tagStart, "&lt;")
      .replaceAll(/\n{3,}/g, "\n\n")
  );
}

const tagStart = /<(?=[a-z!?/])/gi;

/** What is left of tags after all that are known were turned into Markdown; whatever begins like one is shown as text. */
function stripTags(text: string): string {
  return text.replaceAll(/<\/?[a-z!?][^<>]{0,2000}>/gi, "").replaceAll(tagStart, "&lt;");
}

function attribute(text: string, name: string): string {
  const match = new RegExp(`\\b${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i").exec(text);
  return (match?.[1] ?? match?.[2] ?? match?.[3] ?? "").trim();
}

/** An http(s) address without credentials, made absolute; undefined for anything else. */
function webAddress(address: string, page: string): string | undefined {
  // Browsers read `java\nscript:` as one word, and entities as what they stand for.
  const plain = address
    .replaceAll(/&(?:#x?[\da-f]+|\w+);?/gi, (entity) => (/^&amp;?$/i.test(entity) ? "&" : ""))
    .replaceAll(/[\p{Cc}\s]/gu, "");
  if (plain === "") return undefined;
  const url = URL.parse(plain, `${page}/blob/main/`);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  if (url.username !== "" || url.password !== "") return undefined;
  return url.href.replaceAll("(", "%28").replaceAll(")", "%29");
}
