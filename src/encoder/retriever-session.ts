/** Runs shared and retrieval layers: token ids in, states and retrieval vectors out. */

import { checkPositions, type ModelConfig } from "../model/config.ts";
import { inferenceContext } from "../model/layers/context.ts";
import { positionBuckets } from "../model/layers/relative-position.ts";
import { buildParameters, parameterNames } from "../model/parameter-names.ts";
import type { ModelParameters, TextParameters } from "../model/parameters.ts";
import { widthAfter } from "../model/stack.ts";
import type { Tensor } from "../tensor/ops.ts";
import { type CompileOptions, compile } from "../tensor/session.ts";
import { type Graph, trace } from "../tensor/trace.ts";
import { batchesByLength, type PaddedBatch, padBatch, TOKENS_PER_BATCH } from "./batching.ts";
import { phraseQueries } from "./phrase-queries.ts";
import { retrievalStates, retrievalVectors } from "./retrieval-layers.ts";
import { sharedStates } from "./shared-layers.ts";

/**
 * What becomes of a text alone. `reading` [batch, length, sharedWidth] are the states after the
 * shared layers, which the joint layers read, `states` [batch, length, retrievalWidth] those that
 * retrieval makes vectors of. `queries`
 * and `keys` [batch, vectors, vectorSize] are what retrieval compares: a vector for each token, or
 * one for each sequence. `phrases` [batch, 2, vectorSize] are the phrase queries, of a model that
 * has them.
 */
export type TextOutput = "states" | "reading" | "queries" | "keys" | "phrases";

/** Which layers run: those of the model itself, which make keys, its query side, or others. */
export type TextOf = <T>(model: ModelParameters<T>) => TextParameters<T>;

export const querySide: TextOf = (model) => model.querySide;

export const ofPassages: TextOf = (model) => model;

/** The compiled layers. */
export interface RetrieverSession extends AsyncDisposable {
  encode<Output extends TextOutput>(
    batch: PaddedBatch,
    outputs: readonly Output[],
  ): Promise<Record<Output, Tensor>>;
}

export interface EncodeOptions {
  /** Receives the number of sequences and of tokens encoded so far, after each run. */
  readonly onProgress?: ((sequences: number, tokens: number) => void) | undefined;
  /** Stops between two runs; the call then throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export async function openRetrieverSession(
  config: ModelConfig,
  options: CompileOptions,
  textOf?: TextOf,
): Promise<RetrieverSession> {
  // A run computes all outputs of a graph, also those that nobody fetches.
  const [reading, retrieval] = await Promise.all([
    compile(traceReading(config, textOf), options),
    compile(traceRetrieval(config, textOf), options),
  ]);
  return {
    async encode({ ids, mask }, outputs) {
      const length = ids.shape[1]!;
      checkPositions(config, length);
      const buckets = positionBuckets(config, "encoder", length);
      const states = await reading.run({ ids, mask, buckets }, ["reading"]);
      const others = outputs.filter((output) => output !== "reading");
      if (others.length === 0) return states as Record<(typeof outputs)[number], Tensor>;
      return { ...states, ...(await retrieval.run({ ...states, ids, mask, buckets }, others)) };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([reading[Symbol.asyncDispose](), retrieval[Symbol.asyncDispose]()]);
    },
  };
}

/** The inputs of `TextInput`. */
const TEXT = {
  ids: ["int32", "batch", "length"],
  mask: ["float32", "batch", "length"],
  buckets: ["int32", "length", "length"],
} as const;

/** `ids`, `mask`, `buckets` (`TextInput`) -> `reading`. */
export function traceReading(config: ModelConfig, textOf: TextOf = ofPassages): Graph {
  return trace(TEXT, (ops, input) => {
    const context = inferenceContext(ops, config);
    const model = buildParameters(config, (name, shape) => ops.parameter(name, shape));
    return { reading: sharedStates(context, textOf(model), input) };
  });
}

/** `reading`, `ids`, `mask`, `buckets` -> the other outputs of `TextOutput`. */
export function traceRetrieval(config: ModelConfig, textOf: TextOf = ofPassages): Graph {
  const { shared } = textOf(parameterNames(config));
  const width = widthAfter(
    shared.map(({ sizes }) => sizes),
    config.modelSize,
  );
  return trace({ reading: ["float32", "batch", "length", width], ...TEXT }, (ops, input) => {
    const context = inferenceContext(ops, config);
    const model = buildParameters(config, (name, shape) => ops.parameter(name, shape));
    const text = textOf(model);
    const states = retrievalStates(context, text, input.reading, input);
    const texts = { states, ids: input.ids, mask: input.mask };
    return {
      states,
      queries: retrievalVectors(context, text, texts, "query"),
      keys: retrievalVectors(context, text, texts, "key"),
      ...(model.phraseQueries && { phrases: phraseQueries(context, model, states, input.mask) }),
    };
  });
}

/** The outputs of a run: for each of its sequences, in the order of the positions. */
export type RunOutputs<Output extends TextOutput> = Record<Output, Float32Array[]>;

/** What a caller can leave out. */
export interface RetrieverRunOptions extends EncodeOptions {
  /** Runs in which all positions are known are left out, with their outputs. */
  readonly isKnown?: ((position: number) => boolean) | undefined;
}

/** One output for each sequence, without padding: [length, 1 or, for phrases, 2, size]. */
export async function encodeSequences(
  session: RetrieverSession,
  config: ModelConfig,
  sequences: readonly (readonly number[])[],
  output: TextOutput,
  options?: EncodeOptions,
): Promise<Float32Array[]> {
  const encoded = new Array<Float32Array>(sequences.length);
  const keep = (run: RunOutputs<TextOutput>, positions: readonly number[]): void => {
    for (const [row, i] of positions.entries()) encoded[i] = run[output][row]!;
  };
  await encodeRuns(session, config, sequences, [output], keep, options);
  return encoded;
}

/**
 * Several outputs from the same runs. `onRun` receives the outputs of a run and the positions of
 * its sequences; nothing else holds the outputs.
 */
export async function encodeRuns<Output extends TextOutput>(
  session: RetrieverSession,
  config: ModelConfig,
  sequences: readonly (readonly number[])[],
  outputs: readonly Output[],
  onRun: (run: RunOutputs<Output>, positions: readonly number[]) => void,
  { onProgress, signal, isKnown = () => false }: RetrieverRunOptions = {},
): Promise<void> {
  const lengths = sequences.map((sequence) => sequence.length);
  const done = { sequences: 0, tokens: 0 };
  for (const batch of batchesByLength(lengths, TOKENS_PER_BATCH)) {
    signal?.throwIfAborted();
    if (!batch.every(isKnown)) {
      const together = batch.map((i) => sequences[i]!);
      const results = await session.encode(padBatch(together, "right", config.padId), outputs);
      const rows = outputs.map((output) => [
        output,
        batch.map((i, row) => rowOf(results[output], row, lengths[i]!)),
      ]);
      onRun(Object.fromEntries(rows) as RunOutputs<Output>, batch);
    }
    done.sequences += batch.length;
    done.tokens += batch.reduce((sum, i) => sum + lengths[i]!, 0);
    onProgress?.(done.sequences, done.tokens);
  }
}

/** A copy of a row without padding: [batch, length or fewer, size] -> [tokens or fewer, size]. */
function rowOf({ data, shape }: Tensor, row: number, tokens: number): Float32Array {
  const [, length, size] = shape as [number, number, number];
  const start = row * length * size;
  return (data as Float32Array).slice(start, start + Math.min(tokens, length) * size);
}
