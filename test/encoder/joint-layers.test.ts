/**
 * The joint layers over pairs of a question and a passage, compared with plain loops over
 * each pair.
 */

import { test } from "uvu";
import { jointStates } from "../../src/encoder/joint-layers.ts";
import { inferenceContext } from "../../src/model/layers/context.ts";
import { positionBuckets } from "../../src/model/layers/relative-position.ts";
import { buildParameters } from "../../src/model/parameter-names.ts";
import { compile } from "../../src/tensor/session.ts";
import { trace } from "../../src/tensor/trace.ts";
import { assertNear } from "../support/arrays.ts";
import { tabulate } from "../support/naive-ops.ts";
import { naiveT5 } from "../support/naive-t5.ts";
import { randomIds, randomWeights, TINY_MODELS } from "../support/tiny-model.ts";

const TOLERANCE = 2e-6; // float32 through a few layers
const PADDING = 1e3; // any value: no token attends to padding

for (const [name, config] of Object.entries(TINY_MODELS)) {
  test(`${name}: pairs of different lengths in one batch`, async () => {
    const weights = randomWeights(config, name);
    const naive = naiveT5(config, weights);
    const pairs = [
      [1, 11],
      [6, 1],
      [4, 8],
    ].map(([question, passage], i) => ({
      question: randomIds(config, question!, "question", i),
      passage: randomIds(config, passage!, "passage", i),
    }));
    const [questionLength, passageLength] = [6, 11];
    const length = questionLength + passageLength;
    const lower = pairs.map(({ question, passage }) => naive.reading(question, passage));
    /** The position in the pair itself of a position in the padded pair; outside it for padding. */
    const unpadded = (pair: number, position: number) =>
      position - questionLength + pairs[pair]!.question.length;
    const state = (pair: number, position: number, at: number) =>
      lower[pair]![unpadded(pair, position)]?.[at] ?? PADDING;

    const { modelSize } = config;
    const graph = trace(
      {
        states: ["float32", "pairs", "length", modelSize],
        mask: ["float32", "pairs", "length"],
        buckets: ["int32", "length", "length"],
      },
      (ops, input) => {
        const parameters = buildParameters(config, (leaf, shape) => ops.parameter(leaf, shape));
        return { states: jointStates(inferenceContext(ops, config), parameters, input) };
      },
    );
    await using session = await compile(graph, { weights });
    const { states } = await session.run<"states">({
      states: tabulate([3, length, modelSize], ([pair, i, at]) => state(pair!, i!, at!)),
      mask: tabulate([3, length], ([pair, i]) => (lower[pair!]![unpadded(pair!, i!)] ? 1 : 0)),
      buckets: positionBuckets(config, "encoder", length),
    });
    for (const [i, { question, passage }] of pairs.entries()) {
      const start = i * length + questionLength - question.length;
      const own = states.data.subarray(start * modelSize, (start + lower[i]!.length) * modelSize);
      assertNear(own, naive.encode(question, passage).flat(), TOLERANCE);
    }
  });
}

test.run();
