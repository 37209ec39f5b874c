/**
 * The whole model under its training objective, traced once for batches of any length.
 *
 * Questions are read in groups of a few, each with its own padding: the tensors of a group stay in the processor's cache
 * between operations (twice as fast as all at once where it was measured, see docs/TRAINING.md), and a group of short
 * passages is not padded to the longest of the batch. Every passage of a group goes through the lower layers once.
 */

import { crossKeyValues, decode, targetAttention, vocabularyLogits } from "../decoder/decoder.ts";
import { embed, lowerBlocks, lowerStates, retrievalVectors } from "../encoder/lower.ts";
import { upperStates } from "../encoder/upper.ts";
import { projectToHeads } from "../layers/attention.ts";
import type { Scope } from "../layers/scope.ts";
import type { Signature, Tracer, Value } from "../tensor/trace.ts";
import type { ModelParameters } from "../weights/parameters.ts";
import { distillationLoss, headScores, mixHeads, readingLoss, scoresOfBatch } from "./objective.ts";

/** How a batch is divided. All questions have equally many close passages. */
export interface Layout {
  /** Questions of each group. */
  readonly groups: readonly number[];
  /** Close passages of a question. */
  readonly passages: number;
}

export interface Objective {
  /** Weight of the distillation loss; 0 leaves retrieval as it is. */
  readonly alpha: number;
  /** Temperature at which all heads are mixed by learned weights; undefined for the one head of the configuration. */
  readonly tau?: number | undefined;
}

/** Parameters of the objective that are not the model's, by the names under which their gradients are known. */
export const HEAD_WEIGHTS = "head_weights";
export const LOG_SCALE = "log_scale";

/** What is fed with every batch. Q, K, n, m, T as in objective.ts; what ends in a number belongs to that group. */
export function batchSignature({ groups, passages }: Layout): Record<string, Signature> {
  const questions = groups.reduce((sum, count) => sum + count, 0);
  const pairs = questions * passages;
  const signature: Record<string, Signature> = {
    /** Every question as it is retrieved, then every question as it is read; padded on the left. */
    questionIds: ["int32", 2 * questions, "n"],
    questionMask: ["float32", 2 * questions, "n"],
    questionBuckets: ["int32", "n", "n"],
    answerIds: ["int32", questions, "T"],
    answerBuckets: ["int32", "T", "T"],
    labels: ["int32", questions, "T"],
    labelMask: ["float32", questions, "T"],
    /** Of each close passage, its number among the passages of all groups. */
    passageOf: ["int32", pairs],
    candidates: ["float32", questions, pairs],
    own: ["int32", pairs],
  };
  groups.forEach((count, g) => {
    signature[`passageIds.${g}`] = ["int32", `u${g}`, `m${g}`];
    signature[`passageMask.${g}`] = ["float32", `u${g}`, `m${g}`];
    signature[`passageBuckets.${g}`] = ["int32", `m${g}`, `m${g}`];
    /** Of each close passage of the group, its row in `passageIds`. */
    signature[`pairPassage.${g}`] = ["int32", count * passages];
    signature[`pairMask.${g}`] = ["float32", count * passages, `n+m${g}`];
    signature[`pairBuckets.${g}`] = ["int32", `n+m${g}`, `n+m${g}`];
  });
  return signature;
}

/** `loss` and `nll` are float32 of no axes; the others exist only where retrieval is trained. */
export interface ObjectiveValues {
  readonly loss: Value;
  readonly nll: Value;
  readonly kl?: Value;
  /** [Q, K], the target attention */
  readonly target?: Value;
  /** [Q, Q K], before `exp(logScale)` */
  readonly scores?: Value;
  /** [Q, K], log of the retrieval distribution at a question's own passages */
  readonly ownLogProbabilities?: Value;
}

