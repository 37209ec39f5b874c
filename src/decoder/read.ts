/** From token ids of questions and their passages to answers, with every sequence encoded once. */

import type { ModelConfig } from "../config.ts";
import { batchesByLength, type EncoderSession, encodeSequences } from "../encoder/session.ts";
import { type Generated, type GenerateOptions, generate } from "./generate.ts";
import type { MaskedStates, ReaderSession } from "./session.ts";

/** Token ids of a question and of the passages it is read with. */
export interface ReadingInput {
  readonly question: readonly number[];
  readonly passages: readonly (readonly number[])[];
}

export interface Reading extends Generated {
  /** The share of the decoder's attention that each passage got before the first token was written; they sum to 1. */
  readonly attention: readonly number[];
}

/** Answers questions that have equally many passages each, at least one. */
export async function read(
  config: ModelConfig,
  encoder: EncoderSession,
  reader: ReaderSession,
  inputs: readonly ReadingInput[],
  options: GenerateOptions = {},
): Promise<Reading[]> {
  const readings = new Array<Reading>(inputs.length);
  const lengths = inputs.map(({ question, passages }) => question.length + longest(passages));
  const passages = inputs[0]?.passages.length ?? 0;
  for (const batch of batchesByLength(lengths, config.heads * passages)) {
    const onToken =
      options.onToken && ((token: number, row: number) => options.onToken?.(token, batch[row]!));
    const answers = await readTogether(
      config,
      encoder,
      reader,
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
  config: ModelConfig,
  encoder: EncoderSession,
  reader: ReaderSession,
  inputs: readonly ReadingInput[],
  options: GenerateOptions,
): Promise<Reading[]> {
  const questions = inputs.map(({ question }) => question);
  const [passages, rows] = distinct(inputs.map((input) => input.passages));
  const fused = await reader.fuse(
    await lowerStates(config, encoder, questions, "left"),
    await lowerStates(config, encoder, passages, "right"),
    rows,
  );
  let past = reader.start(inputs.length);
  let attention: Float32Array | undefined;
  const step = async (tokens: Int32Array, parents: Int32Array): Promise<Float32Array> => {
    const ids = { data: tokens, shape: [tokens.length, 1] };
    const next = await reader.step(fused, { ids, parents: { data: parents, shape: [parents.length] }, past });
    past = next.past;
    attention ??= next.attention.data as Float32Array;
    return next.logits.data as Float32Array;
  };
  const vocabulary = { startId: config.decoderStartId, endId: config.eosId, padId: config.padId };
  const answers = await generate(step, inputs.length, vocabulary, options);
  const each = rows[0]!.length;
  return answers.map((answer, i) => ({
    ...answer,
    attention: [...attention!.subarray(i * each, (i + 1) * each)],
  }));
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

/** States of the lower layers, made equally long. */
async function lowerStates(
  config: ModelConfig,
  encoder: EncoderSession,
  sequences: readonly (readonly number[])[],
  side: "left" | "right",
): Promise<MaskedStates> {
  const encoded = await encodeSequences(encoder, config, sequences, "states");
  const length = longest(sequences);
  const states = new Float32Array(sequences.length * length * config.modelSize);
  const mask = new Float32Array(sequences.length * length);
  encoded.forEach((rows, i) => {
    const count = sequences[i]!.length;
    const start = i * length + (side === "left" ? length - count : 0);
    states.set(rows, start * config.modelSize);
    mask.fill(1, start, start + count);
  });
  return {
    states: { data: states, shape: [sequences.length, length, config.modelSize] },
    mask: { data: mask, shape: [sequences.length, length] },
  };
}

const longest = (sequences: readonly (readonly number[])[]): number =>
  Math.max(...sequences.map((sequence) => sequence.length));
