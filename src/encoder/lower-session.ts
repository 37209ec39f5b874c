/** The lower encoder layers as they run: token ids in, states and retrieval vectors out. */

import type { ModelConfig } from "../model/config.ts";
import { inferenceContext } from "../model/layers/context.ts";
import { positionBuckets } from "../model/layers/relative-position.ts";
import { buildParameters } from "../model/parameter-names.ts";
import type { Tensor } from "../tensor/ops.ts";
import { type CompileOptions, compile } from "../tensor/session.ts";
import { type Graph, trace } from "../tensor/trace.ts";
import { lowerStates, querySide, retrievalVectors } from "./lower-layers.ts";

/** What the lower layers can be asked for, each [batch, length, size]. */
export type LowerOutput = "states" | "queries" | "keys";

/** Token ids and mask of sequences made equally long, int32 and float32 [batch, length]. */
export interface PaddedBatch {
  readonly ids: Tensor;
  readonly mask: Tensor;
}

/** Pads sequences of token ids to the length of the longest. */
export function padBatch(
  sequences: readonly ArrayLike<number>[],
  side: "left" | "right",
  padId: number,
): PaddedBatch {
  const length = Math.max(...sequences.map((sequence) => sequence.length));
  const shape = [sequences.length, length];
  const ids = new Int32Array(sequences.length * length).fill(padId);
  const mask = new Float32Array(ids.length);
  sequences.forEach((sequence, row) => {
    const start = row * length + (side === "left" ? length - sequence.length : 0);
    ids.set(sequence, start);
    mask.fill(1, start, start + sequence.length);
  });
  return { ids: { data: ids, shape }, mask: { data: mask, shape } };
}

/** Whose lower layers: those of passages and of questions that are read, or those that questions are retrieved with. */
export type Side = "reading" | "query";

/** `ids`, `mask`, `buckets` -> `states`, `queries`, `keys`. */
export function traceLower(config: ModelConfig, side: Side = "reading"): Graph {
  return trace(
    {
      ids: ["int32", "batch", "length"],
      mask: ["float32", "batch", "length"],
      buckets: ["int32", "length", "length"],
    },
    (ops, input) => {
      const context = inferenceContext(ops, config);
      const model = buildParameters(config, (name, shape) => ops.parameter(name, shape));
      const parameters = side === "query" ? querySide(model) : model;
      const states = lowerStates(context, parameters, input);
      return {
        states,
        queries: retrievalVectors(context, parameters, states, "query"),
        keys: retrievalVectors(context, parameters, states, "key"),
      };
    },
  );
}

/**
 * Tokens in one run of the encoder. So few that what an operation leaves is still in the processor's cache when the next one
 * wants it: with 500 to 1,000 tokens a passage takes two thirds of the time that it takes with 5,000. And the fewer, the less
 * padding where few sequences of unlike lengths are read.
 */
export const TOKENS_PER_BATCH = 512;

/** Positions of `lengths` in groups of alike length, each of at most `tokens` with its padding, or one sequence alone. */
export function batchesByLength(lengths: readonly number[], tokens: number): number[][] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]!);
  const batches: number[][] = [];
  for (let start = 0; start < order.length; ) {
    const size = Math.max(1, Math.floor(tokens / lengths[order[start]!]!));
    batches.push(order.slice(start, start + size));
    start += size;
  }
  return batches;
}

export interface EncodeOptions {
  /** Called after each run with how many sequences and tokens are done. */
  readonly onProgress?: ((sequences: number, tokens: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One output of the lower layers for each sequence of token ids, without padding: [length, size]. */
export async function encodeSequences(
  encoder: EncoderSession,
  config: ModelConfig,
  sequences: readonly (readonly number[])[],
  output: LowerOutput,
  options?: EncodeOptions,
): Promise<Float32Array[]> {
  return (await encodeOutputs(encoder, config, sequences, [output], options))[output];
}

/** Several outputs, which take no longer than one. */
export async function encodeOutputs<Output extends LowerOutput>(
  encoder: EncoderSession,
  config: ModelConfig,
  sequences: readonly (readonly number[])[],
  outputs: readonly Output[],
  { onProgress, signal }: EncodeOptions = {},
): Promise<Record<Output, Float32Array[]>> {
  const encoded = Object.fromEntries(
    outputs.map((output) => [output, new Array<Float32Array>(sequences.length)]),
  ) as Record<Output, Float32Array[]>;
  const lengths = sequences.map((sequence) => sequence.length);
  const done = { sequences: 0, tokens: 0 };
  for (const batch of batchesByLength(lengths, TOKENS_PER_BATCH)) {
    signal?.throwIfAborted();
    const padded = padBatch(
      batch.map((i) => sequences[i]!),
      "right",
      config.padId,
    );
    const results = await encoder.lower(padded, outputs);
    for (const output of outputs) {
      const { data, shape } = results[output];
      const [, length, size] = shape as [number, number, number];
      batch.forEach((i, row) => {
        const start = row * length * size;
        encoded[output][i] = (data as Float32Array).slice(start, start + lengths[i]! * size);
      });
    }
    done.sequences += batch.length;
    done.tokens += batch.reduce((sum, i) => sum + lengths[i]!, 0);
    onProgress?.(done.sequences, done.tokens);
  }
  return encoded;
}

export interface EncoderSession extends AsyncDisposable {
  lower<Output extends LowerOutput>(
    batch: PaddedBatch,
    outputs: readonly Output[],
  ): Promise<Record<Output, Tensor>>;
}

export async function openEncoder(
  config: ModelConfig,
  options: CompileOptions,
  side?: Side,
): Promise<EncoderSession> {
  const session = await compile(traceLower(config, side), options);
  return {
    lower: ({ ids, mask }, outputs) =>
      session.run(
        { ids, mask, buckets: positionBuckets(config, "encoder", ids.shape[1]!) },
        outputs,
      ),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}
