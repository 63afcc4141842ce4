/** Both languages are complete, and no text of the interface stands in the code. */

import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..", "..", "renderer");

/** All texts of a language by `area.key`; i18next's plural endings are left off. */
function textsOf(language: string): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (prefix: string, value: unknown) => {
    if (typeof value === "string") found.set(prefix, value);
    else for (const [key, below] of Object.entries(value as object)) visit(`${prefix}.${key}`, below);
  };
  for (const path of globSync(join(root, "i18n", language, "*.json"))) {
    visit(basename(path, ".json"), JSON.parse(readFileSync(path, "utf8")));
  }
  return found;
}

/** English is what the core says of itself (alarms, options, the catalogue); only the translation stands in the texts. */
const onlyTranslated = /^(train\.alarm|options|models\.(about|limits))\./;

const withoutPlural = (key: string) => key.replace(/_(zero|one|two|few|many|other)$/, "");
const keysOf = (texts: ReadonlyMap<string, string>) => new Set([...texts.keys()].map(withoutPlural));
const english = textsOf("en");
const chinese = textsOf("zh");

test("both languages have the same keys", () => {
  const [en, zh] = [keysOf(english), keysOf(chinese)];
  expect(
    [...en].filter((key) => !zh.has(key)),
    "missing in Chinese",
  ).toEqual([]);
  const more = [...zh].filter((key) => !en.has(key) && !onlyTranslated.test(key));
  expect(more, "missing in English").toEqual([]);
});

test("plural forms are those of the language: one and other in English, other in Chinese", () => {
  const forms = (texts: ReadonlyMap<string, string>) =>
    Map.groupBy(
      [...texts.keys()].filter((key) => key !== withoutPlural(key)),
      withoutPlural,
    );
  const wrong = [...forms(english)].filter(
    ([key, all]) => !all.includes(`${key}_one`) || !all.includes(`${key}_other`),
  );
  expect(wrong.map(([key]) => key)).toEqual([]);
  expect([...forms(chinese)].filter(([key, all]) => !all.includes(`${key}_other`)).map(([key]) => key)).toEqual([]);
});

test("no text is empty, and both languages fill in the same values", () => {
  const slots = (text: string) => [...new Set([...text.matchAll(/\{\{\s*([\w.]+)/g)].map(([, name]) => name))].sort();
  const wrong: string[] = [];
  for (const [key, text] of [...english, ...chinese]) if (text.trim() === "") wrong.push(`${key} is empty`);
  for (const key of keysOf(english)) {
    const [en, zh] = [english, chinese].map((texts) => texts.get(key) ?? texts.get(`${key}_other`));
    if (en !== undefined && zh !== undefined && String(slots(en)) !== String(slots(zh))) {
      wrong.push(`${key}: {{${slots(en).join()}}} in English, {{${slots(zh).join()}}} in Chinese`);
    }
  }
  expect(wrong).toEqual([]);
});

interface Found {
  /** Whole keys, and beginnings of keys that are put together. */
  keys: { key: string; whole: boolean; where: string }[];
  literals: string[];
}

/** Attributes whose text a person reads or hears. */
const readAttributes = new Set(["label", "title", "placeholder", "description", "aria-label", "alt", "nothingFound"]);
/** Names, units and signs that are the same in every language. */
const sameEverywhere = /^(Hone|Enter|[\d\s\p{P}\p{S}]*|[A-Z]{1,3}|ms|tok\/s|KL|LoRA|JSON|CSV|TRL)$/u;
/** File names, option names and JSON that show how something is written. */
const code = /^([a-z][\w.-]*|[[{].*[\]}])$/;

function readSource(path: string): Found {
  const text = readFileSync(path, "utf8");
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: Found = { keys: [], literals: [] };
  const where = (node: ts.Node) =>
    `${path.slice(root.length + 1)}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
  const literal = (node: ts.Node, words: string) => {
    if (!sameEverywhere.test(words.trim()) && !code.test(words.trim()))
      found.literals.push(`${where(node)}: ${words.trim()}`);
  };
  const keys = (node: ts.Expression) => {
    if (ts.isStringLiteralLike(node)) found.keys.push({ key: node.text, whole: true, where: where(node) });
    else if (ts.isTemplateExpression(node)) found.keys.push({ key: node.head.text, whole: false, where: where(node) });
    else if (ts.isConditionalExpression(node)) {
      keys(node.whenTrue);
      keys(node.whenFalse);
    }
  };
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const name = ts.isIdentifier(node.expression)
        ? node.expression.text
        : ts.isPropertyAccessExpression(node.expression)
          ? node.expression.name.text
          : "";
      const [first] = node.arguments;
      if (name === "t" && first !== undefined && !hasDefault(node)) keys(first);
    }
    if (ts.isJsxText(node) && node.text.trim() !== "") literal(node, node.text);
    if (ts.isJsxAttribute(node) && readAttributes.has(node.name.getText())) {
      if (node.initializer !== undefined && ts.isStringLiteral(node.initializer)) literal(node, node.initializer.text);
    }
    if (isTerm(node)) {
      const name = node.attributes.properties.find((one) => one.name?.getText() === "name");
      if (
        name !== undefined &&
        ts.isJsxAttribute(name) &&
        name.initializer !== undefined &&
        ts.isStringLiteral(name.initializer)
      ) {
        found.keys.push({ key: `terms.${name.initializer.text}.meaning`, whole: true, where: where(node) });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function hasDefault({ arguments: [, options] }: ts.CallExpression): boolean {
  return options !== undefined && options.getText().includes("defaultValue");
}

function isTerm(node: ts.Node): node is ts.JsxOpeningLikeElement {
  return (ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node)) && node.tagName.getText() === "Term";
}

const sources = globSync(join(root, "**", "*.{ts,tsx}")).map(readSource);

test("every key that is used exists", () => {
  const known = keysOf(english);
  const used = sources.flatMap(({ keys }) => keys);
  expect(used.length).toBeGreaterThan(100);
  const missing = used.filter(({ key, whole }) =>
    whole
      ? !known.has(key) && ![...known].some((one) => one.startsWith(`${key}.`))
      : key !== "" && ![...known].some((one) => one.startsWith(key)),
  );
  expect(missing.map(({ key, where }) => `${where}: ${key}`)).toEqual([]);
});

test("no text that a person reads stands in the code", () => {
  expect(sources.flatMap(({ literals }) => literals)).toEqual([]);
});

test("words that a lesson explains have a meaning", () => {
  for (const path of globSync(join(root, "..", "assets", "lessons", "*.json"))) {
    const names = [...readFileSync(path, "utf8").matchAll(/\]\(term:([\w-]+)\)/g)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !english.has(`terms.${name}.meaning`))).toEqual([]);
  }
});
