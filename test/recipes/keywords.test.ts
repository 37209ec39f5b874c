/** recipes/reatt-mini/data/keywords.ts: questions as they are typed into a search field. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { asKeywords } from "../../recipes/reatt-mini/data/keywords.ts";

test("keywords are the words that are left without question words and stop words", () => {
  assert.is(asKeywords("What is the capital of France?"), "capital france");
  assert.is(asKeywords("Who is he?"), "who is he");
});

test.run();
