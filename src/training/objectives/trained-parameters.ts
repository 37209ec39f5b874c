/**
 * The parameters of a training step, and which of them it changes.
 *
 * The learned scalars belong to the objectives, not to the model: the head weights w (ReAtt,
 * section 2.2) and the log scale s of retrieval scores, an addition of this project.
 */

import { headLayer, type ModelConfig, retrievalRows } from "../../model/config.ts";
import { namesBelowHeads } from "../../model/fingerprint.ts";
import {
  buildParameters,
  namesIn,
  parameterNames,
  readingNames,
} from "../../model/parameter-names.ts";
import type { ModelParameters } from "../../model/parameters.ts";
import type { Ops } from "../../tensor/ops.ts";
import type { ScoringParameters } from "./outputs.ts";

/** Names of the learned scalars, in code and in checkpoint files. */
export const HEAD_WEIGHTS = "head_weights";
export const LOG_SCALE = "log_scale";

/** What a run trains. */
export interface Trained {
  /** Names of the parameters that change, with those of the learned scalars. */
  readonly names: ReadonlySet<string>;
  /** Of matrices that are trained in part: whether the retrieval heads, or the others, change. */
  readonly rows: ReadonlyMap<string, HeadPart>;
}

export type HeadPart = "retrieval" | "others";

export interface TrainedParameters<T> extends ScoringParameters<T> {
  readonly model: ModelParameters<T>;
}

/** The entries of `parameters` that training changes. */
export const selectTrained = <State>(
  { names }: Trained,
  parameters: ReadonlyMap<string, State>,
): Map<string, State> => new Map([...parameters].filter(([name]) => names.has(name)));

/** The entries of `parameters` that are learned scalars. */
export const selectLearnedScalars = <State>(
  parameters: ReadonlyMap<string, State>,
): Map<string, State> =>
  new Map([...parameters].filter(([name]) => name === HEAD_WEIGHTS || name === LOG_SCALE));

/** The parameter tree of a step. `leaf` makes each parameter from its name and shape. */
export function buildTrainedParameters<T>(
  ops: Ops<T>,
  config: ModelConfig,
  { trained, tau }: { readonly trained: Trained; readonly tau?: number | undefined },
  leaf: Leaf<T>,
): TrainedParameters<T> {
  const withFixedHeads: Leaf<T> = (name, shape) => {
    const part = trained.rows.get(name);
    const weight = leaf(name, shape);
    return part ? fixHeads(ops, config, weight, shape, part) : weight;
  };
  return {
    model: buildParameters(config, withFixedHeads),
    ...scoringParameters(config, tau, leaf),
  };
}

/** Makes a parameter from its name and shape. */
type Leaf<T> = (name: string, shape: readonly number[]) => T;

export const scoringParameters = <T>(
  config: ModelConfig,
  tau: number | undefined,
  leaf: Leaf<T>,
): ScoringParameters<T> => ({
  headWeights: tau === undefined ? undefined : leaf(HEAD_WEIGHTS, [headLayer(config).heads]),
  logScale: leaf(LOG_SCALE, []),
});

/**
 * Whether the keys of passages stay as they are, so that an index of the model remains valid. A
 * step then encodes passages without dropout.
 */
export function keepsKeys(config: ModelConfig, { names, rows }: Trained): boolean {
  const ofKeys = namesIn(parameterNames(config).heads.key);
  const hasTrainedKey = ofKeys.some((name) => names.has(name) && rows.get(name) !== "others");
  return !hasTrainedKey && ![...namesBelowHeads(config)].some((name) => names.has(name));
}

/** Whether what reads given passages stays as it is, so that it says the same in every step. */
export function keepsReading(config: ModelConfig, { names }: Trained): boolean {
  const read = readingNames(config);
  return ![...names].some((name) => read.has(name));
}

/** `weight` [heads e, ...] with gradients in the rows of some heads only. */
function fixHeads<T>(
  ops: Ops<T>,
  config: ModelConfig,
  weight: T,
  [size, ...columns]: readonly number[],
  part: HeadPart,
): T {
  const [ofHead, ofOthers] = part === "retrieval" ? [1, 0] : [0, 1];
  const rows = new Float32Array(size!).fill(ofOthers);
  rows.fill(ofHead, ...retrievalRows(config));
  const trained = ops.constant({ data: rows, shape: [rows.length, ...columns.map(() => 1)] });
  const fixed = ops.subtract(ops.scalar(1), trained);
  return ops.add(ops.multiply(weight, trained), ops.multiply(ops.stopGradient(weight), fixed));
}
