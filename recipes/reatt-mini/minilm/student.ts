/** The two parts of an encoder block of the student, for one text at a time. */

import type { ModelConfig } from "../../../src/model/config.ts";
import { inferenceContext } from "../../../src/model/layers/context.ts";
import { attentionPart, feedForwardPart } from "../../../src/model/layers/encoder-block.ts";
import { positionBuckets, relativeBias } from "../../../src/model/layers/relative-position.ts";
import { buildParameters } from "../../../src/model/parameter-names.ts";
import type { ModelParameters } from "../../../src/model/parameters.ts";
import { compile } from "../../../src/tensor/session.ts";
import { type Tracer, trace, type Value } from "../../../src/tensor/trace.ts";

type Part = "attention" | "feedForward";

/** What a part of block `block` adds to the states x [n, modelSize] of a text. */
export async function addedByPart(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  { block, part }: { block: number; part: Part },
  texts: readonly Float32Array[],
): Promise<Float32Array[]> {
  const graph = trace(
    { x: ["float32", 1, "n", config.modelSize], buckets: ["int32", "n", "n"] },
    (ops, { x, buckets }) => ({ added: partOf(config, ops, { block, part }, x, buckets) }),
  );
  await using session = await compile(graph, { weights });
  const added: Float32Array[] = [];
  for (const data of texts) {
    const n = data.length / config.modelSize;
    const buckets = positionBuckets(config, "encoder", n);
    const found = await session.run({ x: { data, shape: [1, n, config.modelSize] }, buckets });
    added.push((found.added!.data as Float32Array).slice());
  }
  return added;
}

function partOf(
  config: ModelConfig,
  ops: Tracer,
  { block, part }: { block: number; part: Part },
  x: Value,
  buckets: Value,
): Value {
  const context = inferenceContext(ops, config);
  const model: ModelParameters<Value> = buildParameters(config, (name, shape) =>
    ops.parameter(name, shape),
  );
  const layer = model.encoder.blocks[block]!;
  if (part === "feedForward") return feedForwardPart(context, layer, x);
  return attentionPart(context, layer, x, relativeBias(ops, model.encoder.relativeBias, buckets));
}
