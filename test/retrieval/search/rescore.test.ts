import { test } from "uvu";
import * as assert from "uvu/assert";
import { openMatMul } from "../../../src/retrieval/scoring/matmul.ts";
import { longestRow } from "../../../src/retrieval/scoring/vectors.ts";
import { rescore } from "../../../src/retrieval/search/rescore.ts";
import { naiveSearch, noise } from "../support.ts";

const storeOf = (passages: readonly Float32Array[], dimension: number) => ({
  dimension,
  longestKey: Math.max(...passages.map((keys) => longestRow(keys, dimension))),
  keys: async (ordinal: number) => passages[ordinal]!,
});

test("the score of a case worked by hand", async () => {
  const question = Float32Array.of(1, 0, 0, 2);
  const store = storeOf([Float32Array.of(3, 1, -1, 4, 0, 0)], 2);
  await using matmul = await openMatMul(2, 1);
  assert.equal(await rescore(store, matmul, question, Uint32Array.of(0), 1), {
    ordinals: Uint32Array.of(0),
    scores: Float64Array.of((3 + 8) / 2),
  });
});

test("scores equal loops for any number of question tokens and pieces", async () => {
  const dimension = 5;
  const passages = [7, 1, 20_000, 30, 12_000].map((tokens, i) => noise(tokens * dimension, i + 1));
  await using matmul = await openMatMul(dimension, 1);
  for (let tokens = 1; tokens <= 9; tokens++) {
    const question = noise(tokens * dimension, 100 + tokens);
    const expected = naiveSearch(question, passages, 3, dimension);
    const found = await rescore(
      storeOf(passages, dimension),
      matmul,
      question,
      Uint32Array.from(passages.keys()),
      3,
    );
    assert.equal(
      [...found.ordinals],
      expected.map(({ ordinal }) => ordinal),
    );
    for (const [i, score] of found.scores.entries())
      assert.ok(Math.abs(score - expected[i]!.score) < 1e-14);
  }
});

test.run();
