/** The parts of the conversion of MiniLM: least squares, whitening, WordPiece. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { asKeywords } from "../../recipes/reatt-mini/data/keywords.ts";
import {
  innerProducts,
  leastSquares,
  whiten,
} from "../../recipes/reatt-mini/minilm/least-squares.ts";
import { createWordPiece } from "../../recipes/reatt-mini/minilm/wordpiece.ts";
import { createRandom } from "../../src/math/random.ts";

function randomRows(count: number, columns: number, seed: string) {
  const random = createRandom(seed);
  return {
    data: Float32Array.from({ length: count * columns }, () => random.next() - 0.5),
    columns,
  };
}

test("least squares finds the map that made the data", () => {
  const x = randomRows(200, 5, "x");
  const map = randomRows(3, 5, "map").data;
  const y = new Float32Array(200 * 3);
  for (let row = 0; row < 200; row++)
    for (let out = 0; out < 3; out++)
      for (let i = 0; i < 5; i++) y[row * 3 + out]! += map[out * 5 + i]! * x.data[row * 5 + i]!;
  const found = leastSquares(x, { data: y, columns: 3 }, 1e-9);
  found.forEach((value, i) => {
    assert.ok(Math.abs(value - map[i]!) < 1e-5, `${i}: ${value} for ${map[i]}`);
  });
});

test("whitened rows have mean 0 and covariance 1", () => {
  const x = randomRows(500, 4, "rows");
  for (let at = 0; at < x.data.length; at += 4) x.data[at + 1]! += 3 * x.data[at]! + 2;
  const map = whiten(x, 0);
  const rows = Array.from({ length: 500 }, (_, row) => map(x.data.subarray(row * 4, row * 4 + 4)));
  const white = { data: Float32Array.from(rows.flatMap((row) => [...row])), columns: 4 };
  const covariance = innerProducts(white, white);
  covariance.forEach((sum, i) => {
    assert.ok(Math.abs(sum / 500 - (i % 5 === 0 ? 1 : 0)) < 1e-3, `${i}: ${sum / 500}`);
  });
});

// The examples of the BERT release: "unwanted" and "runn".
const VOCABULARY = Object.fromEntries(
  [
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "want",
    "##want",
    "##ed",
    "wa",
    "un",
    "runn",
    "##ing",
    ",",
    "cafe",
  ].map((piece, id) => [piece, id]),
);

test("WordPiece takes the longest piece and knows the characters of each", () => {
  const { encode } = createWordPiece(VOCABULARY);
  assert.equal(encode("Unwanted, running"), [
    { id: 7, start: 0, end: 2 },
    { id: 4, start: 2, end: 6 },
    { id: 5, start: 6, end: 8 },
    { id: 10, start: 8, end: 9 },
    { id: 8, start: 10, end: 14 },
    { id: 9, start: 14, end: 17 },
  ]);
  assert.equal(encode("unwantedX wants"), [
    { id: 0, start: 0, end: 9 },
    { id: 0, start: 10, end: 15 },
  ]);
  assert.equal(encode("CAFÉ"), [{ id: 11, start: 0, end: 4 }]);
});

test("keywords have no fillers and no question mark, and are never fewer than two words", () => {
  assert.is(asKeywords("What is the capital of France?"), "capital france");
  assert.is(asKeywords("Who is he?"), "who is he");
});

test.run();
