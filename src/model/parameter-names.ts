/**
 * The weights of a model: their places in the parameter tree, names and shapes. The first part of a
 * name says to which part of the model a weight belongs. Names within a layer are those of Hugging
 * Face's transformers.
 */

import { headLayer, type ModelConfig, retrievalWidth, sharedWidth, vectorSize } from "./config.ts";
import { relativeBiasLeaf } from "./layers/relative-position.ts";
import { headsOf, stackParameters } from "./layers/stacks.ts";
import { attentionLeaves, feedForwardLeaves, type T5Sizes } from "./layers/t5.ts";
import type { Leaf, Start } from "./leaf.ts";
import type {
  DecoderParameters,
  HeadParameters,
  ModelParameters,
  PhraseQueryParameters,
  StackParameters,
  TextParameters,
} from "./parameters.ts";
import type { Stack } from "./stack.ts";

export type { Leaf } from "./leaf.ts";

/** The name of the word vectors. */
export const EMBEDDING = "embedding.weight";
/** The name of the log weights of tokens of questions. */
export const TOKEN_WEIGHTS = "retrieval_attention.token_weights.weight";
const QUERY_ENCODER = "query_encoder";
const PHRASE_QUERY = "phrase_query";

/**
 * The parameter tree of a model. `leaf` is called once for each name; a weight that has several
 * places is one leaf.
 *
 * `buildParameters(config, (name) => name)` is the table of names.
 */
export function buildParameters<T>(config: ModelConfig, makeLeaf: Leaf<T>): ModelParameters<T> {
  const leaf = once(makeLeaf);
  const { vocabularySize, modelSize } = config;
  const embedding = leaf(EMBEDDING, [vocabularySize, modelSize], 1);
  const shared = stacksOf(config, leaf, "shared", config.shared, modelSize);
  const retrieval = stacksOf(config, leaf, "retrieval", config.retrieval, sharedWidth(config));
  const joint = stacksOf(config, leaf, "joint", config.joint, sharedWidth(config));
  const attention = config.retrievalAttention;
  const heads =
    attention.from === "own" ? ownHeads(config, leaf) : headsOf(joint[attention.stack]!);
  const text: TextParameters<T> = {
    embedding,
    shared,
    retrieval,
    heads,
    ...(attention.tokenWeights && { tokenWeights: leaf(TOKEN_WEIGHTS, [vocabularySize], 0) }),
  };
  const querySide = config.queryEncoder ? queryEncoder(config, leaf, text) : text;
  return {
    ...text,
    joint,
    finalNorm: leaf("joint.final_layer_norm.weight", [modelSize], "ones"),
    decoder: decoder(config, leaf),
    outputEmbedding: config.tied
      ? embedding
      : leaf("output_embedding.weight", [vocabularySize, modelSize], 1),
    querySide,
    ...(config.phraseQueries && {
      phraseQueries: {
        start: phraseQuery(config, leaf, `${PHRASE_QUERY}.start`),
        end: phraseQuery(config, leaf, `${PHRASE_QUERY}.end`),
      },
    }),
  };
}

function once<T>(leaf: Leaf<T>): Leaf<T> {
  const known = new Map<string, T>();
  return (name, shape, start) => {
    if (!known.has(name)) known.set(name, leaf(name, shape, start));
    return known.get(name)!;
  };
}

/** A weight of a model. */
export interface WeightShape {
  readonly shape: readonly number[];
  readonly start: Start;
}

/** Every weight of a model by its name, in the order of the tree. */
export function parameterTable(config: ModelConfig): Map<string, WeightShape> {
  const table = new Map<string, WeightShape>();
  buildParameters(config, (name, shape, start) => table.set(name, { shape, start }));
  return table;
}

/** The shape of every weight of a model, by its name. */
export const parameterShapes = (config: ModelConfig): Map<string, readonly number[]> =>
  new Map([...parameterTable(config)].map(([name, { shape }]) => [name, shape]));

/** The table of names. */
export const parameterNames = (config: ModelConfig): ModelParameters<string> =>
  buildParameters(config, (name) => name);

/** The leaves in a part of a tree, in the order of the tree. A leaf can be there several times. */
export const namesIn = (tree: object): string[] =>
  Object.entries(tree).flatMap(([key, value]: [string, string | object | undefined]) => {
    if (key === "kind" || key === "sizes" || value === undefined) return [];
    return typeof value === "object" ? namesIn(value) : [value];
  });

/** Names of the weights that query vectors and keys depend on, with those of all heads. */
export function retrievalNames(config: ModelConfig): Set<string> {
  const { embedding, shared, retrieval, heads, tokenWeights, querySide } = parameterNames(config);
  return new Set(namesIn({ embedding, shared, retrieval, heads, tokenWeights, querySide }));
}

/** Names of the weights that reading given passages depends on. */
export function readingNames(config: ModelConfig): Set<string> {
  const { embedding, shared, joint, finalNorm, decoder, outputEmbedding } = parameterNames(config);
  return new Set(namesIn({ embedding, shared, joint, finalNorm, decoder, outputEmbedding }));
}

/** Whether a weight belongs to a query encoder. */
export const isOfQueryEncoder = (name: string): boolean => name.startsWith(`${QUERY_ENCODER}.`);

/** Whether a weight belongs to phrase queries. */
export const isOfPhraseQueries = (name: string): boolean => name.startsWith(`${PHRASE_QUERY}.`);

