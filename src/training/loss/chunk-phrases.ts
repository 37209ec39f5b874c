/**
 * The phrase loss of a chunk (phrases.ts): of answers that stand in the positives, or of what the
 * decoder looks at. Letters of shapes: graph-inputs.ts.
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";
import type { PhraseInput, ReaderGraphInput, RetrievalInput } from "./graph-inputs.ts";
import { attentionLoss, passageLoss } from "./phrases.ts";

interface EncodedPhrases<T> {
  /** [Q, 2, e] */
  readonly phraseQueries: T | undefined;
  /** [U, 1, m, e] */
  readonly keys: T;
  /** [U, m] */
  readonly passageMask: T;
}

type Inputs<T> = Readonly<
  Record<RetrievalInput, T> & Partial<Record<PhraseInput | ReaderGraphInput, T>>
>;

/** For `retrieval`: the start and the end of the answer, where it stands in the positives. */
export function answerPhraseLoss<T>(
  ops: Ops<T>,
  { phraseQueries, keys, passageMask }: EncodedPhrases<T>,
  input: Inputs<T>,
): T {
  const [passages, , m, e] = ops.shape(keys);
  const [questions] = ops.shape(input.normaliserBias);
  const tokens = ops.reshape(passageMask, [1, passages!, m!]);
  const ofPassages = ops.reshape(input.phrasePassages!, [questions!, passages!, 1]);
  const earlier = earlierLogits(ops, phraseQueries!, input);
  return passageLoss(ops, phraseQueries!, {
    keys: ops.reshape(keys, [-1, e!]),
    answers: ops.reshape(input.phraseAnswers!, [questions!, 2, -1]),
    own: ops.reshape(ops.multiply(ofPassages, tokens), [questions!, 1, -1]),
    weights: input.phraseWeights!,
    bias: countedBias(ops, passageMask, input),
    ...(earlier !== undefined && { earlier }),
  });
}

/**
 * For the objectives that read: the tokens that the decoder looks at when it writes the first, and
 * the last, token of the answer.
 *
 * @param attention of the decoder, [Q, T, K (n + m)]; no gradient passes through it
 */
export function attentionPhraseLoss<T>(
  ops: Ops<T>,
  { phraseQueries, keys, passageMask }: EncodedPhrases<T>,
  input: Inputs<T>,
  attention: T,
): T {
  const [passages, , m, e] = ops.shape(keys);
  const [questions, candidates] = ops.shape(input.candidateMask);
  const flatKeys = ops.transpose(ops.reshape(keys, [-1, e!]), [1, 0]);
  const logits = ops.matmul(phraseQueries!, flatKeys); // [Q, 2, U m]
  const byPassage = ops.transpose(
    ops.reshape(logits, [questions!, 2, passages!, m!]),
    [0, 2, 1, 3],
  );
  // [P, 2, m]
  const chosen = ops.gather(ops.reshape(byPassage, [-1, 2, m!]), input.candidatePositions);
  const byCandidate = ops.reshape(chosen, [questions!, candidates!, 2, m!]);
  const own = ops.reshape(ops.transpose(byCandidate, [0, 2, 1, 3]), [questions!, 2, -1]);
  const tokens = ops.reshape(ops.gather(passageMask, input.candidateRows!), [questions!, -1, m!]);
  const isCandidate = ops.reshape(input.candidateMask, [questions!, candidates!, 1]);
  const mask = ops.reshape(ops.multiply(tokens, isCandidate), [questions!, 1, -1]);
  const counted = ops.add(logits, countedBias(ops, passageMask, input));
  const earlier = earlierLogits(ops, phraseQueries!, input);
  return attentionLoss(ops, {
    own: ops.add(own, hiddenBias(ops, mask)),
    all: earlier === undefined ? counted : ops.concat([counted, earlier], 2),
    target: pointedTokens(ops, ops.stopGradient(attention), mask, input),
    weights: input.phraseWeights!,
  });
}

/** Where the decoder looks in the passages, as distributions: -> [Q, 2, K m]. */
function pointedTokens<T>(
  ops: Ops<T>,
  attention: T,
  mask: T,
  { candidateMask, questionMask, passageMask, phraseTurns }: Inputs<T>,
): T {
  const [questions, candidates] = ops.shape(candidateMask);
  const [n, m] = [questionMask, passageMask].map((x) => ops.shape(x)[1]!);
  const atTurns = ops.matmul(phraseTurns!, attention); // [Q, 2, K (n + m)]
  const byCandidate = ops.reshape(atTurns, [questions!, 2, candidates!, -1]);
  const [, ofPassages] = ops.split(byCandidate, 3, [n!, m!]);
  const shares = ops.multiply(ops.reshape(ofPassages!, [questions!, 2, -1]), mask);
  const total = ops.sum(shares, [2], { keep: true });
  return ops.divide(shares, ops.add(total, ops.scalar(1e-9))); // a question without an answer has 0
}

/** The logits of the tokens of earlier steps: -> [Q, 2, W]. */
const earlierLogits = <T>(
  ops: Ops<T>,
  vectors: T,
  { earlierKeys, earlierBias }: Inputs<T>,
): T | undefined =>
  earlierKeys === undefined
    ? undefined
    : ops.add(ops.matmul(vectors, ops.transpose(earlierKeys, [1, 0])), earlierBias!);

/** MASKED for padding, and for passages that do not count for a question: -> [Q, 1, U m]. */
function countedBias<T>(ops: Ops<T>, passageMask: T, { normaliserBias }: Inputs<T>): T {
  const [passages, m] = ops.shape(passageMask);
  const [questions] = ops.shape(normaliserBias);
  const padding = hiddenBias(ops, ops.reshape(passageMask, [1, passages!, m!]));
  const ofPassages = ops.reshape(normaliserBias, [questions!, passages!, 1]);
  return ops.reshape(ops.add(ofPassages, padding), [questions!, 1, -1]);
}
