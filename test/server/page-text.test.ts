/** Which parts of a text the page shows as paragraphs, tables and code. */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "uvu";
import * as assert from "uvu/assert";

/** As much of the DOM as the module needs. */
interface Made {
  readonly name: string;
  readonly children: (Made | string)[];
  append(...children: (Made | string)[]): void;
  setAttribute(): void;
}

const createElement = (name: string): Made => {
  const children: (Made | string)[] = [];
  return {
    name,
    children,
    setAttribute: () => {},
    append: (...more) => void children.push(...more),
  };
};
Object.assign(globalThis, { document: { createElement } });
const module = await import(pathToFileURL(resolve("src/server/http/page/text.js")).href);
const { textElements, matchesOf, storedBlocks } = module;

const textOf = (node: Made | string): string =>
  typeof node === "string" ? node : node.children.map(textOf).join("");

const kinds = (text: string): string =>
  (textElements(text, []) as Made[]).map(({ name }) => name).join(" ");

test("code looks like code, and prose does not", () => {
  for (const code of [
    "/**\n * A site that lets its own name\n *\n * @param names that the server has",
    "systemctl stop shop\nsystemctl start shop",
    "npm install reatt",
    "pgbackrest --stanza=shop --delta restore",
    "x = f(1);\ny = 2",
    "curl http://example.org \\\n  -d x",
    '{\n  "a": 1\n}',
    "def f(x):\n    return x\n\nprint(f(1))",
  ])
    assert.is(kinds(code), "pre", code);
  for (const prose of [
    "reatt mcp offers tools, on standard input.\nWith --port N it listens; reatt serve has the same path.",
    "We met him;\nhe went away.",
    "import is a keyword of the language.",
    "the cat sat on the mat",
    "To be or not to be, that is the question",
    "name: value\nother: value",
  ])
    assert.is(kinds(prose), "p", prose);
  assert.is(kinds("- first;\n- second [a];\n- third (b);"), "ul");
  assert.is(kinds("There are:\n- first\n- second"), "p ul");
  assert.is(kinds("1. first\n2. second"), "ol");
});

test("a passage that stores its blocks is shown by them, also in part", () => {
  const list = "Take a cup:\n- clean,\n  and dry\n- of glass";
  const text = `${list}\n\nmake`;
  const metadata = { _blocks: `p11 l${list.length} c${text.length}` };
  const shown = textElements(text, [], storedBlocks(text, metadata)) as Made[];
  assert.equal(
    shown.map(({ name }) => name),
    ["p", "ul", "pre"],
  );
  assert.equal(shown[1]!.children.map(textOf), ["clean,\n  and dry", "of glass"]);
  const part = text.slice(12);
  const inside = textElements(part, [], storedBlocks(part, metadata, 12)) as Made[];
  assert.equal(
    inside.map(({ name }) => name),
    ["ul", "pre"],
  );
  for (const wrong of [undefined, {}, { _blocks: 5 }, { _blocks: "p" }, { _blocks: "p0" }])
    assert.is(storedBlocks(text, wrong), undefined);
});

test("a very long line takes time that grows with its length only", () => {
  for (const part of ["f(", "| a ", "x; ", " ", "a.b.", "- ", "$"]) {
    const costOf = (length: number): number => {
      const text = part.repeat(length / part.length);
      const runs = Array.from({ length: 5 }, () => {
        const start = process.cpuUsage();
        textElements(text, []);
        const { user, system } = process.cpuUsage(start);
        return user + system;
      });
      return Math.min(...runs);
    };
    costOf(5_000); // compiles
    const [short, long] = [costOf(5_000), costOf(40_000)];
    // 8 times as long; a square would be 64
    assert.ok(long < 32 * short + 2_000, `${part}: ${short} and ${long} microseconds`);
  }
});

test("lines with the same number of cells are a table, with the text around it", () => {
  const rows = "Part | Price\nShaft | 17\nBearing |  9";
  assert.is(kinds(`What it costs:\n\n${rows}\n\nWithout tax.`), "p div p");
  assert.is(kinds(`What it costs:\n${rows}\nWithout tax.`), "p div p");
  assert.is(kinds("| a | b |\n|---|:-:|\n| 1 | 2 |"), "div");
  assert.is(kinds("either a | b, or nothing"), "p");
  const [table] = textElements("| a | b |\n|---|:-:|\n| 1 | 2 |", []) as Made[];
  assert.is(textOf(table!), "ab12");
});

test("every character of a text is shown, with marks, whatever its form", () => {
  const text = "One two.\n\nname | age\nAda | 36\n\nif (x) {\n  y();\n}\n\nEnd";
  const shown = (textElements(text, [{ start: 4, end: 7, class: "match" }]) as Made[]).map(textOf);
  assert.is(shown.join("").replace(/\s/g, ""), text.replace(/[\s|]/g, ""));
});

test("words that stand in any text are not marked; others wherever they occur", () => {
  const [question, text] = [
    "Where is the dam?",
    "The dam is in Egypt. Dams hold water; this dam too.",
  ];
  const at = (word: string, of: string) => ({
    start: of.indexOf(word),
    end: of.indexOf(word) + word.length,
  });
  const token = (asked: string, found: string, score: number) => ({
    span: at(asked, question),
    score,
    match: { field: "text", span: at(found, text) },
  });
  const tokens = [token("the", "The", 1), token("dam", "dam", 1), token("Where", "Egypt", 0.9)];
  const marked = matchesOf(tokens, "text", question, text) as { start: number; end: number }[];
  assert.equal(
    marked.map(({ start, end }) => text.slice(start, end)),
    ["dam", "dam"],
  );
  assert.equal(matchesOf([], "text", question, text), []);
});

test.run();
