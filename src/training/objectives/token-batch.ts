/**
 * Examples that are computed together: a chunk, or a whole batch.
 *
 * Letters of shapes, in this folder and in gradient-cache/ (in brackets: the symbol in ReAtt):
 *
 * - `Q`: questions (|Q|)
 * - `K`: candidates of each question (K, "close documents"), with padding
 * - `P`: candidates of all questions, Q K
 * - `U`: different passages. In a batch, those of earlier steps follow (gradient-cache/).
 * - `n`: tokens of a question with padding (|q|), on the left
 * - `m`: tokens of a passage with padding (|d|), on the right
 *   Vectors have 1 in place of n and m if the model pools (encoder/pooling.ts)
 * - `T`: tokens of an answer with padding, on the right
 * - `H`: heads that score passages: all heads, or 1 where the retrieval head is fixed
 * - `e`: values of a vector: the head size (e), or with pooling that of all heads
 */

import type { Dim, Tensor } from "../../tensor/ops.ts";
import type { Signature } from "../../tensor/trace.ts";

/** An axis whose size differs from batch to batch. */
export type Axis = "Q" | "K" | "P" | "U" | "n" | "m" | "T";

export interface TokenBatch {
  /** Each with different candidates. */
  readonly examples: readonly TokenExample[];
  /** The examples of the whole batch. Losses are averages over them. */
  readonly whole: readonly TokenExample[];
  /** The different candidates. */
  readonly passages: readonly (readonly number[])[];
  /** The names of all passages [U]: the candidates, then those of earlier steps. */
  readonly names: readonly string[];
  /** The row among the passages of each candidate [P]; undefined for padding. */
  readonly rows: readonly (number | undefined)[];
  /** The sizes of the axes. */
  readonly sizes: Readonly<Record<Axis, number>>;
}

/**
 * @param examples with different candidates each
 * @param whole those of the whole batch, if `examples` are a chunk of it
 * @param earlier names of the passages of earlier steps, and the number of tokens of the longest
 */
export function tokenBatch(
  examples: readonly TokenExample[],
  whole: readonly TokenExample[] = examples,
  earlier: { readonly names: readonly string[]; readonly m: number } = { names: [], m: 0 },
): TokenBatch {
  const { sequences, positions } = distinctSequences(examples.flatMap(({ passages }) => passages));
  const K = longest(whole.map(({ passages }) => passages));
  const names = [...sequences.map(passageName), ...earlier.names];
  return {
    examples,
    whole,
    names,
    passages: sequences,
    rows: withPadding(examples, positions, K),
    sizes: {
      Q: examples.length,
      K,
      P: examples.length * K,
      U: names.length,
      n: longest(examples.map(({ question }) => question)),
      m: Math.max(earlier.m, longest(sequences)),
      T: Math.max(1, longest(examples.map(({ answer }) => answer))),
    },
  };
}

const longest = (lists: readonly { readonly length: number }[]): number =>
  Math.max(0, ...lists.map(({ length }) => length));

/**
 * The values of the candidates of all questions, padded to K for each question: undefined where a
 * question has fewer candidates. -> [P]
 */
function withPadding<T>(
  examples: readonly TokenExample[],
  values: readonly T[],
  K: number,
): (T | undefined)[] {
  let first = 0;
  return examples.flatMap(({ passages }) => {
    const own = values.slice(first, first + passages.length);
    first += passages.length;
    return Array.from({ length: K }, (_, k) => own[k]);
  });
}

/** A tensor that knows the names of its axes. */
export interface NamedTensor extends Tensor {
  /** What each axis counts. */
  readonly axes: readonly (Axis | Dim)[];
}

/** A float32 tensor of zeros, for a batch. Other names than letters of axes cannot be used. */
export function zeros(
  { sizes }: TokenBatch,
  ...axes: readonly (Axis | number)[]
): NamedTensor & { readonly data: Float32Array } {
  const shape = axes.map((axis) => (typeof axis === "number" ? axis : sizes[axis]));
  return { data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape, axes };
}

/**
 * A float32 tensor with a value for each question, as an input of an objective: -> [Q].
 *
 * @example
 * ```ts
 * import { perQuestion, type TokenBatch } from "reatt/training";
 *
 * const inputs = (batch: TokenBatch) => ({
 *   isRead: perQuestion(batch, ({ answer }) => Number(answer.length > 0)),
 * });
 * console.log(typeof inputs); // function
 * ```
 */
