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
import { namesBelowHeads } from "../../model/fingerprint.ts";
import {
  isOfPhraseQueries,
  isOfQueryEncoder,
  namesIn,
  parameterNames,
  parameterShapes,
  readingNames,
  retrievalNames,
  TOKEN_WEIGHTS,
} from "../../model/parameter-names.ts";
import type { StackParameters } from "../../model/parameters.ts";
import { type ObjectiveName, trainsReading } from "../objectives/index.ts";
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
  const { from, pooling } = config.retrievalAttention;
  const isOfAllHeads = from === "own" || pooling !== undefined || tau !== undefined;
  if (isOfAllHeads || (part === "all" && trainsReading(objective)))
    return { names, rows: new Map() };
  const rows = part === "joint" || part === "reader" ? "others" : "retrieval";
  const projections = projectionsOf(config).filter((name) => names.has(name));
  return { names, rows: new Map(projections.map((name) => [name, rows])) };
}

/** The default part of an objective. */
export const defaultPart = (objective: ObjectiveName): Part =>
  trainsReading(objective) ? "all" : "retrieval";

/** @throws {InputError} if the objective does not train the part */
function checkObjective(part: Part, objective: ObjectiveName): void {
  const isReading = part === "joint" || part === "reader";
  const isRetrieval = part !== "all" && !isReading;
  const got = `the objective ${objective}`;
  const remedy = "give another objective, or train another part";
  if (isReading && !trainsReading(objective))
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
  const tree = parameterNames(config);
  const scalars = scalarsOf(choice);
  const phrases = [...parameterShapes(config).keys()].filter(isOfPhraseQueries);
  const all = [...parameterShapes(config).keys(), ...scalars];
  const vectors = retrievalNames(config);
  if (part === "all") {
    if (!trainsReading(objective)) return new Set([...vectors, ...scalars, ...phrases]);
    const own = objective === "qa" ? ownRetrieval(config) : new Set<string>();
    return new Set(all.filter((name) => !own.has(name)));
  }
  if (part === "head")
    return new Set([...projectionsOf(config), TOKEN_WEIGHTS, LOG_SCALE, ...phrases]);
  if (part === "query") return queryNames(config, layers);
  if (part === "retrieval") {
    const chosen = lastLayers(part, retrievalLayers(config), layers);
    const ofLayers = new Set(namesIn(tree.retrieval));
    const others = hasOwnLayers(config)
      ? [...ownRetrieval(config)].filter((name) => !ofLayers.has(name))
      : layers === undefined
        ? [...vectors]
        : [...projectionsOf(config), TOKEN_WEIGHTS];
    const maps = layers === undefined ? tree.retrieval.flatMap(namesBeside) : [];
    return new Set([...chosen.flat(), ...maps, ...others, ...scalars, ...phrases]);
  }
  const chosen = lastLayers(part, layersOf(tree.joint), part === "joint" ? layers : undefined);
  const maps = layers === undefined ? tree.joint.flatMap(namesBeside) : [];
  const read = part === "reader" ? [...namesIn(tree.decoder), tree.outputEmbedding] : [];
  const fixed = new Set([...vectors, ...namesBelowHeads(config)]);
  const projections = new Set(projectionsOf(config));
  const isRead = (name: string): boolean => projections.has(name) || !fixed.has(name);
  return new Set([...chosen.flat(), ...maps, tree.finalNorm, ...read].filter(isRead));
}

/** The names of each layer of some stacks. */
const layersOf = (stacks: readonly StackParameters<string>[]): string[][] =>
  stacks.flatMap(({ layers }) => layers.map(namesIn));

/** The names of a stack's weights that are of no layer. */
const namesBeside = ({ layers: _, ...stack }: StackParameters<string>): string[] => namesIn(stack);

/** Whether retrieval has layers that reading does not use. A query encoder shares the others. */
const hasOwnLayers = ({ retrieval, queryEncoder }: ModelConfig): boolean =>
  retrieval.length > 0 && !queryEncoder;

/** The layers of a text alone that `retrieval` trains, from the bottom to the top. */
function retrievalLayers(config: ModelConfig): string[][] {
  const { shared, retrieval } = parameterNames(config);
  return layersOf(hasOwnLayers(config) ? retrieval : [...shared, ...retrieval]);
}

/** Names of the query and key projections of the retrieval heads. */
function projectionsOf(config: ModelConfig): string[] {
  const { query, key } = parameterNames(config).querySide.heads;
  return namesIn({ query, key }); // a query encoder has the key projection of the model
}

/** Names that reading given passages does not depend on. */
function ownRetrieval(config: ModelConfig): Set<string> {
  const read = readingNames(config);
  const phrases = [...parameterShapes(config).keys()].filter(isOfPhraseQueries);
  const own = [...retrievalNames(config), ...phrases].filter((name) => !read.has(name));
  return new Set([...own, LOG_SCALE, HEAD_WEIGHTS]);
}

/** The query projection, or the last layers of the query encoder. */
function queryNames(config: ModelConfig, layers: number | undefined): Set<string> {
  const { shared, retrieval, heads } = parameterNames(config).querySide;
  const projection = namesIn(heads.query);
  if (layers === undefined) return new Set(projection);
  const stacks = [...shared, ...retrieval];
  const copied = layersOf(stacks).filter(([name]) => isOfQueryEncoder(name!));
  const chosen = lastLayers("query", copied, layers).flat();
  const others = layers === copied.length ? stacks.flatMap(namesBeside) : [];
  const norm = heads.norm ? [heads.norm] : [];
  return new Set([...chosen, ...others, ...norm, ...projection].filter(isOfQueryEncoder));
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
