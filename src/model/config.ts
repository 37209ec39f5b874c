/**
 * The configuration of a model: the stacks of its encoder, the attention that retrieves, and the
 * decoder. `config.json` of a model of this package has exactly these keys. Those of Hugging Face's
 * T5 are translated: t5-form.ts.
 */

import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { AnswerCalibrationFile } from "./answer-calibration.ts";
import { BlockCalibrationFile } from "./block-calibration.ts";
import type { HeadSizes } from "./parameters.ts";
import { ScoreCalibrationFile } from "./score-calibration.ts";
import {
  countLayers,
  epsilonOf,
  FeedForward,
  layersOf,
  type Stack,
  StackSchema,
  widthAfter,
  widthOf,
} from "./stack.ts";
import {
  PRUNING_SHARES,
  pruningWeights,
  type TokenPruning,
  TokenPruningFile,
} from "./token-pruning.ts";

/**
 * How the tokens of a text become one vector: that of the last token, `</s>`, of the first, as
 * BERT's `[CLS]`, or their mean.
 */
export type Pooling = "eos" | "cls" | "mean";

/** What two vectors are compared by. */
export type Similarity = "dot" | "cosine";

export const POOLINGS: readonly ["eos", "cls", "mean"] = ["eos", "cls", "mean"];
export const SIMILARITIES: readonly ["dot", "cosine"] = ["dot", "cosine"];

/** Above every T5: the largest vocabulary has 250,112 rows. */
const MAX_ROWS = 10_000_000;
/** Values of one weight: the longest typed array in Node 20. T5-11B has 2 ** 26. */
const MAX_VALUES = 2 ** 30;
const id = z.int().min(0);
const stacks = z.array(StackSchema).readonly();

const VECTORS = {
  /**
   * How the tokens of a text become one vector, which all heads make together. Absent: each token
   * has a vector, as in ReAtt.
   */
  pooling: z.enum(POOLINGS).optional(),
  /**
   * What two vectors are compared by: their inner product, as in ReAtt, or the cosine, as in
   * ColBERT, for which vectors have the length 1. Default `dot`.
   */
  similarity: z.enum(SIMILARITIES).optional(),
  /**
   * Whether the model has a weight for each token of the vocabulary: how much the token counts in a
   * question. See encoder/token-weights.ts. An extension of this package.
   */
  tokenWeights: z.boolean().optional(),
};

/** Heads of the first layer of a joint stack, as in ReAtt: the reader attends with them, too. */
const JointHeads = z.strictObject({
  from: z.literal("joint"),
  /** The position of the stack in `joint`. */
  stack: z.int().min(0),
  /** The 0-based head of that layer that retrieves. */
  head: z.int().min(0),
  /** How many heads, from that one on, make a vector together. 1 in ReAtt. */
  heads: z.int().min(1),
  ...VECTORS,
});

/** Projections of its own at the end of the retrieval layers, after a norm. */
const OwnHeads = z.strictObject({
  from: z.literal("own"),
  heads: widthOf,
  headSize: widthOf,
  ...VECTORS,
});