/** The weights that those of a query encoder begin as copies of, by their names. */
export function queryEncoderSources(config: ModelConfig): Map<string, string> {
  const { querySide, ...text } = parameterNames(config);
  const parts = ({ embedding, shared, retrieval, heads }: TextParameters<string>) => [
    { embedding },
    shared,
    retrieval,
    heads,
  ];
  const sources = parts(text).flatMap(namesIn);
  const copies = parts(querySide).flatMap(namesIn);
  return new Map(
    copies
      .map((name, i) => [name, sources[i]!] as const)
      .filter(([copy]) => isOfQueryEncoder(copy)),
  );
}

/** The weights of the stacks of a part, `PART.0`, `PART.1`, ... */
function stacksOf<T>(
  config: ModelConfig,
  leaf: Leaf<T>,
  part: string,
  stacks: readonly Stack[],
  widthBefore: number,
): StackParameters<T>[] {
  const { relativeBuckets } = config;
  return stacks.map((sizes, i) => {
    const stack = `${part}.${i}`;
    const isShared = sizes.kind === "t5" && sizes.sharesBias && part !== QUERY_ENCODER;
    return stackParameters(sizes, leaf, {
      stack,
      bias: isShared ? firstT5Stack(config) : stack,
      widthBefore: stacks[i - 1]?.width ?? widthBefore,
      relativeBuckets,
    });
  });
}

/** The prefix of the first T5 stack of the encoder. */
export function firstT5Stack({ shared, retrieval, joint }: ModelConfig): string {
  for (const [part, stacks] of Object.entries({ shared, retrieval, joint })) {
    const i = stacks.findIndex(({ kind }) => kind === "t5");
    if (i >= 0) return `${part}.${i}`;
  }
  return "";
}

function ownHeads<T>(config: ModelConfig, leaf: Leaf<T>): HeadParameters<T> {
  const { heads, headSize } = headLayer(config);
  const width = retrievalWidth(config);
  const projection = (name: string) => ({
    weight: leaf(`retrieval_attention.${name}.weight`, [heads * headSize, width], width ** -0.5),
  });
  return {
    sizes: { heads, headSize, layerNormEpsilon: config.decoder.layerNormEpsilon },
    norm: leaf("retrieval_attention.norm.weight", [width], "ones"),
    query: projection("query"),
    key: projection("key"),
  };
}

/**
 * The query encoder: its own copy of the retrieval layers, or without any of the shared layers, and
 * of norm and query projection of the heads; with `queryEmbedding` also of the word vectors. It
 * shares all else.
 */
function queryEncoder<T>(
  config: ModelConfig,
  leaf: Leaf<T>,
  text: TextParameters<T>,
): TextParameters<T> {
  const hasOwn = config.retrieval.length > 0;
  const [stacks, width] = hasOwn
    ? [config.retrieval, sharedWidth(config)]
    : [config.shared, config.modelSize];
  const copy = stacksOf(config, leaf, QUERY_ENCODER, stacks, width);
  const { heads, headSize } = text.heads.sizes;
  const deviation = (retrievalWidth(config) * headSize) ** -0.5;
  const size = heads * headSize;
  const own = (name: string, shape: readonly number[], start: Start): T =>
    leaf(`${QUERY_ENCODER}.${name}`, shape, start);
  const { vocabularySize, modelSize } = config;
  return {
    ...text,
    ...(config.queryEmbedding && {
      embedding: own("embedding.weight", [vocabularySize, modelSize], 1),
    }),
    ...(hasOwn ? { retrieval: copy } : { shared: copy }),
    heads: {
      ...text.heads,
      ...(text.heads.norm !== undefined && {
        norm: own("norm.weight", [retrievalWidth(config)], "ones"),
      }),
      query: {
        weight: own("query.weight", [size, retrievalWidth(config)], deviation),
        ...(text.heads.query.bias !== undefined && { bias: own("query.bias", [size], 0) }),
      },
    },
  };
}

function phraseQuery<T>(
  config: ModelConfig,
  leaf: Leaf<T>,
  name: string,
): PhraseQueryParameters<T> {
  const { heads } = headLayer(config);
  const width = retrievalWidth(config);
  return {
    pool: leaf(`${name}.pool.weight`, [heads, width], width ** -0.5),
    // so that all phrases have the same score
    projection: leaf(`${name}.projection.weight`, [vectorSize(config), heads * width], 0),
  };
}

/** The sizes of the decoder's layers. */
const decoderSizes = ({ decoder, modelSize }: ModelConfig): T5Sizes => ({
  ...decoder,
  width: modelSize,
});

function decoder<T>(config: ModelConfig, leaf: Leaf<T>): DecoderParameters<T> {
  const { modelSize, relativeBuckets } = config;
  const sizes = decoderSizes(config);
  const norm = (name: string): T => leaf(`${name}.weight`, [modelSize], "ones");
  return {
    layers: Array.from({ length: config.decoder.layers }, (_, n) => {
      const name = `decoder.layer.${n}.layer`;
      return {
        selfAttentionNorm: norm(`${name}.0.layer_norm`),
        selfAttention: attentionLeaves(leaf, `${name}.0.SelfAttention`, sizes),
        crossAttentionNorm: norm(`${name}.1.layer_norm`),
        crossAttention: attentionLeaves(leaf, `${name}.1.EncDecAttention`, sizes),
        feedForwardNorm: norm(`${name}.2.layer_norm`),
        feedForward: feedForwardLeaves(leaf, `${name}.2.DenseReluDense`, sizes),
      };
    }),
    relativeBias: relativeBiasLeaf(leaf, "decoder", relativeBuckets, sizes),
    finalNorm: norm("decoder.final_layer_norm"),
    // as probable to copy as not
    ...(config.decoder.copying && {
      copyGate: leaf("decoder.copy_gate.weight", [1, modelSize], 0),
    }),
  };
}
