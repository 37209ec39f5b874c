/**
 * The configuration of a model. Source: `config.json` of a Hugging Face T5 folder (`T5Config` of
 * transformers), with the keys of the authors' release for retrieval.
 */

import { access } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { InputError, systemProblem } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { parseJson } from "../io/parse-json.ts";
import { replaceFile } from "../io/replace-file.ts";
import { readSmallFile } from "../io/small-file.ts";
import { type AnswerCalibration, AnswerCalibrationFile } from "./answer-calibration.ts";
import {
  PRUNING_SHARES,
  pruningWeights,
  type TokenPruning,
  TokenPruningFile,
} from "./token-pruning.ts";

/** A T5 encoder-decoder with a retrieval head. The names in brackets are those of `config.json`. */
export interface ModelConfig {
  /** Rows of the embedding (`vocab_size`); can exceed the pieces of the tokenizer. */
  readonly vocabularySize: number;
  /** Width of the residual stream (`d_model`). */
  readonly modelSize: number;
  /** Width of one head (`d_kv`); `heads * headSize` need not equal `modelSize`. */
  readonly headSize: number;
  readonly heads: number;
  /** Inner width of a feed-forward layer (`d_ff`). */
  readonly feedForwardSize: number;
  /** L of the paper (`num_layers`). */
  readonly encoderLayers: number;
  readonly decoderLayers: number;
  /**
   * `relu` in T5 v1.0, `gated-gelu` in T5 v1.1, `gelu_new` for GELU without a gate. Both have the
   * tanh approximation of GELU.
   */
  readonly feedForward: "relu" | "gelu_new" | "gated-gelu";
  /**
   * Whether the embedding is also the output layer, as in T5 v1.0. The output of the decoder is
   * then multiplied by `modelSize ** -0.5`.
   */
  readonly tied: boolean;
  readonly relativeBuckets: number;
  readonly relativeMaxDistance: number;
  readonly layerNormEpsilon: number;
  readonly dropoutRate: number;
  readonly padId: number;
  readonly eosId: number;
  readonly decoderStartId: number;
  /**
   * B of the paper (`retrieval_layer`): the 0-based encoder block whose self-attention is the
   * retrieval attention. The blocks below it encode a question or a passage alone.
   */
  readonly retrievalLayer: number;
  /** The 0-based head of that block that retrieves (`retrieval_head`). */
  readonly retrievalHead: number;
  /**
   * How many heads, from that one on, retrieve together (`retrieval_heads`): their vectors are
   * joined to one. 1, as in ReAtt, unless the file says otherwise.
   */
  readonly retrievalHeads: number;
  /**
   * How the tokens of a text become one vector (`retrieval_pooling`): that of the last token,
   * `</s>`, or their mean. All heads of block B together make it. Undefined: each token has a
   * vector, which the retrieval heads make.
   */
  readonly pooling?: Pooling | undefined;
  /**
   * What two vectors are compared by (`retrieval_similarity`): their inner product, as in ReAtt, or
   * the cosine, as in ColBERT, for which vectors have the length 1. Undefined: `dot`.
   */
  readonly similarity?: Similarity | undefined;
  /**
   * Whether the model has a weight for each token of the vocabulary (`retrieval_token_weights`):
   * how much the token counts in a question. See encoder/token-weights.ts. An extension of this
   * package.
   */
  readonly tokenWeights?: boolean | undefined;
  /** Temperature tau of the softmax over head weights, while training learns the head. */
  readonly distillationTau: number;
  /**
   * The learned factor exp(s) of the retrieval scores in training. It is not in the paper. Search
   * does not need it, because it does not change the ranking.
   */
  readonly retrievalScale: number;
  /**
   * Whether the model has a query encoder: a trained copy of the lower layers that makes query
   * vectors, while the encoder and so the keys of passages stay unchanged. Both use one embedding.
   */
  readonly queryEncoder: boolean;
  /**
   * An answer contains each sequence of this many tokens at most once (`no_repeat_ngram_size`). 0
   * means no limit.
   */
  readonly noRepeatSize: number;
  /**
   * Whether the decoder copies tokens of the passages by attention (`copy_mechanism`). See
   * decoder/copying.ts. An extension of this package.
   */
  readonly copying: boolean;
  /**
   * Whether the model has phrase queries (`phrase_queries`): projections of a question that search
   * phrases. See encoder/phrase-queries.ts. An extension of this package.
   */
  readonly phraseQueries?: boolean | undefined;
  /**
   * A BERT encoder below the first block of the encoder (`backbone`): the blocks read its states in
   * place of word vectors. See layers/bert.ts. An extension of this package.
   */
  readonly backbone?: Backbone | undefined;
  /** The passages that `answer` reads unless a call says how many (`answer_passages`). */
  readonly answerPassages?: number | undefined;
  /** Whether answers are spans of a passage unless a call says otherwise (`answer_extractive`). */
  readonly extractive?: boolean | undefined;
  /**
   * Beta, how much the decoder favours passages with high retrieval scores
   * (`answer_relevance_weight`). See decoder/relevance.ts. An extension of this package. Undefined:
   * it reads all passages alike, as in ReAtt.
   */
  readonly relevanceWeight?: number | undefined;
  /** The weights of hybrid search that were tuned for this model (`retrieval_hybrid`), if any. */
  readonly hybrid?: HybridWeights | undefined;
  /** The calibration that was fitted for these weights (`answer_calibration`), if any. */
  readonly calibration?: AnswerCalibration | undefined;
  /** The pruning layer that was trained on keys of these weights (`token_pruning`), if any. */
  readonly pruning?: TokenPruning | undefined;
}

