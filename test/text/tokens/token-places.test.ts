/** Where the tokens of a passage stand in it. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { passageIds, passagePrompt, placesInPrompt } from "../../../src/text/tokens/prompts.ts";
import { tokenPlaces } from "../../../src/text/tokens/token-places.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";

const tokenizer = await loadTokenizer("test/fixtures/t5/spiece.model");
const passage = {
  title: "Prices",
  text: "From May on:\n\nItem | Price\n--- | ---\nGreen tea | 2 EUR\nMilk | 1 EUR\n\nPay at once.",
};
const ids = passageIds(tokenizer, passage, 512);
const places = tokenPlaces(tokenizer, passage, ids);

/** The characters of the tokens with a place, those of each part together. */
function parts(): string[] {
  const found = new Map<number, string>();
  for (const place of places) {
    if (!place) continue;
    const { field, part, span } = place;
    const own = passage[field].slice(span.start, span.end);
    found.set(part, (found.get(part) ?? "") + own);
  }
  return [...found.values()];
}

test("a table is read with the names of its columns", () => {
  const read =
    "title: Prices context: From May on:\n\nItem: Green tea, Price: 2 EUR.\nItem: Milk, Price: 1 EUR.\n\nPay at once.";
  assert.is(passagePrompt(passage), read);
  assert.equal(ids.slice(0, -1), tokenizer.encode(read));
});

test("tokens stand in the text that people see, and names that were added nowhere", () => {
  assert.equal(parts(), [
    ...["Prices", "FromMayon:", "Greentea", "2EUR", "Milk", "1EUR", "Payatonce."],
  ]);
  assert.is(places.length, ids.length);
});

test("a name that was added stands above its column", () => {
  const prompt = passagePrompt(passage);
  const start = prompt.lastIndexOf("Price");
  const span = { start, end: start + 5 };
  assert.is(placesInPrompt(passage)(span), undefined);
  const place = placesInPrompt(passage, true)(span);
  const at = passage.text.indexOf("Price");
  assert.equal(place, { field: "text", span: { start: at, end: at + 5 } });
});

test("a quotation begins and ends at words", () => {
  const tea = places.find((place) => place && passage.text.startsWith("Green", place.span.start))!;
  assert.equal([tea.begins, tea.words.first], [true, 9]);
});

test.run();
