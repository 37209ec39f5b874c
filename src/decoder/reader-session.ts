/** Runs the reader: the joint layers with fusion, then the decoder, step by step. */

import { traceJoint } from "../encoder/joint-session.ts";
import type { ModelConfig } from "../model/config.ts";
import { inferenceContext } from "../model/layers/context.ts";
import { positionBuckets } from "../model/layers/relative-position.ts";
import { buildParameters } from "../model/parameter-names.ts";
import type { Tensor } from "../tensor/ops.ts";
import { type CompileOptions, compile } from "../tensor/session.ts";
import { type Graph, type Signature, trace } from "../tensor/trace.ts";
import { copyDistribution, meanAttention } from "./copying.ts";
import { decode, vocabularyLogits } from "./decoder.ts";
import { type FusedPassages, fuse, type ReadingStates } from "./fusion.ts";
import { fromNames, mapBlocks, named } from "./key-values.ts";
import { tokenAttention } from "./target-attention.ts";

/** The answers generated so far, one for each row. */
export interface Rows {
  /** int32 [rows, 1]: the last token */
  readonly ids: Tensor;
  /** int32 [rows]: the row of the previous step that each row continues */
  readonly parents: Tensor;
  /** `past.N.key` and `past.N.value` of each block N: [rows before, heads, past, headSize] */
  readonly past: Readonly<Record<string, Tensor>>;
}

/** What one step of the decoder returns. */
export interface StepOutput {
  /** [rows, vocabularySize] */
  readonly logits: Tensor;
  /** [questions, fused]; at the first step, the target attention of each token */
  readonly attention: Tensor;
  /** Of a model that copies: its gate [rows, 1] and its attention [rows, 1, fused]. */
  readonly copy: { readonly gate: Tensor; readonly attention: Tensor } | undefined;
  /** The `past` of the next step. */
  readonly past: Rows["past"];
}

export interface ReaderSession extends AsyncDisposable {
  /** See `fuse` in fusion.ts. */
  fuse(inputs: readonly ReadingStates[], signal?: AbortSignal): Promise<FusedPassages>;
  /** The empty `past` of a first step. */
  start(rows: number): Rows["past"];
  step(fused: FusedPassages, rows: Rows): Promise<StepOutput>;
}

export async function openReaderSession(
  config: ModelConfig,
  options: CompileOptions,
): Promise<ReaderSession> {
  const [joint, step] = await Promise.all([
    compile(traceJoint(config), options),
    compile(traceStep(config), options),
  ]);
  return {
    fuse: (inputs, signal) => fuse(config, joint, inputs, signal),
    start: (rows) => mapBlocks(config, () => emptyPast(config, rows)),
    step: async (fused, { ids, parents, past }) => {
      const length = past["past.0.key"]!.shape[2]!;
      const buckets = positionBuckets(config, "decoder", 1, length + 1, length);
      const { logits, attention, copyGate, copyAttention, ...present } = await step.run({
        ids,
        parents,
        buckets,
        passages: fused.states,
        bias: fused.bias,
        ...past,
      });
      const copy = copyGate && { gate: copyGate, attention: copyAttention! };
      return { logits: logits!, attention: attention!, copy, past: present };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([joint[Symbol.asyncDispose](), step[Symbol.asyncDispose]()]);
    },
  };
}

/**
 * `Rows` and `FusedPassages` -> `logits`, `attention`, `past.N.key`, `past.N.value` and, of a model
 * that copies, `copyGate` and `copyAttention` (`StepOutput`).
 */
function traceStep(config: ModelConfig): Graph {
  const { modelSize, decoder } = config;
  const { heads, headSize } = decoder;
  const past = ["float32", "parentRows", heads, "past", headSize] as const;
  const inputs: Record<string, Signature> = {
    ids: ["int32", "rows", 1],
    parents: ["int32", "rows"],
    buckets: ["int32", 1, "past+1"],
    passages: ["float32", "questions", "fused", modelSize],
    bias: ["float32", "questions", "fused"],
    ...mapBlocks(config, () => past),
  };
  return trace(inputs, (ops, input) => {
    const context = inferenceContext(ops, config);
    const parameters = buildParameters(config, (name, shape) => ops.parameter(name, shape));
    const decoded = decode(context, parameters, {
      ids: input.ids!,
      buckets: input.buckets!,
      passages: input.passages!,
      crossBias: ops.reshape(input.bias!, ["questions", 1, 1, "fused"]),
      past: fromNames(config, input).map(({ key, value }) => ({
        key: ops.gather(key, input.parents!),
        value: ops.gather(value, input.parents!),
      })),
    });
    const { states, crossScores } = decoded;
    const logits = vocabularyLogits(context, parameters, states);
    const copied = { states, attention: meanAttention(ops, crossScores) };
    const copy = copyDistribution(ops, parameters, copied);
    return {
      logits: ops.reshape(logits, ["rows", config.vocabularySize]),
      attention: tokenAttention(context, crossScores),
      ...(copy && { copyGate: copy.gate, copyAttention: copy.attention }),
      ...named(decoded.present),
    };
  });
}

function emptyPast({ decoder: { heads, headSize } }: ModelConfig, rows: number): Tensor {
  return { data: new Float32Array(0), shape: [rows, heads, 0, headSize] };
}