/** The sizes of a BERT encoder, whose width is `modelSize`. The names are those of `BertConfig`. */
export interface Backbone {
  /** `num_hidden_layers` */
  readonly layers: number;
  /** `num_attention_heads`; a head has `modelSize / heads` dimensions. */
  readonly heads: number;
  /** `intermediate_size` */
  readonly feedForwardSize: number;
  /** `max_position_embeddings`: the most tokens of a text. */
  readonly positions: number;
  /** `layer_norm_eps` */
  readonly layerNormEpsilon: number;
  /**
   * `joint_hidden_layers`, at most `layers`: so many of the last layers stand twice in the model.
   * Retrieval uses the copy that encodes a text alone. The reader begins with the copy that encodes
   * a question together with a passage (Cao et al. 2020, https://arxiv.org/abs/2005.00697).
   */
  readonly jointLayers: number;
}

/** How the tokens of a text become one vector. */
export type Pooling = "eos" | "mean";

/** What two pooled vectors are compared by. */
export type Similarity = "dot" | "cosine";

export const POOLINGS: readonly ["eos", "mean"] = ["eos", "mean"];
export const SIMILARITIES: readonly ["dot", "cosine"] = ["dot", "cosine"];

/**
 * The rows `[first, end)` of the query and key projections of block B that make the vectors which
 * retrieval compares: those of the retrieval heads, or with pooling of all heads.
 */
export function retrievalRows(config: RetrievalShape): [first: number, end: number] {
  const { headSize, heads, retrievalHead, retrievalHeads, pooling } = config;
  if (pooling !== undefined) return [0, heads * headSize];
  return [retrievalHead * headSize, (retrievalHead + retrievalHeads) * headSize];
}

type RetrievalShape = Pick<
  ModelConfig,
  "headSize" | "heads" | "retrievalHead" | "retrievalHeads" | "pooling"
>;

/**
 * Values of a vector that retrieval compares: e of the paper, the width of one head, unless several
 * heads make it.
 */
export function vectorSize(config: RetrievalShape): number {
  const [first, end] = retrievalRows(config);
  return end - first;
}

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

/** @throws {InputError} if a text has more tokens than the backbone has positions */
export function checkPositions({ backbone }: ModelConfig, tokens: number): void {
  if (!backbone || tokens <= backbone.positions) return;
  throw new InputError({
    where: "passage tokens",
    expected: `at most ${backbone.positions}, the positions of the model`,
    got: `${tokens}`,
    remedy: "give a lower maxPassageTokens",
  });
}

export const CONFIG_FILE = "config.json";
const MAX_BYTES = 1_000_000; // the largest of T5 has 3 kB

/** Above every T5: the largest vocabulary has 250,112 rows; T5-11B has a `d_ff` of 65,536. */
const MAX_ROWS = 10_000_000;
const MAX_WIDTH = 1_000_000;
/** Values of one weight: the longest typed array in Node 20. T5-11B has 2 ** 26. */
const MAX_VALUES = 2 ** 30;
const MAX_LAYERS = 1_000;
const rows = z.int().min(1).max(MAX_ROWS);
const width = z.int().min(1).max(MAX_WIDTH);
const layers = z.int().min(1).max(MAX_LAYERS);
const id = z.int().min(0);

