import { describe, expect, test } from "vitest";
import { readCard } from "../../../../core/hub/sources/card.ts";

const page = "https://huggingface.co/acme/tiny";
const shown = (text: string) => readCard(text, { page }).markdown;

describe("front matter", () => {
  test("is separated and read as plain values", () => {
    const { markdown, facts } = readCard(
      '---\nlicense: apache-2.0\nlanguage:\n- en\n- "zh"\ntags: [chat, tiny]\nbase_model: acme/base\nmodel-index:\n- name: x\n  results: []\n---\n# Tiny\n',
      { page },
    );
    expect(markdown).toBe("# Tiny");
    expect(facts).toMatchObject({
      license: "apache-2.0",
      language: ["en", "zh"],
      tags: ["chat", "tiny"],
      base_model: "acme/base",
    });
  });

  test("a hostile key changes no prototype, and Windows line ends are no matter", () => {
    const { facts, markdown } = readCard("---\r\n__proto__: x\r\nlicense: mit\r\n---\r\nHi\r\n", { page });
    expect(facts["license"]).toBe("mit");
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
    expect(markdown).toBe("Hi");
  });
});

describe("what is shown", () => {
  test.each([
    ["a <script>alert(1)</script> b", "a  b"],
    ["a <script>alert(1)", "a"],
    ["<b>bold</b> and <kbd>x</kbd>", "bold and x"],
    ['<a href="https://x.org/y">there</a>', "[there](https://x.org/y)"],
    ['<a href="javascript:alert(1)">there</a>', "there"],
    ["[there](javascript:alert(1))", "there"],
    ["[there](JaVaScRiPt:alert(1))", "there"],
    ["[there](java\tscript:alert(1))", "[there] (java\tscript:alert(1))"],
    ["[there](data:text/html,x)", "there"],
    ["[a [b] c](javascript:alert(1))", "[a [b] c] (javascript:alert(1))"],
    ["![a [b] c](https://x.org/t.png)", "(image: a b) c](https://x.org/t.png)"],
    ["> [x]: javascript:alert(1)", "> [x] : javascript:alert(1)"],
    ["[x]:\njavascript:alert(1)", "[x] :\njavascript:alert(1)"],
    ["[there](vbscript:x)", "there"],
    ["[there](file:///etc/passwd)", "there"],
    ["[there](https://user:pass@x.org)", "there"],
    ['[there](https://x.org/a "title")', "[there](https://x.org/a)"],
    ["[file](config.json)", "[file](https://huggingface.co/acme/tiny/blob/main/config.json)"],
    ["[up](#usage)", "up"],
    ["![chart](https://x.org/c.png)", "(image: chart)"],
    ["[![badge](https://x.org/b.svg)](https://x.org)", "[(image: badge)](https://x.org/)"],
    ['<img src="https://x.org/p.gif" alt="pixel">', "(image: pixel)"],
    ["<img src=x onerror=alert(1)>", ""],
    ["![track][1]\n\n[1]: https://x.org/t.png", "(image: track)\n\n[1]: https://x.org/t.png"],
    ["[bad]: javascript:alert(1)", ""],
    ["<https://x.org>", "https://x.org/"],
    ["<javascript:alert(1)>", ""],
    ["x <!-- hidden --> y", "x  y"],
    ["<svg onload=alert(1)>x</svg>", ""],
    ["<iframe src=https://x.org></iframe>ok", "ok"],
    ["a < b and c > d", "a < b and c > d"],
    ["<scr<script>x</script>ipt>alert(1)</script>", "&lt;script>alert(1)".replace("&lt;script>", "")],
  ])("%j", (text, expected) => expect(shown(text)).toBe(expected.trim()));

  test("code is shown as it is", () => {
    const code = "```html\n<script>alert(1)</script>\n```\n\nand `<b>` inline";
    expect(shown(code)).toBe(code);
  });

  test("nothing that begins like a tag, and no link but to the web, is left outside code", () => {
    const parts = [
      "<",
      "<a",
      "<img src=//x",
      "<a href='javascript:x'>",
      "](javascript:x)",
      "![",
      "](",
      "<x",
      "/>",
      "<!--",
      "`",
      "[",
      "](data:x)",
      "<script",
      "text ",
    ];
    let state = 7;
    for (let round = 0; round < 2000; round++) {
      let text = "";
      for (let i = 0; i < 8; i++) {
        state = (state * 1103515245 + 12345) % 2147483648;
        text += parts[state % parts.length];
      }
      const outside = shown(text).replaceAll(/`[^`\n]*`/g, "·");
      expect(outside, text).not.toMatch(/<[a-z!?/]/i);
      expect(outside, text).not.toMatch(/\]\(\s*(?:javascript|data):/i);
      expect(outside, text).not.toMatch(/!\[[^\]]*\]\(/);
    }
  });

  test("images are listed, not loaded", () => {
    expect(readCard("![a](https://x.org/a.png) ![b](assets/b.png)", { page }).images).toEqual([
      "https://x.org/a.png",
      "https://huggingface.co/acme/tiny/blob/main/assets/b.png",
    ]);
  });

  test.each(["<a ", "![", "[", "<img ", "`", "<!--", "[x](", "<x", "<<a>"])(
    "a card full of %j takes no seconds",
    (piece) => {
      const started = performance.now();
      shown(piece.repeat(Math.floor(200_000 / piece.length)));
      expect(performance.now() - started).toBeLessThan(2000);
    },
  );
});
