/**
 * The gradient cache: exact gradients of a large batch, computed chunk by chunk.
 *
 * With in-batch negatives, the loss of a question depends on the passages of the whole batch. But
 * chunks depend on each other only through outputs of the model: query vectors, token keys, and
 * what else the objectives keep, such as the target attention. Three passes use that:
 *
 * 1. Outputs v of each chunk, without gradients.
 * 2. The loss L of the batch from all v, and its gradients g = dL / dv. The learned scalars get
 *    their gradients here.
 * 3. Each chunk with gradients, and with the same dropout. The inner product of g and v takes the
 *    place of the loss, because d(g v) = (dL / dv) dv.
 *
 * Objectives whose terms are sums over questions take no part in 1 and 2: each chunk computes its
 * share in pass 3. A batch of one chunk needs pass 3 only. Pre-batch negatives (pre-batch.ts) need
 * pass 2: they are more passages there. The gradients do not depend on the division into
 * chunks, apart from rounding. Small chunks are also faster on a processor: their tensors stay in
 * its cache between two operations.
 *
 * Source: Gao et al. 2021 (gradient cache); ReAtt, appendix A.
 */

import type { ModelConfig } from "../../model/config.ts";
import { isRead, TEACHER } from "../objectives/forward.ts";
import type { Objective } from "../objectives/objective.ts";
import {
  acrossQuestions,
  allNeeds,
  type GradientPasses,
  type LossValues,
  type StepPlan,
  type StepSettings,
  type Tensors,
  type WatchedName,
} from "../objectives/passes.ts";
import { type TokenExample, withDistinctPassages } from "../objectives/token-batch.ts";
import { type Chunk, chunksOf, type DropoutKey, openChunkDropout } from "./chunks.ts";
import { keptBatch } from "./kept-outputs.ts";
import type { StepKeys } from "./pre-batch.ts";

export interface Batch {
  readonly examples: readonly TokenExample[];
  readonly objectives: readonly Objective[];
  /** Questions of a chunk. */
  readonly chunkQuestions: number;
  /** Determines the dropout. */
  readonly key: DropoutKey;
  /** Passages of earlier steps that are negatives, newest first. */
  readonly earlier?: readonly StepKeys[] | undefined;
  /** Called with the keys of the batch, if an objective goes across questions. */
  readonly onKeys?: ((keys: Omit<StepKeys, "step">) => void) | undefined;
  /** Outputs of the model that the result has. Default: none. */
  readonly watched?: readonly WatchedName[] | undefined;
}

export interface BatchLoss extends LossValues {
  /** The watched outputs, one tensor for each chunk. */
  readonly watched: Readonly<Record<string, readonly Tensors[string][]>>;
}

/** States of texts that are held between steps, as inputs of chunks. */
export interface ChunkStates {
  /** The layers that they stand for, in a step that reads or not; undefined if none is held. */
  layers(isRead: boolean): number | undefined;
  /** The chunk with the states of its questions and passages after the layers. */
  withStates(chunk: Chunk, layers: number): Promise<Chunk>;
}

/** A reader that a run does not train: what it says of an example is the same in every step. */
export interface Teacher {
  /** The examples with log P(answer | question, candidate) of each of their candidates. */
  teach(examples: readonly TokenExample[]): Promise<TokenExample[]>;
}

/** What does not change in a run, so that it is computed once. */
export interface HeldParts {
  readonly states?: ChunkStates | undefined;
  readonly teacher?: Teacher | undefined;
}

/** Computes the loss of a batch. Adds its gradients to the sums that the passes hold. */
export type GradientAccumulator = (batch: Batch) => Promise<BatchLoss>;

export function gradientAccumulator(
  config: ModelConfig,
  passes: GradientPasses,
  settings: StepSettings,
  { states, teacher }: HeldParts = {},
): GradientAccumulator {
  const drawDropout = openChunkDropout(config, settings);
  return async (batch) => {
    const asked = batch.examples.map(withDistinctPassages);
    const plan = planOf(batch, asked, settings, { states, teacher });
    const examples = plan.isTaught ? await teacher!.teach(asked) : asked;
    const across = acrossQuestions(plan);
    const isWhole = batch.chunkQuestions >= examples.length;
    const isCached = across.length > 0 && (!isWhole || batch.onKeys !== undefined);
    const own = plan.objectives.filter((objective) => !isCached || !across.includes(objective));
    const chunks = chunksOf(config, examples, batch.chunkQuestions, plan, own);
    if (states && plan.held !== undefined)
      for (const [i, chunk] of chunks.entries())
        chunks[i] = await states.withStates(chunk, plan.held);
    const dropout = drawDropout(plan, chunks, batch.key);
    /** Passes 1 and 2. */
    const cacheGradients = async () => {
      const kept: Tensors[] = [];
      for (const [i, { tensors }] of chunks.entries())
        kept.push(await passes.keep(plan, tensors, dropout[i]!));
      const { earlier = [], onKeys } = batch;
      const joined = keptBatch(config, examples, chunks, kept, plan, earlier);
      if (joined.keys) onKeys?.(joined.keys);
      const { gradients, ...loss } = await passes.batch(plan, joined.tensors);
      return { ...loss, gradients: joined.split(gradients) };
    };
    const cache = isCached ? await cacheGradients() : undefined;
    const losses = [];
    for (const [i, { tensors }] of chunks.entries())
      losses.push(await passes.chunk(plan, tensors, dropout[i]!, cache?.gradients[i]));
    return sumOf(cache ? [...losses, cache] : losses);
  };
}

/** The objectives that learn from an example of the batch, and what is held. */
function planOf(
  { objectives, watched }: Batch,
  examples: readonly TokenExample[],
  { tau }: StepSettings,
  { states, teacher }: HeldParts,
): StepPlan {
  const learning = objectives.filter((one) => examples.some((example) => one.trains(example)));
  const plan = { objectives: learning.length > 0 ? learning : objectives, tau, watched };
  const isTaught = teacher !== undefined && allNeeds(plan).has(TEACHER);
  return { ...plan, isTaught, held: states?.layers(isRead(allNeeds(plan), { isTaught })) };
}

/** Sums losses, and terms of the same name. */
function sumOf(parts: readonly (LossValues & { readonly watched?: Tensors })[]): BatchLoss {
  const terms: Record<string, number> = {};
  const watched: Record<string, Tensors[string][]> = {};
  for (const part of parts) {
    for (const [name, value] of Object.entries(part.terms))
      terms[name] = (terms[name] ?? 0) + value;
    for (const [name, tensor] of Object.entries(part.watched ?? {}))
      watched[name] = [...(watched[name] ?? []), tensor];
  }
  const loss = parts.reduce((sum, part) => sum + part.loss, 0);
  return { loss, terms, watched };
}
