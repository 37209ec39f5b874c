/**
 * The parameters of the loss graph, and which of them training changes.
 *
 * The learned scalars belong to the loss, not to T5: the head weights w (ReAtt, section 2.2) and
 * the log scale s of retrieval scores, an addition of this project.
 */

import { type ModelConfig, retrievalRows } from "../../model/config.ts";
import {
  buildParameters,
  isOfPhraseQueries,
  isOfQueryEncoder,
  type Leaf,
  namesIn,
  parameterShapes,
  TOKEN_WEIGHTS,
} from "../../model/parameter-names.ts";
import type { ModelParameters } from "../../model/parameters.ts";
import type { Ops } from "../../tensor/ops.ts";
import type { LossGraphOptions } from "./options.ts";

export interface TrainedParameters<T> {
  readonly model: ModelParameters<T>;
  /** [heads]; undefined where the retrieval head is fixed */
  readonly headWeights: T | undefined;
  /** [] */
  readonly logScale: T;
}

/** Names of the learned scalars, in code and in checkpoint files. */
export const HEAD_WEIGHTS = "head_weights";
export const LOG_SCALE = "log_scale";

export interface TrainedOptions extends Pick<LossGraphOptions, "tau" | "querySide"> {
  /** Trains only the parameters of the objective `retrieval`. Default false. */
  readonly retrievalOnly?: boolean | undefined;
  /** Trains only what retrieval does not depend on. Default false. */
  readonly readerOnly?: boolean | undefined;
  /**
   * Trains only the projections of the retrieval head, token weights and phrase queries. Default
   * false.
   */
  readonly headOnly?: boolean | undefined;
}

/**
 * Whether training leaves the layers below the joint layers (model/layers/bert.ts) as they are.
 * Retrieval and reading share them, and the objective `retrieval` must not change what the reader
 * was trained to read. A step without their gradients takes less time, too.
 */
export function keepsSharedLayers(
  { backbone, queryEncoder }: ModelConfig,
  { querySide, retrievalOnly }: TrainedOptions,
): boolean {
  const hasJointLayers = backbone !== undefined && backbone.jointLayers > 0;
  return Boolean(retrievalOnly) && querySide === undefined && hasJointLayers && !queryEncoder;
}

/**
 * `config` for the loss of the objective `retrieval`, if it trains only the last `trainedLayers` of
 * the layers that the reader has copies of. The others then count as shared: they are left as they
 * are.
 */
export function withTrainedLayers(
  config: ModelConfig,
  { trainedLayers }: { readonly trainedLayers?: number | undefined },
): ModelConfig {
  if (!config.backbone || trainedLayers === undefined) return config;
  return { ...config, backbone: { ...config.backbone, jointLayers: trainedLayers } };
}

/** The parameter tree of the loss graph. `leaf` makes each parameter from its name and shape. */
export function buildTrainedParameters<T>(
  ops: Ops<T>,
  config: ModelConfig,
  options: TrainedOptions,
  leaf: Leaf<T>,
): TrainedParameters<T> {
  const { tau } = options;
  const parts = trainedHeads(config, options);
  const withFixedHeads: Leaf<T> = (name, shape) => {
    const part = parts.get(name);
    const weight = leaf(name, shape);
    return part ? fixHeads(ops, config, weight, part) : weight;
  };
  return {
    model: buildParameters(config, withFixedHeads),
    headWeights: tau === undefined ? undefined : leaf(HEAD_WEIGHTS, [config.heads]),
    logScale: leaf(LOG_SCALE, []),
  };
}

/** The heads of a projection that training changes: the retrieval head, or all others. */
type HeadPart = "retrieval" | "others";

/** The projections of which training changes the rows of some heads, by name. */
function trainedHeads(
  config: ModelConfig,
  { querySide, readerOnly, headOnly }: TrainedOptions,
): Map<string, HeadPart> {
  if (config.pooling !== undefined) return new Map();
  if (querySide === "projection") return new Map([[queryProjection(config), "retrieval"]]);
  const part = (readerOnly && "others") || (headOnly && "retrieval");
  return new Map(part ? retrievalProjections(config).map((name) => [name, part]) : []);
}

/** The entries of `parameters` that training changes. */
export function selectTrained<State>(
  config: ModelConfig,
  options: TrainedOptions,
  parameters: ReadonlyMap<string, State>,
): Map<string, State> {
  const { querySide, retrievalOnly, readerOnly, headOnly } = options;
  const select = (isTrained: (name: string) => boolean): Map<string, State> =>
    new Map([...parameters].filter(([name]) => isTrained(name)));
  if (querySide === "layers") return select(isOfQueryEncoder);
  if (querySide === "projection") return select((name) => name === queryProjection(config));
  if (headOnly) {
    const projections = retrievalProjections(config);
    const head = [...projections, TOKEN_WEIGHTS, LOG_SCALE];
    return select((name) => head.includes(name) || isOfPhraseQueries(name));
  }
  if (!retrievalOnly && !readerOnly) return new Map(parameters);
  if (readerOnly) {
    const ofRetrieval = retrievalParameters(config);
    const partly = trainedHeads(config, { readerOnly });
    return select((name) => (!ofRetrieval.has(name) && name !== LOG_SCALE) || partly.has(name));
  }
  const trained = trainedByRetrieval(config, options);
  const scalars = [HEAD_WEIGHTS, LOG_SCALE];
  const isTrained = (name: string): boolean => trained.has(name) || scalars.includes(name);
  return select((name) => isTrained(name) || isOfPhraseQueries(name));
}

