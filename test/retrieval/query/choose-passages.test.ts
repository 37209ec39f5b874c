import { test } from "uvu";
import * as assert from "uvu/assert";
import { choosePassages } from "../../../src/retrieval/query/choose-passages.ts";
import type { IndexGeneration } from "../../../src/retrieval/search/generation.ts";
import { rejects } from "../support.ts";

let visits = 0;
const index = {
  isRemote: false,
  async visitFields(visit: (ordinal: number, fields: object) => void) {
    visits++;
    visit(0, { metadata: { lang: "en" } });
    visit(1, { metadata: { lang: "de" } });
  },
} as unknown as IndexGeneration;
const words = () => Promise.reject(new Error("no words are needed"));

test("of many keywords, the first ones choose, and each reads the fields once", async () => {
  const question = `${"lang:en ".repeat(150)}lang:de rivers`;
  const chosen = await choosePassages(index, words, question);
  assert.equal([chosen!.accept(0), chosen!.accept(1)], [true, false]);
  assert.match(chosen!.text, /^(lang:en )+lang:de rivers$/);
  assert.ok(visits <= 10, `${visits} visits`);
});

test("keywords end with their signal", async () => {
  const signal = AbortSignal.abort(new Error("gone"));
  await rejects(choosePassages(index, words, "lang:en rivers", signal), /gone/);
});

test.run();
