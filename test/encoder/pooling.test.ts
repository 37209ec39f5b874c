/** Vectors of whole texts, and cosines of tokens, against plain loops over the vectors of heads. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { padBatch } from "../../src/encoder/batching.ts";
import { encodeSequences, openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import {
  headLayer,
  type ModelConfig,
  POOLINGS,
  SIMILARITIES,
  vectorSize,
  withAttention,
  withHead,
} from "../../src/model/config.ts";
import { assertNear } from "../support/arrays.ts";
import { naiveT5 } from "../support/naive-t5.ts";
import { randomIds, randomWeights, tinyConfig, withChanges } from "../support/tiny-model.ts";

const TOLERANCE = 2e-6; // float32 through a few layers
const config = tinyConfig({ encoderLayers: 3, retrievalLayer: 2 });
const weights = randomWeights(config, "pooling");
const sequences = [1, 9, 4, 17].map((length) => [...randomIds(config, length, "text", length), 1]);

/** The vector of a text, computed token by token and head by head. */
function naiveVector(
  ids: readonly number[],
  projection: "q" | "k",
  { retrievalAttention: { pooling, similarity } }: ModelConfig,
): number[] {
  const heads = Array.from({ length: headLayer(config).heads }, (_, head) => {
    const naive = naiveT5(withHead(config, head), weights);
    return naive.retrieval(projection, naive.lower(ids, [])); // [tokens][headSize]
  });
  const tokens = ids.map((_, i) => heads.flatMap((ofHead) => ofHead[i]!));
  const vector =
    pooling === "eos"
      ? tokens.at(-1)!
      : pooling === "cls"
        ? tokens[0]!
        : tokens[0]!.map((_, d) => tokens.reduce((sum, row) => sum + row[d]!, 0) / tokens.length);
  const length = similarity === "cosine" ? Math.hypot(...vector) : 1;
  return vector.map((value) => value / length);
}

for (const pooling of POOLINGS)
  for (const similarity of SIMILARITIES)
    test(`${pooling}, ${similarity}: one vector for each text, with any padding`, async () => {
      const pooled = withAttention(config, () => ({ pooling, similarity }));
      await using encoder = await openRetrieverSession(pooled, { weights });
      for (const [output, projection] of [
        ["queries", "q"],
        ["keys", "k"],
      ] as const) {
        const expected = sequences.map((ids) => naiveVector(ids, projection, pooled));
        const vectors = await encodeSequences(encoder, pooled, sequences, output);
        for (const [i, vector] of vectors.entries()) {
          assert.is(vector.length, vectorSize(pooled));
          assertNear(vector, expected[i]!, TOLERANCE);
        }
        for (const side of ["left", "right"] as const) {
          const padded = await encoder.encode(padBatch(sequences, side, 0), [output]);
          assert.equal(padded[output].shape, [sequences.length, 1, vectorSize(pooled)]);
          assertNear(padded[output].data, expected.flat(), TOLERANCE, side);
        }
      }
    });

test("tokens, cosine: the vectors of the retrieval head, each divided by its length", async () => {
  const cosine = withAttention(config, () => ({ similarity: "cosine" }));
  const naive = naiveT5(config, weights);
  await using encoder = await openRetrieverSession(cosine, { weights });
  for (const [output, projection] of [
    ["queries", "q"],
    ["keys", "k"],
  ] as const) {
    const vectors = await encodeSequences(encoder, cosine, sequences, output);
    for (const [i, ids] of sequences.entries()) {
      const rows = naive.retrieval(projection, naive.lower(ids, []));
      const expected = rows.flatMap((row) => row.map((x) => x / Math.hypot(...row)));
      assertNear(vectors[i]!, expected, TOLERANCE);
    }
  }
});

test("two heads: their vectors joined, with any similarity", async () => {
  for (const similarity of SIMILARITIES) {
    const joined = withChanges(config, { retrievalHead: 1, retrievalHeads: 2, similarity });
    assert.is(vectorSize(joined), 2 * headLayer(config).headSize);
    await using encoder = await openRetrieverSession(joined, { weights });
    const vectors = await encodeSequences(encoder, joined, sequences, "keys");
    for (const [i, ids] of sequences.entries()) {
      const [one, two] = [1, 2].map((head) => {
        const naive = naiveT5(withHead(config, head), weights);
        return naive.retrieval("k", naive.lower(ids, []));
      });
      const expected = one!.flatMap((row, token) => {
        const both = [...row, ...two![token]!];
        const length = similarity === "cosine" ? Math.hypot(...both) : 1;
        return both.map((x) => x / length);
      });
      assertNear(vectors[i]!, expected, TOLERANCE);
    }
  }
});

test.run();