/** The keys that determine the computation, with the defaults of Hugging Face's `T5Config`. */
const ConfigFile = z.strictObject({
  model_type: z.enum(["t5", "reatt"]).default("t5"),
  vocab_size: rows,
  d_model: width,
  d_kv: width,
  num_heads: width,
  d_ff: width,
  num_layers: layers,
  num_decoder_layers: layers.optional(),
  feed_forward_proj: z.enum(["relu", "gelu_new", "gated-gelu"]).default("relu"),
  tie_word_embeddings: z.boolean().default(true),
  relative_attention_num_buckets: z.int().min(4).max(MAX_WIDTH).default(32),
  relative_attention_max_distance: z.int().min(1).max(MAX_WIDTH).default(128),
  layer_norm_epsilon: z.number().positive().max(1).default(1e-6),
  dropout_rate: z.number().min(0).lt(1).default(0.1),
  pad_token_id: id.default(0),
  eos_token_id: id.default(1),
  decoder_start_token_id: id.optional(),
  retrieval_layer: id.optional(),
  retrieval_head: id.default(0),
  retrieval_heads: z.int().min(1).default(1),
  retrieval_pooling: z.enum(POOLINGS).optional(),
  retrieval_similarity: z.enum(SIMILARITIES).optional(),
  retrieval_token_weights: z.boolean().default(false),
  distillation_tau: z.number().positive().default(0.001),
  retrieval_scale: z.number().positive().default(1),
  retrieval_query_encoder: z.boolean().default(false),
  no_repeat_ngram_size: z.int().min(0).default(0),
  copy_mechanism: z.boolean().default(false),
  phrase_queries: z.boolean().default(false),
  backbone: z
    .strictObject({
      model_type: z.literal("bert"),
      num_hidden_layers: layers,
      num_attention_heads: width,
      intermediate_size: width,
      max_position_embeddings: width,
      layer_norm_eps: z.number().positive().max(1),
      joint_hidden_layers: z.int().min(0).default(0),
    })
    .optional(),
  retrieval_hybrid: z
    .strictObject({
      lambda: z.number().min(0),
      k1: z.number().min(0),
      b: z.number().min(0).max(1),
    })
    .optional(),
  answer_passages: z.int().min(1).max(100).optional(),
  answer_extractive: z.boolean().default(false),
  answer_relevance_weight: z.number().min(0).max(1000).optional(),
  answer_calibration: AnswerCalibrationFile.optional(),
  token_pruning: TokenPruningFile.optional(),
  // These follow from the keys above and must not contradict them.
  dense_act_fn: z.string().optional(),
  is_gated_act: z.boolean().optional(),
  scale_decoder_outputs: z.boolean().optional(),
  // Only these values are implemented.
  is_encoder_decoder: z.literal(true).optional(),
  is_decoder: z.literal(false).optional(),
  add_cross_attention: z.literal(false).optional(),
  tie_encoder_decoder: z.literal(false).optional(),
  pruned_heads: z.strictObject({}).optional(),
});

type ConfigFile = z.infer<typeof ConfigFile>;

/**
 * Keys without influence on the computation here: notes of tools, options for memory and output,
 * defaults of `generate()` that this package does not use.
 */
const IGNORED_KEYS: ReadonlySet<string> = new Set(
  [
    "_name_or_path _commit_hash name_or_path architectures auto_map transformers_version",
    "tokenizer_class torch_dtype dtype torchscript use_bfloat16 gradient_checkpointing",
    "chunk_size_feed_forward tf_legacy_loss _attn_implementation _attn_implementation_autoset",
    "attn_implementation use_cache output_past n_positions return_dict output_attentions",
    "output_hidden_states output_scores return_dict_in_generate initializer_factor",
    "classifier_dropout id2label label2id num_labels problem_type finetuning_task prefix",
    "task_specific_params bos_token_id sep_token_id cls_token_id forced_bos_token_id",
    "forced_eos_token_id max_length max_new_tokens min_length do_sample early_stopping num_beams",
    "num_beam_groups diversity_penalty temperature top_k top_p typical_p repetition_penalty",
    "length_penalty encoder_no_repeat_ngram_size bad_words_ids num_return_sequences",
    "remove_invalid_values exponential_decay_length_penalty suppress_tokens begin_suppress_tokens",
  ].flatMap((keys) => keys.split(" ")),
);