export function perQuestion(
  batch: TokenBatch,
  ofExample: (example: TokenExample) => number,
): NamedTensor {
  const tensor = zeros(batch, "Q");
  tensor.data.set(batch.examples.map(ofExample));
  return tensor;
}

/** A float32 tensor with a value for each candidate, 0 for padding: -> [Q, K]. */
export function perCandidate(
  batch: TokenBatch,
  valuesOf: (example: TokenExample) => readonly number[],
): NamedTensor {
  const tensor = zeros(batch, "Q", "K");
  for (const [question, example] of batch.examples.entries())
    tensor.data.set(valuesOf(example), question * batch.sizes.K);
  return tensor;
}

/** A float32 tensor of one value: -> []. */
export const scalar = (value: number): NamedTensor => ({
  data: Float32Array.of(value),
  shape: [],
  axes: [],
});

export const int32 = (
  values: ArrayLike<number>,
  shape: readonly number[],
  axes: NamedTensor["axes"],
): NamedTensor => ({ data: Int32Array.from(values), shape, axes });

/**
 * Type and shape of a tensor as the input of a graph. Q, K and P are numbers: all chunks of a run
 * have the same, and some operations need them.
 */
function signatureOf({ data, axes, shape }: NamedTensor): Signature {
  const dims = axes.map((axis, i) =>
    axis === "Q" || axis === "K" || axis === "P" ? shape[i]! : axis,
  );
  return [data instanceof Float32Array ? "float32" : "int32", ...dims];
}

export const signaturesOf = (
  tensors: Readonly<Record<string, NamedTensor>>,
): Record<string, Signature> =>
  Object.fromEntries(Object.entries(tensors).map(([name, one]) => [name, signatureOf(one)]));

/** A question with its answer and its candidates. */
export interface TokenExample {
  /** As retrieval encodes it, with `</s>`. */
  readonly question: readonly number[];
  /** With `</s>`. Empty if the example trains retrieval only. */
  readonly answer: readonly number[];
  /**
   * The candidates, each with `</s>`. Questions of a batch can have different numbers of them. Of
   * equal candidates, only the first counts.
   */
  readonly passages: readonly (readonly number[])[];
  /** The positives: indexes in `passages` of those that are known to be relevant. */
  readonly positives?: readonly number[] | undefined;
  /** Whether the data names the positives. Otherwise they are those that contain an answer. */
  readonly isLabelled?: boolean | undefined;
  /** For each candidate, the score that is given with the data, if any. */
  readonly scores?: readonly (number | undefined)[] | undefined;
  /** For each candidate, log P(answer | question, candidate), if a teacher was asked before. */
  readonly teacherLogLikelihoods?: readonly number[] | undefined;
  /** Where the answer stands in the positives. */
  readonly phrases?: readonly AnswerPhrase[] | undefined;
  /** Passages that are relevant, or probably relevant: they are not negatives of the question. */
  readonly notNegatives?: readonly (readonly number[])[] | undefined;
}

/** The answer in a passage. */
export interface AnswerPhrase {
  /** The index in `passages`. */
  readonly candidate: number;
  /** Its first token in the passage. */
  readonly first: number;
  /** Its last token. */
  readonly last: number;
}

/** Equal passages have equal token ids. */
export const passageName = (ids: readonly number[]): string => ids.join();

/** Whether a question has passages that are known to be relevant. */
export const hasPositives = ({ positives = [] }: TokenExample): boolean => positives.length > 0;

/** Whether the reader learns to answer a question. */
export const hasAnswer = ({ answer }: TokenExample): boolean => answer.length > 0;

/** The example with each of its candidates once. */
export function withDistinctPassages(example: TokenExample): TokenExample {
  const { sequences, positions } = distinctSequences(example.passages);
  const positives = new Set(example.positives?.map((candidate) => positions[candidate]!));
  const scores = sequences.map((_, k) => example.scores?.[positions.indexOf(k)]);
  const phrases = example.phrases?.map((phrase) => ({
    ...phrase,
    candidate: positions[phrase.candidate]!,
  }));
  return { ...example, passages: sequences, positives: [...positives], scores, phrases };
}

/** The different sequences of a list, and for each member of the list its position among them. */
export function distinctSequences(list: readonly (readonly number[])[]): {
  sequences: (readonly number[])[];
  positions: number[];
} {
  const found = new Map<string, number>();
  const sequences: (readonly number[])[] = [];
  const positions = list.map((sequence) => {
    const name = passageName(sequence);
    const position = found.get(name) ?? sequences.push(sequence) - 1;
    found.set(name, position);
    return position;
  });
  return { sequences, positions };
}
