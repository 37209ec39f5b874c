import { test } from "uvu";
import * as assert from "uvu/assert";
import { NearDuplicates } from "../../src/retrieval/near-duplicates.ts";
import type { Passage } from "../../src/text/passage.ts";

const words = Array.from({ length: 60 }, (_, i) => `word${i}`);
const passage = (id: string, text: string): Passage => ({ id, title: id, text });
const whole = passage("whole", words.join(" "));

/** The groups of passages in their order, each with what it stands for. */
function groups(question: string, passages: readonly Passage[]): Record<string, string[]> {
  const found = new NearDuplicates(question);
  for (const one of passages) found.groupOf(one.id, one);
  const kept = passages.filter((one) => found.groupOf(one.id, one) === one.id);
  return Object.fromEntries(kept.map((one) => [one.id, found.othersOf(one).map(({ id }) => id)]));
}

const replaced = (places: Record<number, string>): string =>
  words.map((word, i) => places[i] ?? word).join(" ");

test("copies and versions share the place of the best", () => {
  const copy = passage("copy", whole.text.toUpperCase().replaceAll(" ", "\n"));
  const version = passage("version", replaced({ 30: "other" }));
  const changed = passage("changed", replaced({ 5: "a", 15: "b", 25: "c", 35: "d", 45: "e" }));
  assert.equal(groups("what?", [whole, copy, changed, version]), {
    whole: ["copy", "version"],
    changed: [],
  });
});

test("records that differ in a word of the question are two", () => {
  const records = ["10.0.3.12", "10.0.3.21"].map((address) =>
    passage(address, replaced({ 30: address })),
  );
  assert.equal(groups("who has 10.0.3.21?", records), { "10.0.3.12": [], "10.0.3.21": [] });
  assert.equal(groups("who is word7?", records), { "10.0.3.12": ["10.0.3.21"] });
});

test("short texts are equal or not", () => {
  const texts = ["Tea 2", "tea, 2", "Tea 3", ""].map((text) => passage(text, text));
  assert.equal(groups("price?", texts), { "Tea 2": ["tea, 2"], "Tea 3": [], "": [] });
});

test("a ranking has as many groups as asked for", () => {
  const found = new NearDuplicates("what?");
  assert.is(found.groupOf("a", whole), "a");
  assert.is(found.groupOf("b", { ...whole, id: "b" }), "a");
  assert.is(found.groupOf("b", { ...whole, id: "b" }), "a", "a key is compared once");
  assert.equal(
    found.othersOf(whole).map(({ id }) => id),
    ["b"],
  );
});

test.run();
