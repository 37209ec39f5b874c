/**
 * The retrieval loss of a model with pooling, with cosines, or with token weights: its gradients on
 * each engine against central differences of the loss in float64 loops.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { type ModelConfig, POOLINGS, SIMILARITIES } from "../../../src/model/config.ts";
import type { LayerContext } from "../../../src/model/layers/context.ts";
import { TOKEN_WEIGHTS } from "../../../src/model/parameter-names.ts";
import { gradientAccumulator } from "../../../src/training/gradient-cache/gradient-cache.ts";
import { chunksOf, type TokenExample } from "../../../src/training/loss/batch.ts";
import type { ChunkInputs } from "../../../src/training/loss/graph-inputs.ts";
import { chunkLoss } from "../../../src/training/loss/loss-graph.ts";
import {
  buildTrainedParameters,
  LOG_SCALE,
  partlyTrained,
} from "../../../src/training/loss/trained-parameters.ts";
import { assertNear } from "../../support/arrays.ts";
import { BACKENDS } from "../../support/backends.ts";
import { centralDifferences } from "../../support/central-differences.ts";
import type { NaiveTensor } from "../../support/naive-ops.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { trainedStates } from "../../support/training.ts";

const TOLERANCE = 2e-4; // float32
const small = tinyConfig({
  ...{ vocabularySize: 12, modelSize: 6, heads: 2, headSize: 3, feedForwardSize: 4 },
  retrievalHead: 1,
});
const [A, B, C] = [
  [5, 6, 8, 1],
  [7, 9, 1],
  [6, 1],
];
/** Questions and passages of several lengths, which are padded. */
const examples: TokenExample[] = [
  { question: [5, 1], answer: [], passages: [A!, B!], positives: [0] },
  { question: [7, 3, 1], answer: [], passages: [B!, C!], positives: [0], scores: [2, 1] },
];
const options = { alpha: 2, inBatchNegatives: true, dropout: 0, retrievalOnly: true } as const;
const CHECKED = [
  LOG_SCALE,
  "encoder.block.1.layer.0.SelfAttention.q.weight",
  "encoder.block.1.layer.0.SelfAttention.k.weight",
  "encoder.block.1.layer.0.layer_norm.weight",
  "encoder.block.0.layer.0.SelfAttention.v.weight",
];

const SHAPES: Readonly<Record<string, Partial<ModelConfig>>> = {
  tokens: {},
  "tokens, two heads": { retrievalHead: 0, retrievalHeads: 2 },
  "weighted tokens": { tokenWeights: true },
  ...Object.fromEntries(POOLINGS.map((pooling) => [pooling, { pooling }])),
};

for (const [name, shape] of Object.entries(SHAPES))
  for (const similarity of SIMILARITIES) {
    const config = { ...small, ...shape, similarity };
    const checkedNames = [...CHECKED, ...(shape.tokenWeights ? [TOKEN_WEIGHTS] : [])];

    test(`${name}, ${similarity}: gradients are central differences, in chunks too`, async () => {
      const states = trainedStates(config);
      const objective = "retrieval";
      const [chunk] = chunksOf(config, examples, examples.length, { ...options, objective });
      const loss = (
        ops: LayerContext<NaiveTensor>["ops"],
        ...checked: NaiveTensor[]
      ): NaiveTensor => {
        const context = { ops, config, dropout: (x: NaiveTensor) => x };
        const trained = buildTrainedParameters<NaiveTensor>(ops, config, options, (name, shape) => {
          const at = checkedNames.indexOf(name);
          return at < 0 ? { data: states.get(name)!.value, shape } : checked[at]!;
        });
        const input = chunk!.tensors as ChunkInputs<NaiveTensor>;
        return chunkLoss(context, trained, input, { ...options, objective }).loss;
      };
      const tensors = checkedNames.map((name) => {
        const { value: data, shape } = states.get(name)!;
        return { data, shape: [...shape] };
      });
      const expected = centralDifferences(loss, tensors);
      for (const [engine, open] of Object.entries(BACKENDS))
        for (const chunkQuestions of [2, 1]) {
          await using backend = await open(config, states, options);
          backend.clearGradients();
          const accumulate = gradientAccumulator(config, backend.passes, options);
          await accumulate({ examples, chunkQuestions, objective, key: ["key"] });
          await backend.read(states.keys());
          for (const [i, name] of checkedNames.entries())
            assertNear(
              states.get(name)!.gradient,
              expected[i]!,
              TOLERANCE,
              `${engine}, ${chunkQuestions} questions a chunk, ${name}`,
            );
        }
    });
  }

test("all heads are trained", () => {
  const pooled = { ...small, pooling: "mean" } as const;
  for (const trained of [{ retrievalOnly: true }, { querySide: "projection" }] as const) {
    assert.is.not(partlyTrained(small, trained).size, 0);
    assert.is(partlyTrained(pooled, trained).size, 0);
  }
});

test.run();
