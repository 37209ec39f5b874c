/** The parts of a text that a quotation stays in. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { partsOf } from "../../src/text/cells.ts";

/** The characters of each part, without those that are blank. */
function parts(text: string): string[] {
  const partAt = partsOf(text);
  const found = new Map<number, string>();
  for (const [i, letter] of [...text].entries())
    found.set(partAt(i), (found.get(partAt(i)) ?? "") + letter);
  return [...found.values()].map((part) => part.trim()).filter((part) => part !== "");
}

test("each cell of a table is a part", () => {
  const table = "Prices of today:\nItem | Price\nGreen tea | 2 EUR\n\nAsk | pay later.";
  assert.equal(parts(table), [
    ...["Prices of today:", "Item", "|", "Price", "Green tea", "|", "2 EUR", "Ask | pay later."],
  ]);
  const markdown = "| a b | c |\n| --- | --- |\n| d |  |";
  assert.equal(parts(markdown), [
    ...["|", "a b", "|", "c", "|", "|", "---", "|", "---", "|", "|", "d", "|", "|"],
  ]);
  assert.equal(parts(" | A | B\nx | 1 | 2"), ["|", "A", "|", "B", "x", "|", "1", "|", "2"]);
});

test("each field of several is a part", () => {
  assert.equal(parts("Tea:\nname: Green tea\nprice: 2 EUR\nIt is: warm"), [
    ...["Tea:", "name: Green tea", "price: 2 EUR", "It is: warm"],
  ]);
  assert.equal(parts("It is: warm.\nAnd cold."), ["It is: warm.\nAnd cold."]);
});

test("columns of plain text are parts, and so are paragraphs", () => {
  const hosts = "Hosts:\n10.0.0.12   mail    64 GB\n10.0.0.7    wiki\n\nAsk  Tom\nor Ann.";
  assert.equal(parts(hosts), [
    ...["Hosts:", "10.0.0.12", "mail", "64 GB", "10.0.0.7", "wiki", "Ask  Tom\nor Ann."],
  ]);
  assert.equal(parts("use it:\n\n  run it\n  now"), ["use it:", "run it\n  now"]);
  assert.equal(parts("justified  text of\nlines  that differ"), [
    "justified  text of\nlines  that differ",
  ]);
});

test("a line with bars alone is no table", () => {
  for (const text of [
    "The type is string | undefined by default.",
    "It is a || b,\nor c || d.",
    "x|y\nz|w",
    "string | null\nno bars",
    "",
    "|",
  ])
    assert.equal(parts(text), text === "" ? [] : [text]);
});

test("parts of a long text take time in proportion", () => {
  const rows = "a | b | c\n".repeat(50_000);
  assert.is(partsOf(rows)(rows.length - 3), 50_000 * 6 - 1);
});

test.run();
