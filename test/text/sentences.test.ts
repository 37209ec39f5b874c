import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { sentences } from "../../src/text/sentences.ts";

/** Checks the split of a text in which "¦" marks every boundary. */
function checkSplit(marked: string): void {
  const expected = marked.split("¦").map((sentence) => sentence.trim());
  const text = marked.replaceAll("¦", "");
  assert.equal(
    sentences(text).map(({ start, end }) => text.slice(start, end)),
    expected,
  );
}

const cases: Record<string, readonly string[]> = {
  "plain sentences": ["It rained.¦ It stopped!¦ Did it?¦ Yes…"],
  "titles and initials": [
    "Mr. Smith met Dr. A. B. Jones of St. Louis.¦ They talked.",
    "He studied under J. F. Blumenbach.¦ He wrote to his friend S. A. Eliot.",
  ],
  "an abbreviation that ends the sentence": [
    "She worked in the U.S. Air Force.¦ Then she left the U.S.¦ In 1990 she returned.",
    "He founded Example Inc. in Ohio.¦ He sold Example Inc.¦ It failed.",
    "They met at 3 p.m.¦ The talks, food, etc. went well.",
  ],
  decimals: ["It rose by 3.5 percent to $1.2 million.¦ Version 2.0.1 followed."],
  "numbers after an abbreviation": [
    "She scored No. 9's goal, see p. 284 and Fig. 2.¦ He said no.¦ The play was art.¦ It was built c. 1819.",
  ],
  quotes: [
    'He asked, "Is it true?" and left.¦ "It is."¦ She nodded.',
    "“It is the only language.”¦ The exhibition opened.",
    '"Wake Up!" is a song by a band.',
  ],
  brackets: [
    "The film (dir. Ivan Fischer. Second cut) was shown.¦ (It was long.)¦ It ended. (see below)",
  ],
  ellipses: ["He waited... and waited. . . . and left.¦ It was ... over."],
  "line breaks": ["First line without an end¦\nSecond line that is\nwrapped here.¦\n\nThird"],
  "list numbers": ["1. Open the door.¦\n2. Close it."],
  "other scripts": [
    "東京は日本の首都です。¦京都は古い。",
    "यह एक वाक्य है।¦ यह दूसरा है।",
    "ما اسمك؟¦ اسمي علي.",
  ],
};

for (const [name, texts] of Object.entries(cases)) test(name, () => texts.forEach(checkSplit));

test("nothing to split", () => {
  for (const text of ["", "   ", "\n\n", " \t\u00a0"]) assert.equal(sentences(text), []);
  assert.equal(sentences(" No end "), [{ start: 1, end: 7 }]);
});

test("any text: sentences are in order, do not overlap, are trimmed, and leave only white space between them", () => {
  const piece = fc.constantFrom(
    "A",
    "b",
    "Mr",
    "1",
    ".",
    "!",
    "…",
    '"',
    "(",
    ")",
    "。",
    " ",
    "\n",
    "\u00a0",
    "😀",
    "é",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.array(piece).map((pieces) => pieces.join("")),
      ),
      (text) => {
        let at = 0;
        for (const { start, end } of sentences(text)) {
          assert.ok(start >= at && end > start);
          assert.is(text.slice(at, start).trim(), "");
          assert.is(text.slice(start, end).trim(), text.slice(start, end));
          at = end;
        }
        assert.is(text.slice(at).trim(), "");
      },
    ),
    { numRuns: 2000 },
  );
});

/** Breaks a text into lines as editors and mail programs do. */
const wrapped = (text: string, width: number): string =>
  text.split(" ").reduce((lines, word) => {
    const last = lines.slice(lines.lastIndexOf("\n") + 1);
    if (last === "") return word;
    return `${lines}${last.length + 1 + word.length > width ? "\n" : " "}${word}`;
  }, "");

test("sentences of hard-wrapped text are whole, whatever begins a line", () => {
  const whole = [
    "The bridge over the River Rhine at Basel was built by Anna Berg and Carl Holm in 1890.",
    "In May 1912 the Swiss Federal Railways bought it from the City of Basel for 300 000 Francs.",
    "It was the First Bridge of the Upper Rhine with Four Lanes for the Trains of Three Nations.",
  ];
  const texts = (text: string) =>
    sentences(text).map(({ start, end }) => text.slice(start, end).replaceAll("\n", " "));
  for (const width of [45, 60, 72, 80, 110]) {
    const paragraph = wrapped(whole.join(" "), width);
    assert.equal(texts(paragraph), whole, `${width}`);
    const page = `A Heading Of This Page\n\n${paragraph}\n\n${paragraph}`;
    assert.equal(texts(page), ["A Heading Of This Page", ...whole, ...whole], `${width}`);
  }
  const list = ["Basel to Bern", "Zurich to the old town of Lucerne and Zug", "Geneva", "Olten"];
  assert.equal(texts(list.join("\n")), list);
  const items = list.map((item, i) => `${i + 1}. A train from ${item} every hour of the day`);
  assert.equal(texts(items.join("\n")), items);
});

test("long runs of one thing take no longer than their length", () => {
  for (const unit of [".", "A. ", "(a. ", '."', "\n", "x"])
    assert.ok(sentences(`${unit.repeat(100_000)}b`).length > 0);
});

test.run();
