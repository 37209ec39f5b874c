/**
 * What the model computes for an objective. Letters of shapes: token-batch.ts.
 *
 * The gradient cache keeps outputs of all chunks of a batch: `KEPT` has their axes.
 */

import { headLayer, type ModelConfig, vectorSize } from "../../model/config.ts";
import { hiddenBias } from "../../model/layers/attention.ts";
import type { Dim, Ops } from "../../tensor/ops.ts";
import { candidateLogits } from "./cross-document-adjustment.ts";
import type { Axis } from "./token-batch.ts";

export interface ModelOutputs<T> {
  /** Scores of passages for questions. */
  readonly retrieval: RetrievalOutputs<T>;
  /** [Q, H, n, e], query vectors */
  readonly queries: T;
  /** Float32 [Q, n], 1 for tokens and 0 for padding */
  readonly questionMask: T;
  /** [U, H, m, e], token keys */
  readonly keys: T;
  /** Float32 [U, m], 1 for tokens and 0 for padding */
  readonly passageMask: T;
  /** [Q, 2, e], phrase queries, of a model that has them */
  readonly phraseQueries: T;
  /** [Q, T], the log probability of each token of the answer, 0 for padding */
  readonly answerLogProbabilities: T;
  /** [Q, K], the target attention of the decoder. No gradient passes through it. */
  readonly attention: T;
  /**
   * [Q, T, K, m], the cross-attention of the last decoder layer from each token of the answer to
   * the tokens of the candidates, the mean over heads
   */
  readonly passageAttention: T;
  /** [Q, K], log P(answer | question, candidate), each candidate read alone */
  readonly candidateLogLikelihoods: T;
  /** [Q, K], the same by a reader without dropout. No gradient passes through it. */
  readonly teacherLogLikelihoods: T;
}

export type OutputName = keyof ModelOutputs<unknown>;

export interface RetrievalOutputs<T> {
  /** [Q, U], r(q, d), see `passageScores` */
  readonly scores: T;
  /** [Q, U], e^s r(q, d) with the learned scale s */
  readonly logits: T;
  /** [Q, K], those of a question's own candidates, near MASKED for padding */
  readonly ownLogits: T;
}

/** The outputs that come from the model, with their axes. The others are computed from them. */
export const KEPT = [
  "queries",
  "keys",
  "phraseQueries",
  "answerLogProbabilities",
  "attention",
  "passageAttention",
  "candidateLogLikelihoods",
  "teacherLogLikelihoods",
] as const satisfies readonly OutputName[];

export type KeptName = (typeof KEPT)[number];

/** The outputs of the model that `needs` are computed from. */
export function keptFor(needs: ReadonlySet<OutputName>): KeptName[] {
  const hasScores = needs.has("retrieval");
  const isKept = (name: KeptName): boolean =>
    needs.has(name) ||
    (name === "queries" && (hasScores || needs.has("questionMask"))) ||
    (name === "keys" && (hasScores || needs.has("passageMask")));
  return KEPT.filter(isKept);
}

/** The axes of the kept outputs. */
export function keptAxes(
  config: ModelConfig,
  tau: number | undefined,
): Readonly<Record<KeptName, readonly (Axis | Dim)[]>> {
  const isPooled = config.retrievalAttention.pooling !== undefined;
  const H = tau === undefined ? 1 : headLayer(config).heads;
  const e = vectorSize(config);
  return {
    queries: ["Q", H, isPooled ? 1 : "n", e],
    keys: ["U", H, isPooled ? 1 : "m", e],
    phraseQueries: ["Q", 2, e],
    answerLogProbabilities: ["Q", "T"],
    attention: ["Q", "K"],
    passageAttention: ["Q", "T", "K", "m"],
    candidateLogLikelihoods: ["Q", "K"],
    teacherLogLikelihoods: ["Q", "K"],
  };
}

/** What scores depend on beside the vectors. */
export interface ScoringParameters<T> {
  /** [heads]; undefined where the retrieval head is fixed */
  readonly headWeights: T | undefined;
  /** [], s */
  readonly logScale: T;
}

/**
 * The scores of all questions for all passages, computed when they are first read.
 *
 * @param tau temperature of the head weights, if heads are mixed
 */
