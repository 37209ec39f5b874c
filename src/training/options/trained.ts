/**
 * What a run trains: the only place that knows which parameters belong to a part of the model.
 *
 *     all        every parameter that the objective uses
 *     retrieval  what only retrieval uses; without such layers, all that makes vectors
 *     head       the query and key projections of the retrieval head
 *     query      what makes query vectors: the query projection, or layers of a query encoder
 *     joint      the encoder layers that read question and passage together
 *     reader     all that only reading uses: the joint layers and the decoder
 */

import { InputError } from "../../io/errors.ts";
import type { ModelConfig } from "../../model/config.ts";
import {
  buildParameters,
  isOfPhraseQueries,
  isOfQueryEncoder,
  namesIn,
  parameterShapes,
  TOKEN_WEIGHTS,
} from "../../model/parameter-names.ts";
import type { ObjectiveName } from "../objectives/index.ts";
import { HEAD_WEIGHTS, LOG_SCALE, type Trained } from "../objectives/trained-parameters.ts";

export const PARTS = ["all", "retrieval", "joint", "head", "reader", "query"] as const;

export type Part = (typeof PARTS)[number];

/** What a run trains, in words. */
export const PART_TEXTS: Readonly<Record<Part, string>> = {
  all: "the whole model",
  retrieval: "the retrieval",
  joint: "the joint layers",
  head: "the retrieval head",
  reader: "the reader",
  query: "the query side",
};

/** What decides about the parameters of a run. */
export interface TrainedChoice {
  readonly part: Part;
  /** The last layers of the part that are trained. Default: all. */
  readonly layers?: number | undefined;
  readonly objective: ObjectiveName;
  /** Temperature of the head weights, if heads are mixed. */
  readonly tau?: number | undefined;
}

/**
 * The parameters that a run trains.
 *
 * @param config of the trained model
 * @throws {InputError} if the objective does not train the part, or the part has fewer layers
 */
export function trainedParameters(config: ModelConfig, choice: TrainedChoice): Trained {
  const { part, objective, tau } = choice;
  checkObjective(part, objective);
  const known = new Set([...parameterShapes(config).keys(), ...scalarsOf(choice)]);
  const names = new Set([...namesOfPart(config, choice)].filter((name) => known.has(name)));
  // All heads are trained where all of them make the vectors.
  const isOfAllHeads = config.pooling !== undefined || tau !== undefined;
  if (isOfAllHeads || (part === "all" && objective !== "retrieval"))
    return { names, rows: new Map() };
  const rows = part === "joint" || part === "reader" ? "others" : "retrieval";
  const projections = projectionsOf(config).filter((name) => names.has(name));
  return { names, rows: new Map(projections.map((name) => [name, rows])) };
}

/** The default part of an objective. */
export const defaultPart = (objective: ObjectiveName): Part =>
  objective === "retrieval" ? "retrieval" : "all";

/** @throws {InputError} if the objective does not train the part */
function checkObjective(part: Part, objective: ObjectiveName): void {
  const isReading = part === "joint" || part === "reader";
  const isRetrieval = part !== "all" && !isReading;
  const got = `the objective ${objective}`;
  const remedy = "give another objective, or train another part";
  if (isReading && objective === "retrieval")
    throw new InputError({
      where: `train ${part}`,
      expected: "an objective that reads",
      got,
      remedy,
    });
  if (isRetrieval && objective === "qa")
    throw new InputError({
      where: `train ${part}`,
      expected: "an objective that trains retrieval",
      got,
      remedy,
    });
}

/** The learned scalars of retrieval. */
const scalarsOf = ({ tau }: TrainedChoice): string[] =>
  tau === undefined ? [LOG_SCALE] : [LOG_SCALE, HEAD_WEIGHTS];

