import { test } from "uvu";
import * as assert from "uvu/assert";
import { codeStarts } from "../../../src/retrieval/codec/codec.ts";
import { openKeyDecoder } from "../../../src/retrieval/codec/key-decoder.ts";
import { openKeyEncoder } from "../../../src/retrieval/codec/key-encoder.ts";
import { sampleOf } from "../../../src/retrieval/codec/sample.ts";
import { trainCodebook } from "../../../src/retrieval/codec/train-codebook.ts";
import { CodeScorer } from "../../../src/retrieval/search/code-scores.ts";
import { rescoreCodes } from "../../../src/retrieval/search/rescore-codes.ts";
import { codesOf, DIMENSION, listed, naiveSearch, noise } from "../support.ts";

const PASSAGES = 60;

for (const bits of [1, 2, 8] as const)
  test(`few decoded keys give the scores of all: ${bits} bits`, async () => {
    const keys = noise(3000 * DIMENSION);
    const codebook = await trainCodebook(sampleOf(keys, DIMENSION), DIMENSION, 32, bits);
    await using encoder = await openKeyEncoder(codebook);
    const codes = await encoder.encode(keys);
    const starts = codeStarts(codes, codebook);
    const open = openKeyDecoder(codebook);
    const bounds = (p: number) => [starts[50 * p], starts[50 * p + 20 + (p % 30)]] as const;
    const passages = Array.from({ length: PASSAGES }, (_, p) => codes.subarray(...bounds(p)));
    let decoded = 0;
    const decode: typeof open = (...input) => {
      const found = open(...input);
      decoded += found.length / DIMENSION;
      return found;
    };
    const longestKey = 100;
    const store = {
      dimension: DIMENSION,
      longestKey,
      decode,
      codes: codesOf(passages),
    };
    const scorer = new CodeScorer(codebook);
    const { centroids } = codebook;
    for (const tokens of [1, 5, 16, 20, 30, 60]) {
      const question = noise(tokens * DIMENSION, tokens);
      const products = Float32Array.from({ length: tokens * 32 }, (_, at) => {
        let sum = 0;
        for (let d = 0; d < DIMENSION; d++)
          sum +=
            question[Math.floor(at / 32) * DIMENSION + d]! * centroids[(at % 32) * DIMENSION + d]!;
        return sum;
      });
      scorer.setQuestion(question, products);
      decoded = 0;
      const all = Uint32Array.from({ length: PASSAGES }, (_, p) => p);
      const best = await rescoreCodes(store, scorer, question, all, 10);
      const exact = passages.map((passage) => open(passage));
      const naive = naiveSearch(question, exact, 10);
      assert.equal(listed(best), naive);
      const keyCount = exact.reduce((sum, { length }) => sum + length / DIMENSION, 0);
      assert.ok(decoded < keyCount * Math.min(0.8, tokens / 8), `${decoded} of ${keyCount}`);
    }
  });

test.run();
