/** The reader: from token ids of questions and their passages to token ids of answers. */

import { batchesByLength } from "../encoder/batching.ts";
import { encodeSequences, type RetrieverSession } from "../encoder/retriever-session.ts";
import { StateCache, type StoredStates } from "../encoder/state-cache.ts";
import type { ModelConfig } from "../model/config.ts";
import { type CopyStep, mixCopies } from "./copying.ts";
import type { FusedPassages } from "./fusion.ts";
import { type Generated, type GenerateOptions, generate } from "./generate.ts";
import { type Place, type QuotableToken, startQuotation } from "./quotation.ts";
import type { ReaderSession } from "./reader-session.ts";

/** Token ids of a question and of its passages, at least one. */
export interface ReadingInput {
  readonly question: readonly number[];
  readonly passages: readonly (readonly number[])[];
  /**
   * What can be quoted of each passage, for each of its tokens. Default: every sequence of tokens
   * but `</s>`.
   */
  readonly quotable?: readonly (readonly (QuotableToken | undefined)[])[] | undefined;
  /** How much the decoder favours each passage; see `FusedPassages.bias`. Default: all alike. */
  readonly relevances?: readonly number[] | undefined;
  /** The stored states of passages, so that reading starts at layer B. Default: none. */
  readonly stored?: readonly (StoredStates | undefined)[] | undefined;
}

export interface ReadingOptions extends Pick<GenerateOptions, "maxTokens" | "signal"> {
  /** Whether every answer is a quotation of a passage (quotation.ts). Default false. */
  readonly extractive?: boolean | undefined;
  /** Receives each token, with the places in the passages that the answer has so far. */
  readonly onToken?:
    | ((token: number, question: number, places: readonly Place[]) => void)
    | undefined;
}

export interface Reading extends Generated {
  /** The target attention of each passage (target-attention.ts); the shares sum to 1. */
  readonly attention: readonly number[];
  /** The same for each token of each passage, without those of the question. */
  readonly tokenAttention: readonly Float32Array[];
  /** Where the tokens stand in the passages; none if they do not. */
  readonly places: readonly Place[];
}

/** The sessions that read: the layers of a text alone; the joint layers and the decoder. */
export interface ReadingModel {
  readonly config: ModelConfig;
  readonly encoder: RetrieverSession;
  readonly reader: ReaderSession;
  /** Holds the states of passages that were read before. */
  readonly states?: StateCache | undefined;
}

/**
 * Values of the states of one batch: 128 MB as float32. A model of size 1,024 needs that for 13
 * questions with ten passages of 250 tokens each.
 */
const STATE_VALUES_PER_BATCH = 2 ** 25;

/**
 * Generates an answer for each input. Inputs of similar length are read together; memory bounds
 * their number.
 *
 * @throws the reason of `options.signal` once it is aborted.
 */
export async function read(
  model: ReadingModel,
  inputs: readonly ReadingInput[],
  options: ReadingOptions = {},
): Promise<Reading[]> {
  const readings = new Array<Reading>(inputs.length);
  const lengths = inputs.map(({ question, passages }) =>
    passages.reduce((sum, passage) => sum + question.length + passage.length, 0),
  );
  for (const batch of readingBatches(model.config, lengths)) {
    const { onToken } = options;
    const answers = await readBatch(
      model,
      batch.map((i) => inputs[i]!),
      {
        ...options,
        onToken: onToken && ((token, row, places) => onToken(token, batch[row]!, places)),
      },
    );
    batch.forEach((i, row) => {
      readings[i] = answers[row]!;
    });
  }
  return readings;
}

/** Groups of inputs with these numbers of fused tokens. Memory bounds the size of a group. */
export function readingBatches(config: ModelConfig, lengths: readonly number[]): number[][] {
  return batchesByLength(lengths, STATE_VALUES_PER_BATCH / config.modelSize);
}

async function readBatch(
  model: ReadingModel,
  inputs: readonly ReadingInput[],
  options: ReadingOptions,
): Promise<Reading[]> {
  const fused = await fuseInputs(model, inputs, options.signal);
  return generateFused(model, fused, inputs, options);
}

/** Generates an answer for each input from its fused passages. */
export async function generateFused(
  { config, reader }: Pick<ReadingModel, "config" | "reader">,
  fused: FusedPassages,
  inputs: readonly ReadingInput[],
  { extractive, onToken, ...options }: ReadingOptions,
): Promise<Reading[]> {
  const next = decoderSteps(reader, fused, inputs);
  const rows = Int32Array.from(inputs.keys()); // each question continues its own row
  let targetAttention: Float32Array | undefined;
  const step = async (tokens: Int32Array) => {
    const { logits, attention, copy } = await next(tokens, rows);
    targetAttention ??= attention;
    return { logits: copy ? mixCopies(logits, copy) : logits, attention };
  };
  const vocabulary = { startId: config.decoderStartId, endId: config.eosId, padId: config.padId };
  const quotations = inputs.map((input, i) =>
    startQuotation(quotablePassages(input, fused.lengths[i]!, config.eosId), config.eosId),
  );
  const answers = await generate(step, inputs.length, vocabulary, {
    // A quotation repeats what its passage repeats.
    noRepeatSize: extractive ? 0 : config.noRepeatSize,
    allowed: extractive ? (question) => quotations[question]!.followers() : undefined,
    onToken(token, question, attention) {
      quotations[question]!.write(token, attention);
      onToken?.(token, question, quotations[question]!.places());
    },
    ...options,
  });
  const [, size] = fused.bias.shape as [number, number];
  return answers.map((answer, i) => ({
    ...answer,
    ...attentionOf(targetAttention!.subarray(i * size), inputs[i]!),
    places: quotations[i]!.places(),
  }));
}

