import { test } from "uvu";
import * as assert from "uvu/assert";
import { codeScorer } from "../../src/retrieval/code-scores.ts";
import { type Codebook, codeStarts, decodeKeys } from "../../src/retrieval/codec.ts";
import { openEncoder } from "../../src/retrieval/key-encoder.ts";
import { avgMax } from "../../src/retrieval/score.ts";
import { trainCodebook } from "../../src/retrieval/train-codebook.ts";
import { DIMENSION, noise } from "./support.ts";

const QUESTION = noise(5 * DIMENSION, 3);

/** [centroids, question tokens] */
const centroidProducts = ({ centroids }: Codebook): Float32Array =>
  Float32Array.from({ length: (centroids.length / DIMENSION) * 5 }, (_, at) => {
    const [centroid, i] = [Math.floor(at / 5), at % 5];
    let product = 0;
    for (let d = 0; d < DIMENSION; d++)
      product += QUESTION[i * DIMENSION + d]! * centroids[centroid * DIMENSION + d]!;
    return product;
  });

for (const bits of [1, 2, 8] as const)
  test(`scores of codes are those of decompressed keys, or a little below: ${bits} bits`, async () => {
    const keys = noise(3000 * DIMENSION);
    const codebook = await trainCodebook(keys, DIMENSION, 32, bits);
    await using encoder = await openEncoder(codebook);
    const codes = await encoder.encode(keys);
    const starts = codeStarts(codes, codebook);
    const score = codeScorer(codebook, QUESTION, centroidProducts(codebook));
    let below = 0;
    for (let first = 0; first < 3000; first += 30) {
      const length = 1 + ((first / 30) % 30);
      const passage = codes.subarray(starts[first], starts[first + length]);
      const exact = avgMax(QUESTION, decodeKeys(passage, codebook), DIMENSION);
      assert.ok(score(passage) <= exact + 1e-5);
      if (length === 1) assert.ok(Math.abs(score(passage) - exact) < 1e-5);
      below += (exact - score(passage)) / 100;
    }
    assert.ok(below < 0.01, `on average ${below} below`);
  });

test.run();