/**
 * Reads and checks `config.json` of a T5 v1.0 or v1.1 folder. Without ReAtt's keys, head 0 of the
 * middle block retrieves. A key with the value `null` counts as absent.
 *
 * @throws {InputError} that names the key: its value is not supported, it contradicts another key,
 * or it is unknown. An unknown key is an error because it can change what the model computes.
 */
export async function readConfig(folder: string): Promise<ModelConfig> {
  const file = join(folder, CONFIG_FILE);
  const entries = Object.entries(await readObject(file));
  const relevant = entries.filter(([key, value]) => value !== null && !IGNORED_KEYS.has(key));
  const parsed = ConfigFile.safeParse(Object.fromEntries(relevant), { reportInput: true });
  if (!parsed.success) throw explain(file, parsed.error.issues[0]!);
  const config = fromFile(parsed.data);
  checkAgreement(file, parsed.data, config);
  return config;
}

/**
 * Whether `config.json` names the heads that retrieve, or a pooling of all heads. Only models that
 * were trained to do.
 */
export async function hasRetrievalHead(folder: string): Promise<boolean> {
  const file = await readObject(join(folder, CONFIG_FILE));
  return ["retrieval_head", "retrieval_heads", "retrieval_pooling"].some((key) => key in file);
}

/** @throws {InputError} if `out` has a model */
export async function checkNoModel(
  out: string,
  remedy: string = "name another folder",
): Promise<void> {
  const isFree = await access(join(out, CONFIG_FILE)).then(
    () => false,
    () => true,
  );
  if (isFree) return;
  throw new InputError({
    where: out,
    expected: "a folder without a model",
    got: CONFIG_FILE,
    remedy,
  });
}

/**
 * Writes `config.json`. Hugging Face's T5 loads the folder and ignores the keys that it does not
 * know.
 *
 * @param original the folder of the original model; its other keys are copied
 * @throws {InputError} if the file cannot be written. A file that exists then stays unchanged.
 */
export async function writeConfig(
  folder: string,
  config: ModelConfig,
  original?: string,
): Promise<void> {
  // The data type is left out: the weight file has it.
  const { torch_dtype, dtype, ...kept } =
    original === undefined ? {} : await readObject(join(original, CONFIG_FILE));
  const scaled = "scale_decoder_outputs" in kept ? { scale_decoder_outputs: config.tied } : {};
  const text = JSON.stringify({ ...kept, ...toFile(config), ...scaled }, null, 2);
  await replaceFile(join(folder, CONFIG_FILE), (handle) => handle.writeFile(`${text}\n`));
}

function fromFile(file: ConfigFile): ModelConfig {
  return {
    vocabularySize: file.vocab_size,
    modelSize: file.d_model,
    headSize: file.d_kv,
    heads: file.num_heads,
    feedForwardSize: file.d_ff,
    encoderLayers: file.num_layers,
    decoderLayers: file.num_decoder_layers ?? file.num_layers,
    feedForward: file.feed_forward_proj,
    // transformers 5 writes `tie_word_embeddings: true` for every T5; this key identifies v1.1.
    tied: file.scale_decoder_outputs ?? file.tie_word_embeddings,
    relativeBuckets: file.relative_attention_num_buckets,
    relativeMaxDistance: file.relative_attention_max_distance,
    layerNormEpsilon: file.layer_norm_epsilon,
    dropoutRate: file.dropout_rate,
    padId: file.pad_token_id,
    eosId: file.eos_token_id,
    decoderStartId: file.decoder_start_token_id ?? file.pad_token_id,
    retrievalLayer: file.retrieval_layer ?? Math.floor(file.num_layers / 2),
    retrievalHead: file.retrieval_head,
    retrievalHeads: file.retrieval_heads,
    ...(file.retrieval_pooling && { pooling: file.retrieval_pooling }),
    ...(file.retrieval_similarity && { similarity: file.retrieval_similarity }),
    ...(file.retrieval_token_weights && { tokenWeights: true }),
    distillationTau: file.distillation_tau,
    retrievalScale: file.retrieval_scale,
    queryEncoder: file.retrieval_query_encoder,
    noRepeatSize: file.no_repeat_ngram_size,
    copying: file.copy_mechanism,
    ...(file.phrase_queries && { phraseQueries: true }),
    ...(file.backbone && { backbone: backboneFrom(file.backbone) }),
    ...(file.retrieval_hybrid && { hybrid: file.retrieval_hybrid }),
    ...(file.answer_passages && { answerPassages: file.answer_passages }),
    ...(file.answer_extractive && { extractive: true }),
    ...(file.answer_relevance_weight && { relevanceWeight: file.answer_relevance_weight }),
    ...(file.answer_calibration && { calibration: file.answer_calibration }),
    ...(file.token_pruning && { pruning: file.token_pruning }),
  };
}

