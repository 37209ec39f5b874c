/** The reader as it runs: question and passages together (fuse.ts), then the decoder, step by step. */

import type { ModelConfig } from "../model/config.ts";
import { inferenceContext } from "../model/layers/context.ts";
import { positionBuckets } from "../model/layers/relative-position.ts";
import { buildParameters } from "../model/parameter-names.ts";
import type { Tensor } from "../tensor/ops.ts";
import { type CompileOptions, compile } from "../tensor/session.ts";
import { type Graph, type Signature, trace, type Value } from "../tensor/trace.ts";
import { decode, type KeyValue, tokenAttention, vocabularyLogits } from "./decoder.ts";
import { type FusedPassages, fuse, type ReadingStates, traceUpper } from "./fusion.ts";
import { mapBlocks, named } from "./key-values.ts";

/** The answers written so far, one a row. */
export interface Rows {
  /** int32 [rows, 1]: the token written last */
  readonly ids: Tensor;
  /** int32 [rows]: the row of the step before that each row continues */
  readonly parents: Tensor;
  /** `past.N.key` and `past.N.value` of every decoder block N: [rows of the step before, heads, past, headSize]. */
  readonly past: Readonly<Record<string, Tensor>>;
}

export interface ReaderSession extends AsyncDisposable {
  /** See `fuse` in fuse.ts. */
  fuse(inputs: readonly ReadingStates[], signal?: AbortSignal): Promise<FusedPassages>;
  /** The empty past of a first step. */
  start(rows: number): Rows["past"];
  /** `logits` [rows, vocabularySize]; `attention` [questions, fused]: at a first step, the target attention of each token. */
  step(
    fused: FusedPassages,
    rows: Rows,
  ): Promise<{ logits: Tensor; attention: Tensor; past: Rows["past"] }>;
}

export async function openReader(
  config: ModelConfig,
  options: CompileOptions,
): Promise<ReaderSession> {
  const [upper, step] = await Promise.all([
    compile(traceUpper(config), options),
    compile(traceStep(config), options),
  ]);
  return {
    fuse: (inputs, signal) => fuse(config, upper, inputs, signal),
    start: (rows) => mapBlocks(config, "past", () => emptyPast(config, rows)),
    step: async (fused, { ids, parents, past }) => {
      const length = past["past.0.key"]!.shape[2]!;
      const buckets = positionBuckets(config, "decoder", 1, length + 1, length);
      const { logits, attention, ...present } = await step.run({
        ids,
        parents,
        buckets,
        mask: fused.mask,
        ...fused.cross,
        ...past,
      });
      return { logits: logits!, attention: attention!, past: present };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([upper[Symbol.asyncDispose](), step[Symbol.asyncDispose]()]);
    },
  };
}

/** -> `logits`, `attention` as in `ReaderSession.step`, and `past.N.key`, `past.N.value` for the step after. */
export function traceStep(config: ModelConfig): Graph {
  const { heads, headSize } = config;
  const inputs: Record<string, Signature> = {
    ids: ["int32", "rows", 1],
    parents: ["int32", "rows"],
    buckets: ["int32", 1, "past+1"],
    mask: ["float32", "questions", "fused"],
    ...mapBlocks(
      config,
      "cross",
      () => ["float32", "questions", heads, "fused", headSize] as const,
    ),
    ...mapBlocks(config, "past", () => ["float32", "parentRows", heads, "past", headSize] as const),
  };
  return trace(inputs, (ops, input) => {
    const context = inferenceContext(ops, config);
    const parameters = buildParameters(config, (name, shape) => ops.parameter(name, shape));
    const pairs = (kind: string, use: (value: Value) => Value): KeyValue<Value>[] =>
      Array.from({ length: config.decoderLayers }, (_, i) => ({
        key: use(input[`${kind}.${i}.key`]!),
        value: use(input[`${kind}.${i}.value`]!),
      }));
    const { states, present, crossScores } = decode(context, parameters, {
      ids: input.ids!,
      buckets: input.buckets!,
      cross: pairs("cross", (value) => value),
      crossMask: input.mask!,
      past: pairs("past", (value) => ops.gather(value, input.parents!)),
    });
    return {
      logits: ops.reshape(vocabularyLogits(context, parameters, states), [
        "rows",
        config.vocabularySize,
      ]),
      attention: tokenAttention(context, crossScores),
      ...named("past", present),
    };
  });
}

function emptyPast({ heads, headSize }: ModelConfig, rows: number): Tensor {
  return { data: new Float32Array(0), shape: [rows, heads, 0, headSize] };
}