/**
 * Names of the matrices that are trained in the rows of some heads only. Weight decay must not
 * change their other rows. With pooling all heads are trained.
 */
export function partlyTrained(
  config: ModelConfig,
  { tau, querySide, retrievalOnly, readerOnly, headOnly }: TrainedOptions,
): Set<string> {
  if (config.pooling !== undefined) return new Set();
  const partly = trainedHeads(config, { querySide, readerOnly, headOnly });
  if (partly.size > 0) return new Set(partly.keys());
  if (!retrievalOnly || tau !== undefined) return new Set();
  return new Set(retrievalProjections(config));
}

/** Names of the query and key projections of the retrieval layer. */
function retrievalProjections(config: ModelConfig): string[] {
  const { queryEncoder } = buildParameters(config, (name) => name);
  // A query encoder has the key projection of the encoder.
  const { query, key } = queryEncoder.blocks[config.retrievalLayer]!.attention;
  return [query, key];
}

/** Names of the model's parameters that query vectors and token keys depend on. */
function retrievalParameters(config: ModelConfig): Set<string> {
  const { embedding, encoder, queryEncoder } = buildParameters(config, (name) => name);
  const ofStack = ({ blocks, relativeBias }: typeof encoder): string[] => [
    relativeBias,
    ...blocks.slice(0, config.retrievalLayer).flatMap(namesIn),
    blocks[config.retrievalLayer]!.attentionNorm,
  ];
  return new Set([
    embedding,
    ...namesIn(encoder.backbone ?? {}),
    TOKEN_WEIGHTS,
    ...ofStack(encoder),
    ...ofStack(queryEncoder),
    ...retrievalProjections(config),
  ]);
}

/**
 * Names of the model's parameters that the objective `retrieval` trains: those of retrieval, but
 * for the relative bias if no block below B uses it. If the model has joint layers, the reader
 * computes with most of them, also with the norm and the projections of block B. Then only what
 * retrieval has for itself is trained: the layers of the backbone that the reader has copies of,
 * and the token weights.
 */
function trainedByRetrieval(config: ModelConfig, options: TrainedOptions): Set<string> {
  if (keepsSharedLayers(config, options))
    return new Set([...copiedForReading(config), TOKEN_WEIGHTS]);
  const { encoder } = buildParameters(config, (name) => name);
  const trained = retrievalParameters(config);
  if (config.retrievalLayer === 0) trained.delete(encoder.relativeBias);
  return trained;
}

/** Names of the weights of the backbone that the reader has copies of: its joint layers. */
function copiedForReading(config: ModelConfig): string[] {
  const { encoder } = buildParameters(config, (name) => name);
  if (!config.backbone) return [];
  const { layers, jointLayers } = config.backbone;
  return encoder.backbone!.blocks.slice(layers - jointLayers).flatMap(namesIn);
}

/** Names of the model's parameters that reading given passages does not depend on. */
export function usedByRetrievalAlone(config: ModelConfig): Set<string> {
  const queries = [...parameterShapes(config).keys()].filter(
    (name) => isOfQueryEncoder(name) || isOfPhraseQueries(name),
  );
  return new Set([...copiedForReading(config), TOKEN_WEIGHTS, ...queries]);
}

/** The entries of `parameters` that are learned scalars. */
export const selectLearnedScalars = <State>(
  parameters: ReadonlyMap<string, State>,
): Map<string, State> =>
  new Map([...parameters].filter(([name]) => name === HEAD_WEIGHTS || name === LOG_SCALE));

const queryProjection = (config: ModelConfig): string =>
  buildParameters(config, (name) => name).queryEncoder.blocks[config.retrievalLayer]!.attention
    .query;

/** `weight` [heads e, modelSize] with gradients in the rows of some heads only. */
function fixHeads<T>(ops: Ops<T>, config: ModelConfig, weight: T, part: HeadPart): T {
  const [ofHead, ofOthers] = part === "retrieval" ? [1, 0] : [0, 1];
  const rows = new Float32Array(config.heads * config.headSize).fill(ofOthers);
  rows.fill(ofHead, ...retrievalRows(config));
  const trained = ops.constant({ data: rows, shape: [rows.length, 1] });
  const fixed = ops.subtract(ops.scalar(1), trained);
  return ops.add(ops.multiply(weight, trained), ops.multiply(ops.stopGradient(weight), fixed));
}
