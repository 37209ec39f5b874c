/** Records that a question does not mean. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { otherRecords } from "../../src/decoder/records.ts";
import { askedTerms, specificsOf } from "../../src/decoder/support.ts";

/** The text of the records that are not meant. */
function others(question: string, text: string): string[] {
  const asked = { terms: askedTerms(question), specifics: specificsOf(question) };
  return otherRecords(asked, { text }).map(({ start, end }) => text.slice(start, end));
}

const TOWNS = "Town | 1961 | 1971\n--- | --- | ---\nArden | 23 | 25\nCarrow | 54 | 57";
const STAFF =
  "Staff:\n\n- Maria Lindt, room B12\n  (on Mondays)\n- Jonas Beck, room B14\n\nAsk Maria.";

test("rows with less of the question than others are not meant, but for the first", () => {
  assert.equal(others("population of Carrow in 1971", TOWNS), [
    "--- | --- | ---",
    "Arden | 23 | 25",
  ]);
  assert.equal(others("Which towns are there?", TOWNS), []);
  assert.equal(others("population of Foxley", TOWNS), []);
});

test("items that lack a name of the question are not meant, with all their lines", () => {
  assert.equal(others("room of Jonas Beck", STAFF), ["- Maria Lindt, room B12\n  (on Mondays)"]);
  assert.equal(others("Which rooms are there?", STAFF), []);
  assert.equal(others("In which room is Paul Ahrens?", STAFF), []);
  // A word that no name is can stand in any item.
  assert.equal(others("who is there on mondays?", STAFF), []);
});

test("the fields of one record are no records", () => {
  assert.equal(others("What does KX-1 cost?", "part: KX-1\nprice: 12\nstock: 4"), []);
});

test.run();
