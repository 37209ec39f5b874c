import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  type Codebook,
  centroidsOf,
  codeStarts,
  decodeKeys,
} from "../../../src/retrieval/compression/codec.ts";
import { openEncoder } from "../../../src/retrieval/compression/key-encoder.ts";
import { trainCodebook } from "../../../src/retrieval/compression/train-codebook.ts";
import { codeScorers } from "../../../src/retrieval/search/code-scores.ts";
import { avgMax, dotProduct } from "../../../src/retrieval/search/score.ts";
import { DIMENSION, noise } from "../support.ts";

const QUESTION = noise(5 * DIMENSION, 3);

/** [question tokens, centroids] */
const centroidProducts = ({ centroids }: Codebook): Float32Array => {
  const count = centroids.length / DIMENSION;
  return Float32Array.from({ length: 5 * count }, (_, at) => {
    const [i, centroid] = [Math.floor(at / count), at % count];
    let product = 0;
    for (let d = 0; d < DIMENSION; d++)
      product += QUESTION[i * DIMENSION + d]! * centroids[centroid * DIMENSION + d]!;
    return product;
  });
};

for (const bits of [1, 2, 8] as const)
  test(`scores of codes are those of decompressed keys, or a little below: ${bits} bits`, async () => {
    const keys = noise(3000 * DIMENSION);
    const codebook = await trainCodebook(keys, DIMENSION, 32, bits);
    await using encoder = await openEncoder(codebook);
    const codes = await encoder.encode(keys);
    const starts = codeStarts(codes, codebook);
    const score = codeScorers(codebook, QUESTION, centroidProducts(codebook))(new Float32Array(5).fill(-99));
    let below = 0;
    for (let p = 0; p < 100; p++) {
      const tokens = 1 + (p % 30);
      const passage = codes.subarray(starts[30 * p], starts[30 * p + tokens]);
      const exact = avgMax(QUESTION, decodeKeys(passage, codebook), DIMENSION);
      const found = score(passage);
      assert.ok(found <= exact + 1e-5);
      if (tokens === 1) assert.ok(Math.abs(found - exact) < 1e-5);
      assert.is(score(passage), found);
      below += (exact - found) / 100;
    }
    assert.ok(below < 0.01, `on average ${below} below`);
  });

test("scores of near centroids are those of their keys alone, and the threshold where there are none", async () => {
  const keys = noise(600 * DIMENSION);
  const codebook = await trainCodebook(keys, DIMENSION, 32, 2);
  await using encoder = await openEncoder(codebook);
  const codes = await encoder.encode(keys);
  const starts = codeStarts(codes, codebook);
  const decoded = decodeKeys(codes, codebook);
  const centroids = centroidsOf(codes, codebook);
  const products = centroidProducts(codebook);
  // so many centroids are near to each token: none, one, two, five, all
  const thresholds = Float32Array.from([0, 1, 2, 5, 32], (count, i) =>
    count === 0
      ? 9
      : products
          .slice(32 * i, 32 * i + 32)
          .sort()
          .at(-count)!,
  );
  const score = codeScorers(codebook, QUESTION, products)(thresholds);
  let below = 0;
  for (let p = 0; p < 20; p++) {
    let expected = 0;
    for (const [i, threshold] of thresholds.entries()) {
      let best = threshold;
      for (let token = 30 * p; token < 30 * p + 30; token++)
        if (products[32 * i + centroids[token]!]! >= threshold)
          best = Math.max(best, dotProduct(QUESTION, i * DIMENSION, decoded, token * DIMENSION, DIMENSION));
      expected += best / 5;
    }
    const found = score(codes.subarray(starts[30 * p], starts[30 * p + 30]));
    assert.ok(found <= expected + 1e-5);
    below += (expected - found) / 20;
  }
  assert.ok(below < 0.01, `on average ${below} below`);
});

test.run();