function toFile(config: ModelConfig): z.input<typeof ConfigFile> & { architectures: string[] } {
  return {
    architectures: ["T5ForConditionalGeneration"],
    model_type: "t5",
    is_encoder_decoder: true,
    vocab_size: config.vocabularySize,
    d_model: config.modelSize,
    d_kv: config.headSize,
    num_heads: config.heads,
    d_ff: config.feedForwardSize,
    num_layers: config.encoderLayers,
    num_decoder_layers: config.decoderLayers,
    feed_forward_proj: config.feedForward,
    tie_word_embeddings: config.tied,
    relative_attention_num_buckets: config.relativeBuckets,
    relative_attention_max_distance: config.relativeMaxDistance,
    layer_norm_epsilon: config.layerNormEpsilon,
    dropout_rate: config.dropoutRate,
    pad_token_id: config.padId,
    eos_token_id: config.eosId,
    decoder_start_token_id: config.decoderStartId,
    retrieval_layer: config.retrievalLayer,
    retrieval_head: config.retrievalHead,
    retrieval_heads: config.retrievalHeads === 1 ? undefined : config.retrievalHeads,
    retrieval_pooling: config.pooling, // not written for retrieval by tokens
    retrieval_similarity: config.similarity, // likewise
    retrieval_token_weights: config.tokenWeights || undefined, // likewise
    distillation_tau: config.distillationTau,
    retrieval_scale: config.retrievalScale,
    retrieval_query_encoder: config.queryEncoder,
    no_repeat_ngram_size: config.noRepeatSize,
    copy_mechanism: config.copying || undefined, // not written for a plain T5
    phrase_queries: config.phraseQueries || undefined, // likewise
    backbone: config.backbone && backboneToFile(config.backbone), // likewise
    retrieval_hybrid: config.hybrid, // without weights, the key is not written
    answer_passages: config.answerPassages, // likewise
    answer_extractive: config.extractive || undefined, // likewise
    answer_relevance_weight: config.relevanceWeight, // likewise
    answer_calibration: config.calibration, // likewise
    token_pruning: config.pruning, // likewise
  };
}

const backboneFrom = (file: NonNullable<ConfigFile["backbone"]>): Backbone => ({
  layers: file.num_hidden_layers,
  heads: file.num_attention_heads,
  feedForwardSize: file.intermediate_size,
  positions: file.max_position_embeddings,
  layerNormEpsilon: file.layer_norm_eps,
  jointLayers: file.joint_hidden_layers,
});

const backboneToFile = (backbone: Backbone): NonNullable<ConfigFile["backbone"]> => ({
  model_type: "bert",
  num_hidden_layers: backbone.layers,
  num_attention_heads: backbone.heads,
  intermediate_size: backbone.feedForwardSize,
  max_position_embeddings: backbone.positions,
  layer_norm_eps: backbone.layerNormEpsilon,
  joint_hidden_layers: backbone.jointLayers,
});