/** nll + alpha KL (ReAtt, Eq. 4) of a batch whose tensors are `input`. */
export function reattObjective(
  tracer: Tracer,
  scope: Scope<Value>,
  parameters: ModelParameters<Value>,
  input: Record<string, Value>,
  layout: Layout,
  { alpha, tau }: Objective,
): ObjectiveValues {
  const ops = tracer;
  const { config } = scope;
  const questions = layout.groups.reduce((sum, count) => sum + count, 0);
  const questionStates = lowerStates(scope, parameters, {
    ids: input.questionIds!,
    mask: input.questionMask!,
    buckets: input.questionBuckets!,
  });
  const [retrieved, read] = ops.split(questionStates, 0, [questions, questions]);
  const [retrievalMask] = ops.split(input.questionMask!, 0, [questions, questions]);
  const vectors = (states: Value, projection: "query" | "key"): Value =>
    tau === undefined
      ? oneHead(scope, retrievalVectors(scope, parameters, states, projection))
      : allHeads(scope, parameters, states, projection);
  const queries = vectors(retrieved!, "query");

  const passages = embedGroups(scope, parameters, layout, input);
  const readStates = ops.split(read!, 0, layout.groups);
  const answerIds = ops.split(input.answerIds!, 0, layout.groups);
  const groups = layout.groups.map((count, g) => {
    const mask = input[`passageMask.${g}`]!;
    const states = lowerBlocks(scope, parameters, passages[g]!, {
      mask,
      buckets: input[`passageBuckets.${g}`]!,
    });
    const keys = vectors(states, "key");
    const fused = fuseGroup(scope, parameters, {
      question: readStates[g]!,
      passage: states,
      count,
      g,
      layout,
      input,
    });
    const pairMask = ops.reshape(input[`pairMask.${g}`]!, [count, -1]);
    const cross = crossKeyValues(scope, parameters, fused);
    const answer = { ids: answerIds[g]!, buckets: input.answerBuckets!, cross, crossMask: pairMask };
    const { states: written, crossScores } = decode(scope, parameters, answer);
    return {
      written,
      target: targetAttention(scope, crossScores, layout.passages),
      scores: headScores(ops, { queries, questionMask: retrievalMask!, keys, passageMask: mask }),
    };
  });

  const logits = vocabularyLogits(
    scope,
    parameters,
    ops.concat(
      groups.map(({ written }) => written),
      0,
    ),
  );
  const nll = readingLoss(ops, { logits, labels: input.labels!, labelMask: input.labelMask! });
  if (alpha === 0) return { loss: nll, nll };

  const ofHeads = ops.concat(
    groups.map(({ scores }) => scores),
    2,
  ); // [H, Q, U]
  const mixed =
    tau === undefined
      ? ops.sum(ofHeads, [0])
      : mixHeads(ops, ofHeads, tracer.parameter(HEAD_WEIGHTS, [config.heads]), tau);
  const scores = scoresOfBatch(ops, mixed, input.passageOf!);
  const target = ops.concat(
    groups.map((group) => group.target),
    0,
  );
  const logScale = tracer.parameter(LOG_SCALE, []);
  const { candidates, own } = input as { candidates: Value; own: Value };
  const { kl, ownLogProbabilities } = distillationLoss(ops, { scores, target, candidates, own, logScale });
  const loss = ops.add(nll, ops.multiply(kl, ops.scalar(alpha)));
  return { loss, nll, kl, target, scores, ownLogProbabilities };
}

/** [batch, length, headSize] -> [batch, 1, length, headSize] */
function oneHead({ ops, config }: Scope<Value>, x: Value): Value {
  const [batch, length] = ops.shape(x);
  return ops.reshape(x, [batch!, 1, length!, config.headSize]);
}

/** What every head of block B compares: [batch, length, modelSize] -> [batch, heads, length, headSize]. */
function allHeads(
  scope: Scope<Value>,
  parameters: ModelParameters<Value>,
  states: Value,
  projection: "query" | "key",
): Value {
  const { ops, config } = scope;
  const { attentionNorm, attention } = parameters.encoder.blocks[config.retrievalLayer]!;
  return projectToHeads(
    scope,
    attention[projection],
    ops.rmsNorm(states, attentionNorm, config.layerNormEpsilon),
  );
}

/** The embedded passages of each group, by one look-up for all: its gradient is a table as large as the embedding. */
function embedGroups(
  scope: Scope<Value>,
  parameters: ModelParameters<Value>,
  layout: Layout,
  input: Record<string, Value>,
): Value[] {
  const { ops, config } = scope;
  const ids = layout.groups.map((_, g) => input[`passageIds.${g}`]!);
  const flat = ids.map((group) => ops.reshape(group, [-1]));
  const embedded = embed(scope, parameters, ops.concat(flat, 0));
  const parts = ops.split(
    embedded,
    0,
    flat.map((group) => ops.shape(group)[0]!),
  );
  return parts.map((part, g) => ops.reshape(part, [...ops.shape(ids[g]!), config.modelSize]));
}

/** A group's questions with their passages through the upper layers, joined per question: -> [count, K (n + m), modelSize]. */
function fuseGroup(
  scope: Scope<Value>,
  parameters: ModelParameters<Value>,
  group: {
    question: Value;
    passage: Value;
    count: number;
    g: number;
    layout: Layout;
    input: Record<string, Value>;
  },
): Value {
  const { ops, config } = scope;
  const { question, passage, count, g, layout, input } = group;
  const owners = Int32Array.from({ length: count * layout.passages }, (_, pair) =>
    Math.floor(pair / layout.passages),
  );
  const states = upperStates(scope, parameters, {
    question: ops.gather(question, ops.constant({ data: owners, shape: [owners.length] })),
    passage: ops.gather(passage, input[`pairPassage.${g}`]!),
    mask: input[`pairMask.${g}`]!,
    buckets: input[`pairBuckets.${g}`]!,
  });
  return ops.reshape(states, [count, -1, config.modelSize]);
}
