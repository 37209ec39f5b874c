import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { type Codebook, codeStarts } from "../../../src/retrieval/codec/codec.ts";
import { openKeyDecoder } from "../../../src/retrieval/codec/key-decoder.ts";
import { openKeyEncoder } from "../../../src/retrieval/codec/key-encoder.ts";
import { sampleOf } from "../../../src/retrieval/codec/sample.ts";
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

/** The score of one passage. */
function scoreCodes(scorer: CodeScorer, codes: Uint8Array): number {
  scorer.allocate(1, codes.length).set(codes);
  return scorer.maxima(Uint32Array.of(0, codes.length), 0).scores[0]!;
}

const scoreOf = (question: Float32Array, keys: Float32Array) =>
  naiveSearch(question, [keys], 1)[0]!.score;

for (const name of ["Module", "Memory", "Instance"] as const) // Module first: it is compiled once
  test(`without address space for WebAssembly.${name}, one line names the limit`, async () => {
    const codebook = await trainCodebook(
      sampleOf(noise(300 * DIMENSION), DIMENSION),
      DIMENSION,
      4,
      1,
    );
    const original = WebAssembly[name];
    Object.assign(WebAssembly, {
      [name]: class {
        constructor() {
          throw new RangeError(`WebAssembly.${name}(): Out of memory: could not allocate memory`);
        }
      },
    });
    try {
      assert.throws(
        () => new CodeScorer(codebook),
        (error: unknown) => error instanceof InputError && /ulimit -v/.test(error.message),
      );
    } finally {
      Object.assign(WebAssembly, { [name]: original });
    }
  });

for (const bits of [1, 2, 8] as const)
  test(`scores of codes are close to those of decoded keys: ${bits} bits`, async () => {
    const keys = noise(3000 * DIMENSION);
    const codebook = await trainCodebook(sampleOf(keys, DIMENSION), DIMENSION, 32, bits);
    await using encoder = await openKeyEncoder(codebook);
    const codes = await encoder.encode(keys);
    const starts = codeStarts(codes, codebook);
    const scorer = new CodeScorer(codebook);
    const decode = openKeyDecoder(codebook);
    // Rows of 8, 16 and 24 tokens; several groups, the last of them not full; then fewer again, so
    // that products of the last question must not count.
    for (const tokens of [5, 16, 20, 24, 25, 49, 9, 1]) {
      const question = noise(tokens * DIMENSION, tokens);
      scorer.setQuestion(question, centroidProducts(question, codebook));
      for (let p = 0; p < 100; p++) {
        const passage = codes.subarray(starts[30 * p], starts[30 * p + 1 + (p % 30)]);
        const exact = scoreOf(question, decode(passage));
        // The greatest product is about 20, in 32,768 steps of 16 bits. A sum of many numbers is
        // off by a few of these steps.
        const found = scoreCodes(scorer, passage);
        assert.ok(Math.abs(found - exact) < 0.01, `${found} for ${exact}`);
        assert.ok(Math.abs(found - exact) <= scorer.error, `${found} for ${exact}`);
      }
    }
  });

for (const centroids of [1, 64])
  test(`scores of likely keys: ${centroids} centroids`, async () => {
    const keys = noise(3000 * DIMENSION);
    const codebook = await trainCodebook(sampleOf(keys, DIMENSION), DIMENSION, centroids, 1);
    await using encoder = await openKeyEncoder(codebook);
    const codes = await encoder.encode(keys);
    const starts = codeStarts(codes, codebook);
    const scorer = new CodeScorer(codebook);
    let equal = 0;
    for (const tokens of [5, 16, 30]) {
      const question = noise(tokens * DIMENSION, tokens);
      scorer.setQuestion(question, centroidProducts(question, codebook));
      const ranges = Uint32Array.from({ length: 200 }, (_, i) => starts[30 * (i >> 1) + (i & 1)]!);
      const long = ranges.map((at, i) => (i & 1 ? starts[30 * (i >> 1) + 30]! : at));
      for (const [passages, all] of [
        [ranges, true],
        [long, centroids === 1],
      ] as const) {
        scorer.allocate(100, codes.length).set(codes);
        const [some, every] = [scorer.likelyScores(passages), scorer.maxima(passages, 0).scores];
        for (const [p, score] of some.entries()) {
          if (all) assert.is(score, every[p]!); // a key alone, or no centroid better than another
          assert.ok(score <= every[p]!);
          equal += score === every[p]! ? 1 : 0;
        }
      }
    }
    assert.ok(equal > 300 && (centroids === 1) === (equal === 600), `${equal}`);
  });

test("scores longer passages than before and products of all sizes without overflow", async () => {
  const keys = noise(600 * DIMENSION);
  const codebook = await trainCodebook(sampleOf(keys, DIMENSION), DIMENSION, 32, 8);
  await using encoder = await openKeyEncoder(codebook);
  const codes = await encoder.encode(keys);
  const decoded = openKeyDecoder(codebook)(codes);
  const scorer = new CodeScorer(codebook);
  for (const size of [1e-6, 1, 1e6]) {
    const question = noise(3 * DIMENSION, 7).map((value) => value * size);
    scorer.setQuestion(question, centroidProducts(question, codebook));
    const many = new Uint8Array(50 * codes.length); // more than a page of memory
    for (let copy = 0; copy < 50; copy++) many.set(codes, copy * codes.length);
    const exact = scoreOf(question, decoded);
    assert.ok(Math.abs(scoreCodes(scorer, many) / exact - 1) < 1e-3);
  }
});

test("passages lie anywhere in the memory", async () => {
  const keys = noise(300 * DIMENSION);
  const codebook = await trainCodebook(sampleOf(keys, DIMENSION), DIMENSION, 32, 2);
  await using encoder = await openKeyEncoder(codebook);
  const codes = await encoder.encode(keys);
  const starts = codeStarts(codes, codebook);
  const question = noise(4 * DIMENSION, 3);
  const scorer = new CodeScorer(codebook);
  scorer.setQuestion(question, centroidProducts(question, codebook));
  const passages = [7, 0, 250, 100].map((first) => codes.slice(starts[first], starts[first + 40]));
  const expected = passages.map((passage) => scoreCodes(scorer, passage));
  const memory = scorer.allocate(passages.length, 10_000);
  const ranges = passages.flatMap((passage, i) => {
    const start = [5_000, 9_000, 3, 7_001][i]!;
    memory.set(passage, start);
    return [start, start + passage.length];
  });
  assert.equal([...scorer.maxima(Uint32Array.from(ranges), 0).scores], expected);
});

test.run();
