/** What is trained: the model's parameters and the objective's own, or the query side alone. */

import type { ModelConfig } from "../../model/config.ts";
import { buildParameters, isOfQueryEncoder, type Leaf } from "../../model/parameter-names.ts";
import type { ModelParameters } from "../../model/parameters.ts";
import type { Ops } from "../../tensor/ops.ts";
import type { RetrievalOptions } from "./graph-inputs.ts";

export interface TrainedParameters<T> {
  readonly model: ModelParameters<T>;
  /** [heads]; undefined where one head is fixed */
  readonly headWeights: T | undefined;
  /** No axes: the logarithm of the learned factor of retrieval scores. */
  readonly logScale: T;
}

/** The names of the objective's own parameters; the model's have those of the checkpoint. */
export const HEAD_WEIGHTS = "head_weights";
export const LOG_SCALE = "log_scale";

/**
 * What is trained where keys of passages are to stay as they are, so that an index stays good (fingerprint.ts): the query
 * projection of the retrieval head, or the query encoder. Source: DensePhrases (Lee et al. 2021), section 6.
 */
export type QuerySide = "projection" | "layers";

export interface TrainedOptions extends Pick<RetrievalOptions, "tau"> {
  /** Train this and nothing else. `layers` is of a model that has a query encoder. */
  readonly querySide?: QuerySide | undefined;
}

/** The parameters as the steps of loss-graph.ts take them, each made by `leaf`. */
export function trainedParameters<T>(
  ops: Ops<T>,
  config: ModelConfig,
  { tau, querySide }: TrainedOptions,
  leaf: Leaf<T>,
): TrainedParameters<T> {
  const query = queryProjection(config);
  const withHead: Leaf<T> = (name, shape) =>
    name === query ? retrievalHeadAlone(ops, config, leaf(name, shape)) : leaf(name, shape);
  return {
    model: buildParameters(config, querySide === "projection" ? withHead : leaf),
    headWeights: tau === undefined ? undefined : leaf(HEAD_WEIGHTS, [config.heads]),
    logScale: leaf(LOG_SCALE, []),
  };
}

/** Those of `parameters`, which are named, that gradients are computed of. */
export function trainedOf<State>(
  config: ModelConfig,
  { querySide }: TrainedOptions,
  parameters: ReadonlyMap<string, State>,
): Map<string, State> {
  if (querySide === undefined) return new Map(parameters);
  const query = queryProjection(config);
  const isTrained = querySide === "layers" ? isOfQueryEncoder : (name: string) => name === query;
  return new Map([...parameters].filter(([name]) => isTrained(name)));
}

/** The objective's own among some parameters. */
export const ownOf = <State>(parameters: ReadonlyMap<string, State>): Map<string, State> =>
  new Map([...parameters].filter(([name]) => name === HEAD_WEIGHTS || name === LOG_SCALE));

const queryProjection = (config: ModelConfig): string =>
  buildParameters(config, (name) => name).queryEncoder.blocks[config.retrievalLayer]!.attention
    .query;

/** `weight` [heads * headSize, modelSize], to which gradients flow in the rows of the retrieval head alone. */
function retrievalHeadAlone<T>(
  ops: Ops<T>,
  { heads, headSize, retrievalHead }: ModelConfig,
  weight: T,
): T {
  const rows = new Float32Array(heads * headSize);
  rows.fill(1, retrievalHead * headSize, (retrievalHead + 1) * headSize);
  const own = ops.constant({ data: rows, shape: [rows.length, 1] });
  const others = ops.subtract(ops.scalar(1), own);
  return ops.add(ops.multiply(weight, own), ops.multiply(ops.stopGradient(weight), others));
}
