import { test } from "uvu";
import * as assert from "uvu/assert";
import { codeStarts, longestKeyOf } from "../../../src/retrieval/codec/codec.ts";
import { openKeyDecoder } from "../../../src/retrieval/codec/key-decoder.ts";
import { openKeyEncoder } from "../../../src/retrieval/codec/key-encoder.ts";
import { sampleOf } from "../../../src/retrieval/codec/sample.ts";
import { trainCodebook } from "../../../src/retrieval/codec/train-codebook.ts";
import { longestRow } from "../../../src/retrieval/scoring/vectors.ts";
import { openCodePassageScorer } from "../../../src/retrieval/search/code-passage-scorer.ts";
import { openPassageScorer } from "../../../src/retrieval/search/passage-scorer.ts";
import { codesOf, DIMENSION, listed, naiveSearch, noise } from "../support.ts";

/** More than a batch of the scorer. */
const PASSAGES = 1_100;

for (const bits of [1, 2, 8] as const)
  test(`scores from codes are those of all decoded keys, bit for bit: ${bits} bits`, async () => {
    const keys = noise(5_000 * DIMENSION);
    const codebook = await trainCodebook(sampleOf(keys, DIMENSION), DIMENSION, 32, bits);
    await using encoder = await openKeyEncoder(codebook);
    const codes = await encoder.encode(keys);
    const starts = codeStarts(codes, codebook);
    const decode = openKeyDecoder(codebook);
    const passages = Array.from({ length: PASSAGES }, (_, p) =>
      codes.subarray(starts[4 * p], starts[4 * p + 1 + (p % 30)]),
    );
    const exact = passages.map((passage) => decode(passage));
    const longestKey = longestKeyOf(codebook);
    assert.ok(longestKey >= longestRow(decode(codes), DIMENSION));
    const store = {
      dimension: DIMENSION,
      longestKey,
      decode,
      codes: codesOf(passages),
    };
    await using scorer = openCodePassageScorer(store, codebook);
    const all = Uint32Array.from(passages.keys());
    const questions = [1, 5, 30].map((tokens) => noise(tokens * DIMENSION, tokens));
    const check = async (question: Float32Array): Promise<void> => {
      const naive = naiveSearch(question, exact, PASSAGES);
      for (const topK of [1, 20, PASSAGES]) {
        const [found] = await scorer.best([question], all, topK, undefined);
        assert.equal(listed(found!), naive.slice(0, topK));
      }
      const some = Uint32Array.from(naive.slice(0, 700), ({ ordinal }) => ordinal);
      const expected = naive.slice(0, 700).map(({ score }) => score);
      assert.equal([...(await scorer.score(question, some))], expected);
    };
    await Promise.all(questions.map(check));
    assert.equal([...(await scorer.score(questions[0]!, new Uint32Array()))], []);
  });

test("a store that learns the lengths of its keys while they are read has exact scores", async () => {
  const question = noise(5 * DIMENSION, 3);
  const base = noise(DIMENSION, 4);
  const passages = Array.from({ length: 40 }, (_, p) =>
    // products that differ by less than float32 shows
    noise(100 * DIMENSION, p + 10).map((value, i) => base[i % DIMENSION]! + 3e-7 * value),
  );
  const store = {
    dimension: DIMENSION,
    longestKey: 0,
    async keys(ordinal: number) {
      store.longestKey = Math.max(store.longestKey, longestRow(passages[ordinal]!, DIMENSION));
      return passages[ordinal]!;
    },
  };
  await using scorer = openPassageScorer(store, 1);
  const all = Uint32Array.from(passages.keys());
  const [found] = await scorer.best([question], all, passages.length, undefined);
  assert.equal(listed(found!), naiveSearch(question, passages, passages.length));
});

test.run();