/** @param lengths the fused tokens of each passage, with its copy of the question */
const quotablePassages = (
  { question, passages, quotable }: ReadingInput,
  lengths: readonly number[],
  endId: number,
) =>
  passages.map((ids, i) => ({
    ids,
    tokens: quotable?.[i] ?? ids.map((id) => (id === endId ? undefined : ANY_TOKEN)),
    offset: lengths.slice(0, i).reduce((sum, length) => sum + length, question.length),
  }));

const ANY_TOKEN: QuotableToken = { part: 0, begins: true, ends: true };

/**
 * Encodes each question, and each distinct passage without stored states, once. Then fuses them.
 */
export async function fuseInputs(
  { config, encoder, reader, states: cache = new StateCache(0) }: ReadingModel,
  inputs: readonly ReadingInput[],
  signal?: AbortSignal,
): Promise<FusedPassages> {
  const encode = (sequences: readonly (readonly number[])[]): Promise<Float32Array[]> =>
    encodeSequences(encoder, config, sequences, "reading", { signal });
  const [passages, positions] = distinct(inputs.map((input) => input.passages));
  const stored: (StoredStates | undefined)[] = [];
  for (const [i, own] of positions.entries())
    for (const [at, position] of own.entries()) stored[position] ??= inputs[i]!.stored?.[at];
  const questionStates = await encode(inputs.map(({ question }) => question));
  const passageStates = await cache.statesOf(passages, encode, stored);
  const states = positions.map((own, i) => ({
    question: questionStates[i]!,
    passages: own.map((position) => passageStates[position]!),
    relevances: inputs[i]!.relevances,
  }));
  return reader.fuse(states, signal);
}

/** What a step of the decoder gives for each row; see `StepOutput`. */
export interface StepValues {
  /** [rows, vocabulary], before copies are mixed in */
  readonly logits: Float32Array;
  /** [questions, fused]; at the first step, the target attention of each token */
  readonly attention: Float32Array;
  /** Undefined for a model that does not copy. */
  readonly copy: CopyStep | undefined;
}

/**
 * The decoder step by step, as `DecoderStep` of generate.ts describes it: one row for each input at
 * the first step. It keeps the keys and values of the tokens so far.
 */
export function decoderSteps(
  reader: ReaderSession,
  fused: FusedPassages,
  inputs: readonly ReadingInput[],
): (tokens: Int32Array, parents: Int32Array) => Promise<StepValues> {
  const joinIds = () =>
    inputs.map(({ question, passages }) =>
      passages.flatMap((passage) => [...question, ...passage]),
    );
  let fusedIds: number[][] | undefined; // only of a model that copies
  let past = reader.start(inputs.length);
  return async (tokens, parents) => {
    const next = await reader.step(fused, {
      ids: { data: tokens, shape: [tokens.length, 1] },
      parents: { data: parents, shape: [parents.length] },
      past,
    });
    past = next.past;
    const logits = next.logits.data as Float32Array;
    const attention = next.attention.data as Float32Array;
    if (!next.copy) return { logits, attention, copy: undefined };
    fusedIds ??= joinIds();
    const gate = next.copy.gate.data as Float32Array;
    const copied = next.copy.attention.data as Float32Array;
    return { logits, attention, copy: { gate, attention: copied, fusedIds } };
  };
}

/** The target attention of a question, which has its tokens before those of each passage. */
function attentionOf(
  values: Float32Array,
  { question, passages }: ReadingInput,
): Pick<Reading, "attention" | "tokenAttention"> {
  let end = 0;
  const parts = passages.map(({ length }) => {
    const start = end;
    end += question.length + length;
    return values.subarray(start, end);
  });
  return {
    attention: parts.map((part) => part.reduce((sum, value) => sum + value, 0)),
    tokenAttention: parts.map((part) => part.slice(question.length)),
  };
}

/** The distinct sequences of `lists`, and for each list the positions of its sequences in them. */
function distinct(
  lists: readonly (readonly (readonly number[])[])[],
): [sequences: (readonly number[])[], positions: number[][]] {
  const found = new Map<string, number>();
  const sequences: (readonly number[])[] = [];
  const positions = lists.map((list) =>
    list.map((sequence) => {
      const key = sequence.join();
      const position = found.get(key) ?? sequences.push(sequence) - 1;
      found.set(key, position);
      return position;
    }),
  );
  return [sequences, positions];
}