/** Checks that depend on several keys. */
function checkAgreement(path: string, file: ConfigFile, config: ModelConfig): void {
  const gated = config.feedForward === "gated-gelu";
  const activation = config.feedForward === "relu" ? "relu" : "gelu_new";
  const most = config.vocabularySize - 1;
  const last = config.heads - config.retrievalHead;
  const agreements: [key: keyof ConfigFile, agrees: boolean, expected: string][] = [
    [
      "retrieval_layer",
      config.retrievalLayer < config.encoderLayers,
      `a block from 0 to ${config.encoderLayers - 1}`,
    ],
    ["retrieval_head", config.retrievalHead < config.heads, `a head from 0 to ${config.heads - 1}`],
    [
      "retrieval_heads",
      config.retrievalHeads <= (config.pooling === undefined ? last : 1),
      config.pooling === undefined ? `at most ${last}` : "1 with retrieval_pooling",
    ],
    [
      "retrieval_token_weights",
      !config.tokenWeights || config.pooling === undefined,
      "false with retrieval_pooling",
    ],
    [
      "token_pruning",
      config.pruning === undefined ||
        (config.pooling === undefined && fits(config.pruning, vectorSize(config))),
      `${pruningWeights(vectorSize(config))} weights and ${PRUNING_SHARES.length} descending thresholds, no pooling`,
    ],
    ["pad_token_id", config.padId <= most, `a token from 0 to ${most}`],
    ["eos_token_id", config.eosId <= most, `a token from 0 to ${most}`],
    ["decoder_start_token_id", config.decoderStartId <= most, `a token from 0 to ${most}`],
    // Half of the buckets hold one distance each; the others divide the rest up to the maximum.
    [
      "relative_attention_max_distance",
      config.relativeMaxDistance > config.relativeBuckets / 2,
      "more than half the buckets",
    ],
    [
      "dense_act_fn",
      (file.dense_act_fn ?? activation) === activation,
      `${activation}, by feed_forward_proj`,
    ],
    ["is_gated_act", (file.is_gated_act ?? gated) === gated, `${gated}, by feed_forward_proj`],
    [
      "backbone",
      config.backbone === undefined || config.modelSize % config.backbone.heads === 0,
      `attention heads that divide d_model ${config.modelSize}`,
    ],
    [
      "backbone",
      config.backbone === undefined || config.backbone.jointLayers <= config.backbone.layers,
      `at most ${config.backbone?.layers} joint_hidden_layers`,
    ],
    [
      "scale_decoder_outputs",
      file.tie_word_embeddings || !config.tied,
      "false, by tie_word_embeddings",
    ],
  ];
  const { modelSize, heads } = config;
  const ofBackbone = config.backbone
    ? [config.backbone.feedForwardSize, config.backbone.positions]
    : [];
  const inner = Math.max(config.feedForwardSize, ...ofBackbone);
  const widths = [config.vocabularySize, heads * config.headSize, inner];
  const largest = Math.max(modelSize * Math.max(...widths), heads * config.relativeBuckets);
  agreements.push(["d_model", largest <= MAX_VALUES, `weights of at most ${MAX_VALUES} values`]);
  const contradiction = agreements.find(([, agrees]) => !agrees);
  if (contradiction !== undefined)
    throw unusable(path, contradiction[0], contradiction[2], file[contradiction[0]]);
}

const fits = ({ weights, thresholds }: TokenPruning, headSize: number): boolean =>
  weights.length === pruningWeights(headSize) &&
  thresholds.length === PRUNING_SHARES.length &&
  thresholds.every((threshold, i) => i === 0 || threshold <= thresholds[i - 1]!);

function explain(file: string, issue: z.core.$ZodIssue): InputError {
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0]!;
    const remedy = "remove the key if the model computes the same without it";
    return unusable(
      file,
      [...issue.path, key].join("."),
      "no key beyond those of T5 and ReAtt",
      issue.input?.[key],
      remedy,
    );
  }
  const expected = issue.message.replace(/^.*?expected /, "").replace(/, received .*$/, "");
  return unusable(file, issue.path.join("."), expected, issue.input);
}

function unusable(
  file: string,
  key: string,
  expected: string,
  value: unknown,
  remedy?: string,
): InputError {
  return new InputError({
    where: `${file}: ${key}`,
    expected,
    got: value === undefined ? "nothing" : excerpt(value),
    remedy: remedy ?? "use a T5 v1.0 or v1.1 model, with ReAtt's keys or without",
  });
}

async function readObject(file: string): Promise<Record<string, unknown>> {
  try {
    const text = (await readSmallFile(file, MAX_BYTES)).toString();
    return z.record(z.string(), z.unknown()).parse(parseJson(text, file));
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    const unreadable = (cause as NodeJS.ErrnoException).code !== undefined;
    const got = unreadable ? systemProblem(cause) : "something else";
    throw new InputError(
      {
        where: file,
        expected: "a JSON object",
        got,
        remedy: "give the folder of a Hugging Face model",
      },
      { cause },
    );
  }
}
