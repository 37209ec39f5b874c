/** Which words of a question the passages have that a search may return. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { openLexicalIndex } from "../../../src/retrieval/lexical-index.ts";
import { openIndex } from "../../../src/retrieval/open-index.ts";
import { knownWords } from "../../../src/retrieval/query/known-words.ts";
import { build, temporary } from "../support.ts";

const PASSAGES = [
  { id: "a", title: "v5.0.2", text: "KX-4410 costs 12 EUR.", metadata: { year: 2024 } },
  { id: "b", title: "Towns", text: "In 1989 Meyer counted.", metadata: { year: 2023 } },
];
const WORDS = ["kx-4410", "kx4410", "kx4411", "5.0.2", "5.0.3", "1989", "1991", "meyer", "%"];
const KNOWN = ["kx-4410", "kx4410", "5.0.2", "1989", "meyer", "%"]; // a sign is no term

test("words that some passage has are known", async () => {
  await using directory = await temporary();
  await build(directory.path, PASSAGES);
  await using index = await openIndex(directory.path);
  const { bm25 } = await openLexicalIndex(index);
  for (const words of [bm25, (await index.words())!]) {
    const known = async (accept?: (ordinal: number) => boolean) => [
      ...(await knownWords(WORDS, words, accept))!,
    ];
    assert.equal(await known(), KNOWN);
    assert.equal(await known((ordinal) => ordinal === 1), ["1989", "meyer", "%"]);
  }
  const { analyser } = bm25;
  assert.is(await knownWords(WORDS, { analyser }), undefined); // of a store
});

test.run();