export const ModelSchema = z.strictObject({
  /** Rows of the embedding; can exceed the pieces of the tokenizer. */
  vocabularySize: z.int().min(1).max(MAX_ROWS),
  /** Width of word vectors and of the decoder. */
  modelSize: widthOf,
  /**
   * Whether the embedding is also the output layer, as in T5 v1.0. The output of the decoder is
   * then multiplied by `modelSize ** -0.5`.
   */
  tied: z.boolean(),
  /** Buckets of the relative positions of all T5 layers; the last begins at the maximum. */
  relativeBuckets: z.int().min(4).max(1_000_000),
  relativeMaxDistance: z.int().min(1).max(1_000_000),
  dropoutRate: z.number().min(0).lt(1),
  padId: id,
  eosId: id,
  decoderStartId: id,
  /**
   * What stands before a question, before the title and before the text of a passage; `untitled`
   * before a text without a title, if that differs. Absent: as in ReAtt, `question: `, `title: `
   * and ` context: `. The tokens of a BERT begin with `[CLS]`.
   */
  prompts: z
    .strictObject({
      question: z.string(),
      title: z.string(),
      text: z.string(),
      untitled: z.string().optional(),
    })
    .optional(),
  /** Encode a text alone, for retrieval and for reading: layers 1 to B of the paper. */
  shared: stacks,
  /** Encode a text alone, for retrieval only. None in the paper. */
  retrieval: stacks,
  /** Encode a question together with a passage, for reading: layers B + 1 to L of the paper. */
  joint: stacks.refine((list) => list.length > 0, "expected one or more stacks"),
  /** The attention whose queries and keys are the vectors of search. */
  retrievalAttention: z.discriminatedUnion("from", [JointHeads, OwnHeads]),
  /** Layers of T5's decoder. */
  decoder: z.strictObject({
    layers: layersOf,
    heads: widthOf,
    headSize: widthOf,
    feedForwardSize: widthOf,
    feedForward: FeedForward,
    /** Also of the norm of the states that the decoder attends to. */
    layerNormEpsilon: epsilonOf,
    /**
     * Whether the decoder copies tokens of the passages by attention. See decoder/copying.ts. An
     * extension of this package.
     */
    copying: z.boolean().optional(),
  }),
  /** Temperature tau of the softmax over head weights, while training learns the head. */
  distillationTau: z.number().positive(),
  /**
   * The learned factor exp(s) of the retrieval scores in training. It is not in the paper. Search
   * does not need it, because it does not change the ranking.
   */
  retrievalScale: z.number().positive(),
  /**
   * Whether the model has a query encoder: a trained copy of the retrieval layers, or without any
   * of the shared layers, that makes query vectors. The keys of passages stay unchanged.
   */
  queryEncoder: z.boolean().optional(),
  /** Whether the query encoder has word vectors of its own, as the two encoders of DPR. */
  queryEmbedding: z.boolean().optional(),
  /**
   * Whether the model has phrase queries: projections of a question that search phrases. See
   * encoder/phrase-queries.ts. An extension of this package.
   */
  phraseQueries: z.boolean().optional(),
  /** An answer contains each sequence of this many tokens at most once. 0 means no limit. */
  noRepeatSize: z.int().min(0),
  /** How many passages `answer` reads unless a call says it. */
  readTopK: z.int().min(1).max(100).optional(),
  /** Whether answers are spans of a passage unless a call says otherwise. */
  extractive: z.boolean().optional(),
  /**
   * Beta, how much the decoder favours passages with high retrieval scores. See
   * decoder/relevance.ts. An extension of this package. Absent: it reads all passages alike, as in
   * ReAtt.
   */
  relevanceWeight: z.number().min(0).max(1000).optional(),
  /** The weights of hybrid search that were tuned for this model, if any. */
  hybrid: z
    .strictObject({
      lambda: z.number().min(0),
      k1: z.number().min(0),
      b: z.number().min(0).max(1),
    })
    .optional(),
  /** The calibration that was fitted for these weights, if any. */
  calibration: AnswerCalibrationFile.optional(),
  /** What makes probabilities of blocks, if it was fitted for these weights. */
  blockCalibration: BlockCalibrationFile.optional(),
  /** What makes probabilities of the scores of passages, if it was fitted. */
  scoreCalibration: ScoreCalibrationFile.optional(),
  /** The pruning layer that was trained on keys of these weights, if any. */
  pruning: TokenPruningFile.optional(),
});

export interface ModelConfig extends Readonly<z.infer<typeof ModelSchema>> {}

export type RetrievalAttention = ModelConfig["retrievalAttention"];

/**
 * Hybrid search ranks by `BM25(q, p) / |q| + lambda * r(q, p)` (retrieval/hybrid.ts), with BM25's
 * parameters k1 and b.
 */
