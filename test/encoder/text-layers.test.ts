/**
 * Shared and retrieval layers over a question or a passage alone, compared with both side by side,
 * in plain loops and in a graph.
 */

import { test } from "uvu";
import { padBatch } from "../../src/encoder/batching.ts";
import {
  encodeSequences,
  ofPassages,
  openRetrieverSession,
  querySide,
  type TextOf,
} from "../../src/encoder/retriever-session.ts";
import { MASKED } from "../../src/model/layers/attention.ts";
import { inferenceContext } from "../../src/model/layers/context.ts";
import { positionBuckets, relativeBias } from "../../src/model/layers/relative-position.ts";
import { t5Layer } from "../../src/model/layers/t5.ts";
import { buildParameters, queryEncoderSources } from "../../src/model/parameter-names.ts";
import type { T5Layers } from "../../src/model/parameters.ts";
import type { Tensor } from "../../src/tensor/ops.ts";
import { compile } from "../../src/tensor/session.ts";
import { trace, type Value } from "../../src/tensor/trace.ts";
import { assertNear } from "../support/arrays.ts";
import { tabulate } from "../support/naive-ops.ts";
import { naiveT5 } from "../support/naive-t5.ts";
import { randomIds, randomWeights, TINY_MODELS, tinyConfig } from "../support/tiny-model.ts";

const TOLERANCE = 2e-6; // float32 through a few layers; measured below 5e-7

for (const [name, config] of Object.entries(TINY_MODELS)) {
  const weights = randomWeights(config, name);
  const question = randomIds(config, 7, "question");
  const passage = randomIds(config, 19, "passage");

  test(`${name}: states, query vectors and keys equal those of plain loops`, async () => {
    const naive = naiveT5(config, weights);
    const states = naive.lower(question, passage);
    const [own, ofPassage] = [states.slice(0, question.length), states.slice(question.length)];
    const reading = naive.reading(question, passage).slice(question.length);
    await using encoder = await openRetrieverSession(config, { weights });
    const encode = async (ids: number[], output: "states" | "reading" | "queries" | "keys") =>
      (await encodeSequences(encoder, config, [ids], output))[0]!;
    assertNear(await encode(question, "states"), own.flat(), TOLERANCE);
    assertNear(await encode(passage, "states"), ofPassage.flat(), TOLERANCE);
    assertNear(await encode(passage, "reading"), reading.flat(), TOLERANCE);
    assertNear(await encode(question, "queries"), naive.retrieval("q", own).flat(), TOLERANCE);
    assertNear(await encode(passage, "keys"), naive.retrieval("k", ofPassage).flat(), TOLERANCE);
  });

  const [shared] = config.shared;
  if (shared?.kind !== "t5") continue; // BERT has positions of its own
  test(`${name}: a block-diagonal mask over question and passage gives the states of each alone`, async () => {
    const length = question.length + passage.length;
    const isQuestion = (i: number): boolean => i < question.length;
    const graph = trace(
      {
        ids: ["int32", 1, length],
        buckets: ["int32", length, length],
        blocks: ["float32", 1, 1, length, length],
      },
      (ops, { ids, buckets, blocks }) => {
        const parameters = buildParameters(config, (leaf, shape) => ops.parameter(leaf, shape));
        const stack = parameters.shared[0] as T5Layers<Value>;
        const bias = ops.add(relativeBias(ops, stack.relativeBias, buckets), blocks);
        let x = ops.gather(parameters.embedding, ids);
        for (const layer of stack.layers)
          x = t5Layer(inferenceContext(ops, config), shared, layer, x, bias);
        return { states: x };
      },
    );
    await using session = await compile(graph, { weights });
    const { states } = await session.run<"states">({
      ids: { data: Int32Array.from([...question, ...passage]), shape: [1, length] },
      buckets: positionBuckets(config, "encoder", length),
      blocks: tabulate([1, 1, length, length], ([, , i, j]) =>
        isQuestion(i!) === isQuestion(j!) ? 0 : MASKED,
      ),
    });
    await using encoder = await openRetrieverSession(config, { weights });
    const alone = await encodeSequences(encoder, config, [question, passage], "states");
    assertNear([...alone[0]!, ...alone[1]!], states.data, TOLERANCE);
  });
}

test("a query encoder equals an encoder with its weights", async () => {
  const config = tinyConfig({ encoderLayers: 3, retrievalLayer: 2, queryEncoder: true });
  const weights = randomWeights(config, "query encoder");
  const question = randomIds(config, 7, "question");
  const asking = new Map(weights);
  for (const [copy, source] of queryEncoderSources(config)) asking.set(source, weights.get(copy)!);
  const vectors = async (side: TextOf, output: "queries" | "states") => {
    await using encoder = await openRetrieverSession(config, { weights }, side);
    return (await encodeSequences(encoder, config, [question], output))[0]!;
  };
  for (const [side, naive] of [
    [querySide, naiveT5(config, asking)],
    [ofPassages, naiveT5(config, weights)],
  ] as const) {
    const states = naive.lower(question, []);
    assertNear(await vectors(side, "states"), states.flat(), TOLERANCE);
    assertNear(await vectors(side, "queries"), naive.retrieval("q", states).flat(), TOLERANCE);
  }
});

const config = tinyConfig({ encoderLayers: 3, retrievalLayer: 2 });
const weights = randomWeights(config, "padding");
const sequences = [1, 9, 4, 9, 17].map((length) => randomIds(config, length, "padding", length));

test("padding on either side, with any id, does not change the states", async () => {
  await using encoder = await openRetrieverSession(config, { weights });
  for (const side of ["left", "right"] as const)
    for (const padId of [0, 5]) {
      const { states } = await encoder.encode(padBatch(sequences, side, padId), ["states"]);
      for (const [row, ids] of sequences.entries()) {
        const alone = await encoder.encode(padBatch([ids], side, padId), ["states"]);
        assertNear(unpadded(states, row, ids.length, side), alone.states.data, TOLERANCE);
      }
    }
});

/** The states of a row of a padded batch, without its padding. */
function unpadded(
  states: Tensor,
  row: number,
  count: number,
  side: "left" | "right",
): ArrayLike<number> {
  const [, length, size] = states.shape as [number, number, number];
  const start = row * length + (side === "left" ? length - count : 0);
  return states.data.subarray(start * size, (start + count) * size);
}

test.run();
