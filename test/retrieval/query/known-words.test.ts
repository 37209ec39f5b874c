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
  const knownBy = async (request: Parameters<typeof knownWords>[2]) => {
    const known = await index.snapshot((generation) => knownWords(generation, WORDS, request));
    return known && [...known];
  };
  assert.equal(await knownBy({}), KNOWN);
  const lexical = await openLexicalIndex(index);
  assert.equal(await knownBy({ hybrid: { lambda: 1, lexical } }), KNOWN);
  assert.equal(await knownBy({ filter: (ordinal) => ordinal === 1 }), ["1989", "meyer", "%"]);
  assert.equal(await knownBy({ where: { year: 2024 } }), ["kx-4410", "kx4410", "5.0.2", "%"]);
});

test.run();