export function retrievalOutputs<T>(
  ops: Ops<T>,
  vectors: RetrievalVectors<T>,
  { headWeights, logScale }: ScoringParameters<T>,
  tau: number | undefined,
  { candidatePositions, isCandidate }: Readonly<Record<"candidatePositions" | "isCandidate", T>>,
): RetrievalOutputs<T> {
  return lazily<RetrievalOutputs<T>>({
    scores: () => passageScores(ops, vectors, headWeights, tau),
    logits: ({ scores }) => ops.multiply(scores, ops.exp(logScale)),
    ownLogits({ scores }) {
      const own = ops.gather(ops.reshape(scores, [-1]), candidatePositions); // [P]
      const ownScores = ops.reshape(own, ops.shape(isCandidate));
      const allLogits = ops.multiply(ownScores, ops.exp(logScale));
      return candidateLogits(ops, { allLogits, candidateMask: isCandidate });
    },
  });
}

/** An object whose properties are computed once, when they are first read. */
export function lazily<Result extends object>(
  compute: {
    readonly [Name in keyof Result]: (others: Result) => Result[Name];
  },
): Result {
  const result = {} as Result;
  for (const name of Object.keys(compute) as (keyof Result)[])
    Object.defineProperty(result, name, {
      configurable: true,
      enumerable: true,
      get() {
        const value = compute[name](result);
        Object.defineProperty(result, name, { value, enumerable: true });
        return value;
      },
    });
  return result;
}

/** Query vectors and token keys of the heads that score passages, with their masks. */
export interface RetrievalVectors<T> {
  /** [Q, H, n, e] */
  readonly queries: T;
  /** float32 [Q, n] */
  readonly questionMask: T;
  /** [U, H, m, e] */
  readonly keys: T;
  /** float32 [U, m] */
  readonly passageMask: T;
}

/** Scores of each question for each passage by each head (Eq. 1): -> [H, Q, U]. */
export function headScores<T>(
  ops: Ops<T>,
  { queries, questionMask, keys, passageMask }: RetrievalVectors<T>,
): T {
  const [questions, heads, n, size] = ops.shape(queries);
  const [passages, , m] = ops.shape(keys);
  // [H, Q n, e]
  const allQueries = ops.reshape(ops.transpose(queries, [1, 0, 2, 3]), [heads!, -1, size!]);
  // [H, e, U m]
  const allKeys = ops.reshape(ops.transpose(keys, [1, 3, 0, 2]), [heads!, size!, -1]);
  // [U, m]
  const hidden = hiddenBias(ops, passageMask);
  // [H, Q n, U m]
  const matches = ops.add(ops.matmul(allQueries, allKeys), ops.reshape(hidden, [1, 1, -1]));
  // [H, Q, n, U]
  const best = ops.max(ops.reshape(matches, [heads!, questions!, n!, passages!, m!]), 4);
  // [Q, n]
  const share = ops.divide(questionMask, ops.sum(questionMask, [1], { keep: true }));
  return ops.sum(ops.multiply(best, ops.reshape(share, [1, questions!, n!, 1])), [2]);
}

/**
 * Retrieval scores (ReAtt, section 2.2): -> [Q, U]. headWeights: [H], needed with `tau`.
 *
 * For head h, the score of passage d for question q is the average over question tokens of the
 * maximum over passage tokens (Eq. 1):
 *
 *     r_h(q, d) = 1/|q| sum_i max_j Q_i . K_j
 *
 * Without `tau`, the score is that of the retrieval head. With `tau`, it is a mixture of all heads:
 *
 *     r(q, d) = sum_h P_h r_h(q, d)        P = softmax(w / tau)        w: learned head weights
 */
export function passageScores<T>(
  ops: Ops<T>,
  vectors: RetrievalVectors<T>,
  headWeights: T | undefined,
  tau: number | undefined,
): T {
  const ofHeads = headScores(ops, vectors);
  return tau === undefined ? ops.sum(ofHeads, [0]) : mixHeads(ops, ofHeads, headWeights!, tau);
}

/** `sum_h softmax(headWeights / tau)_h scores_h`: [H, Q, U], [H] -> [Q, U]. */
function mixHeads<T>(ops: Ops<T>, scores: T, headWeights: T, tau: number): T {
  const [heads] = ops.shape(headWeights);
  const shares = ops.softmax(ops.divide(headWeights, ops.scalar(tau)));
  return ops.sum(ops.multiply(scores, ops.reshape(shares, [heads!, 1, 1])), [0]);
}