function namesOfPart(config: ModelConfig, choice: TrainedChoice): Set<string> {
  const { part, layers, objective } = choice;
  const tree = namesOf(config);
  const { encoder, decoder } = tree;
  const scalars = scalarsOf(choice);
  const phrases = [...parameterShapes(config).keys()].filter(isOfPhraseQueries);
  const all = [...parameterShapes(config).keys(), ...scalars];
  const vectors = vectorNames(config);
  if (part === "all") {
    if (objective === "retrieval") return new Set([...vectors, ...scalars, ...phrases]);
    const own = objective === "qa" ? ownRetrieval(config) : new Set();
    return new Set(all.filter((name) => !own.has(name)));
  }
  if (part === "head")
    return new Set([...projectionsOf(config), TOKEN_WEIGHTS, LOG_SCALE, ...phrases]);
  if (part === "query") return queryNames(config, layers);
  if (part === "retrieval") {
    const chosen = lastLayers(part, retrievalLayers(config), layers);
    const others = hasOwnLayers(config)
      ? [TOKEN_WEIGHTS]
      : layers === undefined
        ? [...vectors]
        : [...projectionsOf(config), TOKEN_WEIGHTS];
    return new Set([...chosen.flat(), ...others, ...scalars, ...phrases]);
  }
  const joint = [
    ...(encoder.jointBlocks ?? []).map(namesIn),
    ...encoder.blocks.slice(config.retrievalLayer).map(namesIn),
  ];
  const chosen = lastLayers(part, joint, part === "joint" ? layers : undefined).flat();
  const read = part === "reader" ? [...namesIn(decoder), tree.outputEmbedding] : [];
  const projections = new Set(projectionsOf(config));
  const isRead = (name: string): boolean => projections.has(name) || !vectors.has(name);
  return new Set([...chosen, encoder.finalNorm, ...read].filter(isRead));
}

const namesOf = (config: ModelConfig) => buildParameters(config, (name) => name);

/** Whether retrieval has layers that reading does not use. A query encoder shares the others. */
const hasOwnLayers = ({ backbone, queryEncoder }: ModelConfig): boolean =>
  backbone !== undefined && backbone.jointLayers > 0 && !queryEncoder;

/** The layers of a text alone that `retrieval` trains, from the bottom to the top. */
function retrievalLayers(config: ModelConfig): string[][] {
  const { encoder } = namesOf(config);
  const ofBackbone = (encoder.backbone?.blocks ?? []).map(namesIn);
  if (hasOwnLayers(config)) return ofBackbone.slice(-config.backbone!.jointLayers);
  return [...ofBackbone, ...encoder.blocks.slice(0, config.retrievalLayer).map(namesIn)];
}

/** Names of the query and key projections of the retrieval layer. */
function projectionsOf(config: ModelConfig): [query: string, key: string] {
  // A query encoder has the key projection of the encoder.
  const { query, key } = namesOf(config).queryEncoder.blocks[config.retrievalLayer]!.attention;
  return [query, key];
}

/** Names of all parameters that query vectors and keys depend on. */
function vectorNames(config: ModelConfig): Set<string> {
  const { embedding, encoder, queryEncoder } = namesOf(config);
  const ofStack = ({ blocks, relativeBias }: typeof encoder): string[] => [
    ...(config.retrievalLayer > 0 ? [relativeBias] : []), // no block below uses it
    ...blocks.slice(0, config.retrievalLayer).flatMap(namesIn),
    blocks[config.retrievalLayer]!.attentionNorm,
  ];
  return new Set([
    embedding,
    ...namesIn(encoder.backbone ?? {}),
    TOKEN_WEIGHTS,
    ...ofStack(encoder),
    ...ofStack(queryEncoder),
    ...projectionsOf(config),
  ]);
}

/** Names that reading given passages does not depend on. */
export function ownRetrieval(config: ModelConfig): Set<string> {
  const ofQueries = [...parameterShapes(config).keys()].filter(
    (name) => isOfQueryEncoder(name) || isOfPhraseQueries(name),
  );
  const own = hasOwnLayers(config) ? retrievalLayers(config).flat() : [];
  return new Set([...own, ...ofQueries, TOKEN_WEIGHTS, LOG_SCALE, HEAD_WEIGHTS]);
}

/** The query projection, or the last layers of the query encoder. */
function queryNames(config: ModelConfig, layers: number | undefined): Set<string> {
  const [projection] = projectionsOf(config);
  if (layers === undefined) return new Set([projection]);
  const { queryEncoder } = namesOf(config);
  const copied = queryEncoder.blocks.slice(0, config.retrievalLayer).map(namesIn);
  const chosen = lastLayers("query", copied, layers).flat();
  const norm = queryEncoder.blocks[config.retrievalLayer]!.attentionNorm;
  const bias = layers === copied.length ? [queryEncoder.relativeBias] : [];
  return new Set([...chosen, norm, projection, ...bias].filter(isOfQueryEncoder));
}

/** @throws {InputError} if the part has fewer layers */
function lastLayers(
  part: Part,
  all: readonly string[][],
  count: number | undefined,
): readonly string[][] {
  if (count === undefined) return all;
  if (count > all.length)
    throw new InputError({
      where: "layers",
      expected:
        all.length === 0 ? `none: ${part} has no layers of its own` : `at most ${all.length}`,
      got: String(count),
      remedy: all.length === 0 ? "leave layers out" : "give fewer",
    });
  return all.slice(all.length - count);
}
