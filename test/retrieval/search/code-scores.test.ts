import { readFile } from "node:fs/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { COMPILED, compileKernel } from "../../../scripts/build-wasm.ts";
import { type Codebook, codeStarts, decodeKeys } from "../../../src/retrieval/codec/codec.ts";
import { openKeyEncoder } from "../../../src/retrieval/codec/key-encoder.ts";
import { trainCodebook } from "../../../src/retrieval/codec/train-codebook.ts";
import { CodeScorer } from "../../../src/retrieval/search/code-scores.ts";
import { DIMENSION, naiveSearch, noise } from "../support.ts";

/** [question tokens, centroids] */
const centroidProducts = (question: Float32Array, { centroids }: Codebook): Float32Array => {
  const count = centroids.length / DIMENSION;
  return Float32Array.from({ length: (question.length / DIMENSION) * count }, (_, at) => {
    const [i, centroid] = [Math.floor(at / count), at % count];
    let product = 0;
    for (let d = 0; d < DIMENSION; d++)
      product += question[i * DIMENSION + d]! * centroids[centroid * DIMENSION + d]!;
    return product;
  });
};

const scoreOf = (question: Float32Array, keys: Float32Array) =>
  naiveSearch(question, [keys], 1)[0]!.score;

for (const bits of [1, 2, 8] as const)
  test(`scores of codes are those of decompressed keys: ${bits} bits`, async () => {
    const keys = noise(3000 * DIMENSION);
    const codebook = await trainCodebook(keys, DIMENSION, 32, bits);
    await using encoder = await openKeyEncoder(codebook);
    const codes = await encoder.encode(keys);
    const starts = codeStarts(codes, codebook);
    const scorer = new CodeScorer(codebook);
    // one group of lanes, two, three with a single token in the last, then fewer again: what is left of the last question must not count
    for (const tokens of [5, 20, 33, 1]) {
      const question = noise(tokens * DIMENSION, tokens);
      scorer.ask(question, centroidProducts(question, codebook));
      for (let p = 0; p < 100; p++) {
        const passage = codes.subarray(starts[30 * p], starts[30 * p + 1 + (p % 30)]);
        const exact = scoreOf(question, decodeKeys(passage, codebook));
        // the greatest product is about 20, of which 16 bits distinguish 32,768 parts; a sum of many numbers is off by a few of them
        assert.ok(
          Math.abs(scorer.score(passage) - exact) < 0.01,
          `${scorer.score(passage)} for ${exact}`,
        );
      }
    }
  });

test("a passage that is longer than any before, and products of all sizes, are scored without overflow", async () => {
  const keys = noise(600 * DIMENSION);
  const codebook = await trainCodebook(keys, DIMENSION, 32, 8);
  await using encoder = await openKeyEncoder(codebook);
  const codes = await encoder.encode(keys);
  const decoded = decodeKeys(codes, codebook);
  const scorer = new CodeScorer(codebook);
  for (const size of [1e-6, 1, 1e6]) {
    const question = noise(3 * DIMENSION, 7).map((value) => value * size);
    scorer.ask(question, centroidProducts(question, codebook));
    const many = new Uint8Array(50 * codes.length); // more than a page of memory
    for (let copy = 0; copy < 50; copy++) many.set(codes, copy * codes.length);
    const exact = scoreOf(question, decoded);
    assert.ok(Math.abs(scorer.score(many) / exact - 1) < 1e-3);
  }
});

test("the compiled kernel is that of its source", async () => {
  assert.is(await readFile(COMPILED, "utf8"), await compileKernel());
});

test.run();
