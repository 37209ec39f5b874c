/** Tables as a model reads them. */

import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readingForm } from "../../src/text/reading-form.ts";

test("each row has the names of the columns", () => {
  const table =
    "Prices:\n\nItem | Price | Note\n--- | --- | ---\nTea | 2 EUR | \nMilk | 1 EUR | cold.\n\nEnd.";
  const expected =
    "Prices:\n\nItem: Tea, Price: 2 EUR.\nItem: Milk, Price: 1 EUR, Note: cold.\n\nEnd.";
  assert.is(readingForm(table).text, expected);
});

test("the forms of Markdown, and of readers of documents", () => {
  const examples: readonly (readonly [table: string, read: string])[] = [
    ["| A | B |\n|---|:---:|\n| 1 | 2 |\n| 3 | 4 |", "A: 1, B: 2.\nA: 3, B: 4."],
    [" | Alpha | Beta\n--- | --- | ---\nWeight | 1 g | 2 g", "Weight, Alpha: 1 g, Beta: 2 g."],
    // Two lines of names
    [
      "Year | Sales | Sales\nYear | home | abroad\n--- | --- | ---\n2020 | 1 | 2",
      "Year: 2020, Sales home: 1, Sales abroad: 2.",
    ],
    // Rows with more and with fewer cells have no names
    ["A | B\n--- | ---\n1 | 2 | 3\n4 | 5", "1, 2, 3.\nA: 4, B: 5."],
    [`${"long ".repeat(20)}| B\n--- | ---\n1 | 2`, "1, B: 2."],
    ["A | B\n--- | ---\n | \n1 | 2", "A: 1, B: 2."],
  ];
  for (const [table, read] of examples) assert.is(readingForm(table).text, read);
});

test("fields are divided", () => {
  const record = "Item: Tea\nPrice: 2 EUR\nNote: cold, with milk.\n\nText: alone\nno field";
  const read = "Item: Tea,\nPrice: 2 EUR,\nNote: cold, with milk.\n\nText: alone\nno field";
  assert.is(readingForm(record).text, read);
  assert.is(readingForm("A b: 1\nC: 2\n").text, "A b: 1,\nC: 2.\n");
});

test("other texts stay as they are", () => {
  for (const text of [
    "",
    "a | b\nc | d",
    "A --- B | C",
    "A | B\n--- | ---",
    "--- | ---\nA | B",
    "---\ntitle: x | y\n---",
    "string | null\n\n--- | ---",
    "See https://a.org\nand http://b.org:80",
    "Note: one.\nNote: two.",
  ])
    assert.equal(readingForm(text), { text });
});

const line = fc.oneof(
  fc.constantFrom(
    "--- | ---",
    "| --- | --- |",
    "---",
    "",
    "a: b",
    "a b: c.",
    "|",
    " | ",
    "a | b",
    "| a | b |",
  ),
  fc.string({ unit: fc.constantFrom("a", "é", "😀", " ", "|", "-", ".", ":"), maxLength: 12 }),
);

test("every character that was not added is one of the text, in its order", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
      const text = lines.join("\n");
      const { text: read, origin, named = [] } = readingForm(text);
      if (!origin) return assert.is(read, text);
      assert.is(origin.length, read.length);
      const given = [...origin].flatMap((at, i) => (at >= 0 ? [[at, i] as const] : []));
      for (const [at, i] of given) assert.is(read[i], text[at]);
      for (const [i, at] of named.entries())
        if (at >= 0) assert.is(read[i], text[at]);
        else assert.is(origin[i], -1);
      for (const [n, [at]] of given.entries()) if (n > 0) assert.ok(at > given[n - 1]![0]);
    }),
    { numRuns: 2_000 },
  );
});

test("a long table takes time in proportion, and few characters more", () => {
  const rows = "1 | 2\n".repeat(50_000);
  const { text } = readingForm(`${"x".repeat(60)} | B\n--- | ---\n${rows}`);
  assert.ok(text.length < 80 * 50_000);
});

test.run();
