/**
 * Tests of the webgpu provider, which webgpu.test.ts runs in a process of their own. Exits with NO_DEVICE where there is
 * none.
 */

import { test } from "uvu";
import { openReaderSession } from "../../src/decoder/reader-session.ts";
import { padBatch } from "../../src/encoder/batching.ts";
import { openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import { InputError } from "../../src/io/errors.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import type { Tensor } from "../../src/tensor/ops.ts";
import { type CompileOptions, compile } from "../../src/tensor/session.ts";
import { trace } from "../../src/tensor/trace.ts";
import { assertNear } from "../support/arrays.ts";
import { randomIds, randomWeights, TINY_MODELS } from "../support/tiny-model.ts";
import { conformOps } from "./conform-ops.ts";
import { namedSize, onOnnxruntime } from "./evaluate.ts";

const NO_DEVICE = 3; // exit code that webgpu.test.ts knows

const TOLERANCE = 5e-6; // float32 through all layers; measured below 1e-6

async function hasDevice(): Promise<boolean> {
  const graph = trace({ x: ["float32", 1] }, (ops, { x }) => ({ y: ops.add(x, x) }));
  try {
    await using _ = await compile(graph, { provider: "webgpu" });
    return true;
  } catch (error) {
    if (error instanceof InputError && error.message.includes("Failed to get a WebGPU adapter"))
      return false;
    throw error;
  }
}

/** Everything a model computes for two questions over the same two passages, the second one's in the other order. */
async function compute(
  config: ModelConfig,
  options: CompileOptions,
): Promise<Record<string, number[]>> {
  await using encoder = await openRetrieverSession(config, options);
  await using reader = await openReaderSession(config, options);
  const questions = padBatch([randomIds(config, 5, "a"), randomIds(config, 3, "b")], "right", 0);
  const passages = padBatch([randomIds(config, 9, "c"), randomIds(config, 6, "d")], "right", 0);
  const ofQuestions = await encoder.encode(questions, ["states", "queries"]);
  const ofPassages = await encoder.encode(passages, ["states", "keys"]);
  const rows = ({ data, shape }: Tensor, row: number, length: number): Float32Array => {
    const [, longest, size] = shape as [number, number, number];
    return (data as Float32Array).subarray(row * longest * size, (row * longest + length) * size);
  };
  const [first, second] = [rows(ofPassages.states, 0, 9), rows(ofPassages.states, 1, 6)];
  const fused = await reader.fuse([
    { question: rows(ofQuestions.states, 0, 5), passages: [first, second] },
    { question: rows(ofQuestions.states, 1, 3), passages: [second, first] },
  ]);
  const logits: number[] = [];
  const attention: number[] = [];
  let past = reader.start(2);
  for (const token of [config.decoderStartId, 5, 6, 7]) {
    const ids = { data: Int32Array.of(token, token), shape: [2, 1] };
    const step = await reader.step(fused, {
      ids,
      parents: { data: Int32Array.of(0, 1), shape: [2] },
      past,
    });
    past = step.past;
    logits.push(...step.logits.data);
    attention.push(...step.attention.data);
  }
  return {
    states: [...ofPassages.states.data],
    keys: [...ofPassages.keys.data],
    queries: [...ofQuestions.queries.data],
    logits,
    attention,
  };
}

if (!(await hasDevice())) process.exit(NO_DEVICE);

// On graphics cards equal indices are added in whatever order, so that sums may differ in their last bit.
conformOps("webgpu", onOnnxruntime(namedSize, { provider: "webgpu" }), {
  runs: 4,
  repeatable: false,
});

for (const [name, config] of Object.entries(TINY_MODELS))
  test(`${name}: states, keys, query vectors, logits and attention as on cpu`, async () => {
    const weights = randomWeights(config, name);
    const expected = await compute(config, { weights });
    const actual = await compute(config, { weights, provider: "webgpu" });
    for (const [what, numbers] of Object.entries(expected))
      assertNear(actual[what]!, numbers, TOLERANCE, what);
  });

test.run();
