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
import { codeScorer } from "../../../src/retrieval/search/code-scores.ts";
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
    const { score } = codeScorer(codebook, QUESTION, centroidProducts(codebook));
    const lengths = Array.from({ length: 100 }, (_, p) => 1 + (p % 30));
    const passages = lengths.map((length, p) => codes.subarray(starts[30 * p], starts[30 * p + length]));
    const scores = score(passages);
    let below = 0;
    for (const [p, passage] of passages.entries()) {
      const exact = avgMax(QUESTION, decodeKeys(passage, codebook), DIMENSION);
      assert.ok(scores[p]! <= exact + 1e-5);
      if (lengths[p] === 1) assert.ok(Math.abs(scores[p]! - exact) < 1e-5);
      below += (exact - scores[p]!) / 100;
    }
    assert.equal(score(passages.slice(7, 20)), scores.slice(7, 20));
    assert.equal(score([]), new Float64Array());
    assert.ok(below < 0.01, `on average ${below} below`);
  });

test("scores of probed centroids are those of their keys alone, and a bound where there are none", async () => {
  const keys = noise(600 * DIMENSION);
  const codebook = await trainCodebook(keys, DIMENSION, 32, 2);
  await using encoder = await openEncoder(codebook);
  const codes = await encoder.encode(keys);
  const starts = codeStarts(codes, codebook);
  const decoded = decodeKeys(codes, codebook);
  const centroids = centroidsOf(codes, codebook);
  const probed = {
    centroids: [[3, 4, 5], [4], [], [9, 3], Array.from({ length: 32 }, (_, c) => c)],
    bounds: Float32Array.of(0.5, -9, 0.25, -1, -9),
  };
  const passages = Array.from({ length: 20 }, (_, p) => codes.subarray(starts[30 * p], starts[30 * p + 30]));
  const scores = codeScorer(codebook, QUESTION, centroidProducts(codebook)).scoreProbed(passages, probed);
  let below = 0;
  for (let p = 0; p < 20; p++) {
    let expected = 0;
    for (const [i, read] of probed.centroids.entries()) {
      let best = probed.bounds[i]!;
      for (let token = 30 * p; token < 30 * p + 30; token++)
        if (read.includes(centroids[token]!))
          best = Math.max(best, dotProduct(QUESTION, i * DIMENSION, decoded, token * DIMENSION, DIMENSION));
      expected += best / 5;
    }
    assert.ok(scores[p]! <= expected + 1e-5);
    below += (expected - scores[p]!) / 20;
  }
  assert.ok(below < 0.01, `on average ${below} below`);
});

test.run();
