import { test } from "uvu";
import * as assert from "uvu/assert";
import { openReaderSession } from "../../src/decoder/reader-session.ts";
import { padBatch } from "../../src/encoder/batching.ts";
import {
  openRetrieverSession,
  querySide,
  type TextOf,
} from "../../src/encoder/retriever-session.ts";
import { balanceColumns } from "../../src/model/balance-columns.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { randomIds, randomWeights, TINY_MODELS, tinyConfig } from "../support/tiny-model.ts";

type Weights = ReadonlyMap<string, Float32Array>;

async function balanced(config: ModelConfig, weights: Weights): Promise<Weights> {
  const read = balanceColumns(config, async (name) => weights.get(name)!);
  const names = [...parameterShapes(config).keys()];
  return new Map(await Promise.all(names.map(async (name) => [name, await read(name)] as const)));
}

/** Queries and keys, and the first step of an answer. */
async function outputsOf(config: ModelConfig, weights: Weights): Promise<Float32Array[]> {
  const options = { weights, threads: 1 };
  const ids = [randomIds(config, 5, "passage"), randomIds(config, 3, "question")];
  const batch = padBatch(ids, "right", config.padId);
  const retrieve = async (side?: TextOf) => {
    await using session = await openRetrieverSession(config, options, side);
    return await session.encode(batch, ["states", "queries", "keys"]);
  };
  const { states, queries, keys } = await retrieve();
  const adapted = config.queryEncoder ? await retrieve(querySide) : undefined;
  await using reader = await openReaderSession(config, options);
  const [passage, question] = [0, 1].map((row) =>
    (states.data as Float32Array).slice(
      row * 5 * config.modelSize,
      (row * 5 + ids[row]!.length) * config.modelSize,
    ),
  );
  const fused = await reader.fuse([{ question: question!, passages: [passage!] }]);
  const step = await reader.step(fused, {
    ids: { data: Int32Array.of(config.decoderStartId), shape: [1, 1] },
    parents: { data: Int32Array.of(0), shape: [1] },
    past: reader.start(1),
  });
  const tensors = [
    states,
    queries,
    keys,
    adapted?.queries,
    step.logits,
    step.attention,
    step.copy?.gate,
  ];
  return tensors.flatMap((tensor) => (tensor ? [tensor.data as Float32Array] : []));
}

const configs = { ...TINY_MODELS, "query encoder": tinyConfig({ queryEncoder: true }) };
for (const [name, config] of Object.entries(configs))
  test(`balanced columns do not change the model: ${name}`, async () => {
    const weights = randomWeights(config, "balance");
    const expected = await outputsOf(config, weights);
    const got = await outputsOf(config, await balanced(config, weights));
    expected.forEach((values, output) => {
      values.forEach((value, i) => {
        assert.ok(Math.abs(got[output]![i]! - value) < 1e-4, `output ${output}, ${i}`);
      });
    });
  });

test("a column is divided by the square root of its largest value, the norm multiplied by it", async () => {
  const config = tinyConfig();
  const weights = randomWeights(config, "balance");
  const after = await balanced(config, weights);
  const layer = "decoder.layer.1.layer.2";
  const matrices = [`${layer}.DenseReluDense.wi_0.weight`, `${layer}.DenseReluDense.wi_1.weight`];
  for (let column = 0; column < config.modelSize; column++) {
    const rows = Array.from(
      { length: config.decoder.feedForwardSize },
      (_, i) => i * config.modelSize,
    );
    const values = matrices.flatMap((name) => rows.map((row) => weights.get(name)![row + column]!));
    const factor = Math.sqrt(Math.max(...values.map(Math.abs)));
    const norm = `${layer}.layer_norm.weight`;
    const scaled = weights.get(norm)![column]! * factor;
    assert.ok(Math.abs(after.get(norm)![column]! - scaled) < 1e-6);
    const divided = weights.get(matrices[1]!)![column]! / factor;
    assert.ok(Math.abs(after.get(matrices[1]!)![column]! - divided) < 1e-6);
  }
});

test("a column of zeros stays", async () => {
  const config = tinyConfig();
  const weights = randomWeights(config, "balance");
  const name = "decoder.layer.0.layer.1.EncDecAttention.q.weight";
  const zeros = new Map(weights).set(name, new Float32Array(weights.get(name)!.length));
  assert.equal((await balanced(config, zeros)).get(name), zeros.get(name));
});

test.run();
