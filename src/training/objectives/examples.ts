/** The examples of a training step, as token ids. */

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
  /** For each candidate, the score that is given with the data, if any. */
  readonly scores?: readonly (number | undefined)[] | undefined;
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