export interface HybridWeights {
  /** The weight of the model's retrieval score: 0 or more. */
  readonly lambda: number;
  /** Saturation of term frequency in BM25: 0 or more. */
  readonly k1: number;
  /** Length normalisation in BM25, from 0 to 1. */
  readonly b: number;
}

/** Width of the states after the shared layers, which reading starts from. */
export const sharedWidth = ({ shared, modelSize }: ModelConfig): number =>
  widthAfter(shared, modelSize);

/** Width of the states that the retrieval attention compares. */
export const retrievalWidth = (config: ModelConfig): number =>
  widthAfter(config.retrieval, sharedWidth(config));

/** The heads of the layer that retrieves, of which some or all make the vectors. */
export function headLayer({ retrievalAttention, joint }: ModelConfig): HeadSizes {
  return retrievalAttention.from === "own" ? retrievalAttention : joint[retrievalAttention.stack]!;
}

/**
 * The rows `[first, end)` of the query and key projections of that layer that make the vectors
 * which retrieval compares: those of the chosen heads, or with pooling of all.
 */
export function retrievalRows(config: ModelConfig): [first: number, end: number] {
  const { retrievalAttention: attention } = config;
  const { heads, headSize } = headLayer(config);
  if (attention.from === "own" || attention.pooling !== undefined) return [0, heads * headSize];
  return [attention.head * headSize, (attention.head + attention.heads) * headSize];
}

/**
 * Values of a vector that retrieval compares: e of the paper, the width of one head, unless several
 * heads make it.
 */
export function vectorSize(config: ModelConfig): number {
  const [first, end] = retrievalRows(config);
  return end - first;
}

/** The configuration with other vectors. */
export const withAttention = (
  config: ModelConfig,
  change: (attention: RetrievalAttention) => Vectors,
): ModelConfig => ({
  ...config,
  retrievalAttention: { ...config.retrievalAttention, ...change(config.retrievalAttention) },
});

type Vectors = Pick<RetrievalAttention, keyof typeof VECTORS>;

/** The first head that retrieves, of the layer whose heads do. */
export const retrievalHead = ({ retrievalAttention }: ModelConfig): number =>
  retrievalAttention.from === "own" ? 0 : retrievalAttention.head;

/** The configuration with another head of the layer that retrieves. */
export const withHead = (config: ModelConfig, head: number): ModelConfig =>
  config.retrievalAttention.from === "own"
    ? config
    : { ...config, retrievalAttention: { ...config.retrievalAttention, head } };

/** @throws {InputError} if a text has more tokens than the model has positions */
export function checkPositions({ shared: [first] }: ModelConfig, tokens: number): void {
  if (first?.kind !== "bert" || tokens <= first.positions!) return;
  throw new InputError({
    where: "passage tokens",
    expected: `at most ${first.positions}, the positions of the model`,
    got: `${tokens}`,
    remedy: "give a lower maxPassageTokens",
  });
}

/** A key of the configuration that contradicts others, by its path. */
export interface Contradiction {
  readonly path: string;
  readonly expected: string;
}

/** Checks what depends on several keys. */
export const contradiction = (config: ModelConfig): Contradiction | undefined =>
  [...numbersAgree(config), ...attentionAgrees(config), ...stacksAgree(config)]
    .filter(([, agrees]) => !agrees)
    .map(([path, , expected]) => ({ path, expected }))[0];

type Check = readonly [path: string, agrees: boolean, expected: string];

function numbersAgree(config: ModelConfig): Check[] {
  const most = config.vocabularySize - 1;
  const { decoder, modelSize, vocabularySize, relativeBuckets } = config;
  const encoder = [...config.shared, ...config.retrieval, ...config.joint];
  const largest = [...encoder, { ...decoder, width: modelSize }].map(
    ({ width, heads, headSize, feedForwardSize }) =>
      Math.max(width * Math.max(heads * headSize, feedForwardSize, width), heads * relativeBuckets),
  );
  const values = Math.max(modelSize * vocabularySize, ...largest);
  return [
    ...(["padId", "eosId", "decoderStartId"] as const).map(
      (key): Check => [key, config[key] <= most, `a token from 0 to ${most}`],
    ),
    // Half of the buckets hold one distance each; the others divide the rest up to the maximum.
    [
      "relativeMaxDistance",
      config.relativeMaxDistance > relativeBuckets / 2,
      "more than half the buckets",
    ],
    ["modelSize", values <= MAX_VALUES, `weights of at most ${MAX_VALUES} values`],
  ];
}

