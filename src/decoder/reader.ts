/** From token ids of questions and their passages to answers, with every sequence encoded once. */

import { batchesByLength, type EncoderSession, encodeSequences } from "../encoder/lower-session.ts";
import type { ModelConfig } from "../model/config.ts";
import { type Generated, type GenerateOptions, generate } from "./generate.ts";
import type { ReaderSession } from "./reader-session.ts";

/** Token ids of a question and of the passages it is read with. */
export interface ReadingInput {
  readonly question: readonly number[];
  readonly passages: readonly (readonly number[])[];
}

export interface Reading extends Generated {
  /** The share of the decoder's attention that each passage got before the first token was written; they sum to 1. */
  readonly attention: readonly number[];
}

/**
 * The most numbers that questions read together leave for the decoder, 512 MB: in a model of 24 layers of 1,024, one question with
 * ten passages of 250 tokens.
 */
const CROSS_NUMBERS_AT_ONCE = 2 ** 27;

/** The sessions that read: the lower encoder layers; the upper encoder layers and the decoder. */
export interface ReadingModel {
  readonly config: ModelConfig;
  readonly encoder: EncoderSession;
  readonly reader: ReaderSession;
}

/** Answers questions that have at least one passage each. */
export async function read(
  model: ReadingModel,
  inputs: readonly ReadingInput[],
  options: GenerateOptions = {},
): Promise<Reading[]> {
  const readings = new Array<Reading>(inputs.length);
  const lengths = inputs.map(({ question, passages }) =>
    passages.reduce((sum, passage) => sum + question.length + passage.length, 0),
  );
  const { config } = model;
  const numbersOfToken = 2 * config.decoderLayers * config.heads * config.headSize;
  for (const batch of batchesByLength(lengths, CROSS_NUMBERS_AT_ONCE / numbersOfToken)) {
    const onToken =
      options.onToken && ((token: number, row: number) => options.onToken?.(token, batch[row]!));
    const answers = await readTogether(
      model,
      batch.map((i) => inputs[i]!),
      { ...options, onToken },
    );
    batch.forEach((i, row) => {
      readings[i] = answers[row]!;
    });
  }
  return readings;
}

async function readTogether(
  { config, encoder, reader }: ReadingModel,
  inputs: readonly ReadingInput[],
  options: GenerateOptions,
): Promise<Reading[]> {
  const { signal } = options;
  const states = (sequences: readonly (readonly number[])[]): Promise<Float32Array[]> =>
    encodeSequences(encoder, config, sequences, "states", { signal });
  const [passages, positions] = distinct(inputs.map((input) => input.passages));
  const [questionStates, passageStates] = [
    await states(inputs.map(({ question }) => question)),
    await states(passages),
  ];
  const readingStates = positions.map((own, i) => ({
    question: questionStates[i]!,
    passages: own.map((position) => passageStates[position]!),
  }));
  const fused = await reader.fuse(readingStates, signal);
  let past = reader.start(inputs.length);
  let attention: Float32Array | undefined;
  const step = async (tokens: Int32Array, parents: Int32Array): Promise<Float32Array> => {
    const ids = { data: tokens, shape: [tokens.length, 1] };
    const next = await reader.step(fused, {
      ids,
      parents: { data: parents, shape: [parents.length] },
      past,
    });
    past = next.past;
    attention ??= next.attention.data as Float32Array;
    return next.logits.data as Float32Array;
  };
  const vocabulary = { startId: config.decoderStartId, endId: config.eosId, padId: config.padId };
  const answers = await generate(step, inputs.length, vocabulary, {
    noRepeatSize: config.noRepeatSize,
    ...options,
  });
  const [, size] = fused.mask.shape as [number, number];
  return answers.map((answer, i) => ({
    ...answer,
    attention: sums(attention!.subarray(i * size), fused.lengths[i]!),
  }));
}

/** The sums of the first, the next and so on `lengths` numbers of `values`. */
function sums(values: Float32Array, lengths: readonly number[]): number[] {
  let end = 0;
  return lengths.map((length) => {
    const start = end;
    end += length;
    return values.subarray(start, end).reduce((sum, value) => sum + value, 0);
  });
}

/** The distinct sequences of `lists`, and `lists` with each sequence replaced by its position among them. */
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
