import { test } from "uvu";
import * as assert from "uvu/assert";
import { readAs } from "../../../../src/training/examples/example.ts";
import { headings, titles } from "../../../../src/training/examples/sources/titles.ts";
import { ALL, listOf, passagesOf } from "../../../support/sources.ts";

const BELOW = "This paragraph has the fifteen words that make the line above it a heading today.";

test("a title is a query for its passages, which are read without titles", async () => {
  const passages = [
    { id: "a", title: "Night hunters", text: "Owls hunt by ear at night." },
    { id: "b", title: "night Hunters ", text: "Night hunters: they see little but hear well." },
    { id: "c", title: "Day hunters", text: "Day hunters." },
    { id: "d", title: "7", text: "A title without letters says nothing." },
    { id: "e", title: "", text: "No title at all is here." },
  ];
  const [example, ...others] = await listOf(titles.examples(passagesOf(passages), ALL));
  assert.equal(others, []);
  assert.equal([example!.question, example!.relevant], ["Night hunters", ["a", "b"]]);
  const read = passages.map((passage) => readAs(example!.removal!, passage));
  assert.equal(
    read.map((passage) => passage?.title),
    ["", "", "", "", ""],
  );
  assert.is(read[1]!.text, "they see little but hear well.");
});

test("a title that many documents have is no query", async () => {
  const passages = Array.from({ length: 40 }, (_, i) => ({
    id: `p${i}`,
    title: i < 11 ? "Abstract" : i < 21 ? "A book in ten parts" : `Study number ${i}`,
    text: `Owl ${i} hunts by ear at night.`,
  }));
  const found = await listOf(titles.examples(passagesOf(passages), ALL));
  assert.is(found.length, 20);
  assert.not.ok(found.some(({ question }) => question === "Abstract"));
  const book = found.find(({ question }) => question.startsWith("A book"))!;
  assert.is(book.relevant.length, 10);
});

test("headings are lines of Markdown, and short lines between blank lines", () => {
  const of = (text: string) => headings(text).map(({ heading }) => heading);
  assert.equal(of(`## Night hunters\n${BELOW}`), ["Night hunters"]);
  assert.equal(of(`${BELOW}\n\nNight hunters\n\n${BELOW}`), ["Night hunters"]);
  assert.equal(of(`Night hunters\n${BELOW}`), ["Night hunters"], "the first line");
  assert.equal(of(`${BELOW}\nNight hunters\n${BELOW}`), [], "a line of a paragraph");
  assert.equal(of(`${BELOW}\n\nThey hunt.\n\n${BELOW}`), []);
  assert.equal(of("# Contents\n1\n2\n3"), []);
});

test("the passage of a heading is read without it", async () => {
  const passage = { id: "a", title: "Owls", text: `# Night hunters\n${BELOW}` };
  const found = await listOf(titles.examples(passagesOf([passage]), ALL));
  const example = found.find(({ question }) => question === "Night hunters")!;
  assert.equal(readAs(example.removal!, passage), { id: "a", title: "Owls", text: BELOW });
});

test.run();