function attentionAgrees(config: ModelConfig): Check[] {
  const { retrievalAttention: attention, pruning, joint } = config;
  const { pooling, tokenWeights } = attention;
  const key = (name: string): string => `retrievalAttention.${name}`;
  const layer = attention.from === "joint" ? joint[attention.stack] : attention;
  if (!layer || ("layers" in layer && layer.layers === 0))
    return [[key("stack"), false, "the position of a joint stack that has layers"]];
  const size = vectorSize(config);
  const checks: Check[] = [
    [
      "queryEmbedding",
      !config.queryEmbedding || !!config.queryEncoder,
      "false without queryEncoder",
    ],
    [key("tokenWeights"), !tokenWeights || pooling === undefined, "false with pooling"],
    [
      "pruning",
      pruning === undefined || (pooling === undefined && fits(pruning, size)),
      `${pruningWeights(size)} weights and ${PRUNING_SHARES.length} descending thresholds, no pooling`,
    ],
  ];
  if (attention.from === "own") return checks;
  const last = layer.heads - attention.head;
  const most = pooling === undefined ? `at most ${last}` : "1 with pooling";
  return [
    [key("head"), last > 0, `a head from 0 to ${layer.heads - 1}`],
    [key("heads"), attention.heads <= (pooling === undefined ? last : 1), most],
    [
      key("stack"),
      readsRetrievalStates(config, joint[attention.stack]!),
      "a stack without a map, as wide as the retrieval layers",
    ],
    ...checks,
  ];
}

const readsRetrievalStates = (config: ModelConfig, { width, inputMap }: Stack): boolean =>
  !inputMap && width === retrievalWidth(config);

const fits = ({ weights, thresholds }: TokenPruning, size: number): boolean =>
  weights.length === pruningWeights(size) &&
  thresholds.length === PRUNING_SHARES.length &&
  thresholds.every((threshold, i) => i === 0 || threshold <= thresholds[i - 1]!);

/** Whether each stack can read the states before it. */
function stacksAgree(config: ModelConfig): Check[] {
  const { shared, retrieval, joint, modelSize } = config;
  const first = [...shared, ...retrieval, ...joint].find(({ kind }) => kind === "t5");
  const checks: Check[] = [];
  const follow = (part: string, list: readonly Stack[], widthBefore: number): void => {
    let width = widthBefore;
    list.forEach((stack, i) => {
      const path = `${part}.${i}`;
      const isFirst = part === "shared" && i === 0;
      checks.push([
        `${path}.width`,
        stack.inputMap || stack.width === width,
        `${width}, or an inputMap`,
      ]);
      if (stack.kind === "bert")
        checks.push([
          `${path}.positions`,
          isFirst === (stack.positions !== undefined),
          isFirst ? "the positions of the first stack" : "none but of the first shared stack",
        ]);
      else if (stack.kind === "t5" && stack.sharesBias)
        checks.push([
          `${path}.sharesBias`,
          first !== stack && first!.heads === stack.heads,
          "false without a T5 stack of as many heads before",
        ]);
      width = stack.width;
    });
  };
  follow("shared", shared, modelSize);
  follow("retrieval", retrieval, sharedWidth(config));
  follow("joint", joint, sharedWidth(config));
  const last = `joint.${joint.length - 1}.width`;
  return [...checks, [last, widthAfter(joint, modelSize) === modelSize, `modelSize, ${modelSize}`]];
}

/** Layers that encode a text alone, for retrieval. */
export const textLayers = ({ shared, retrieval }: ModelConfig): number =>
  countLayers([...shared, ...retrieval]);
