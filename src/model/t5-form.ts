/**
 * Models in the form of Hugging Face's T5: keys of `config.json` and names of weights, with their
 * inverse.
 *
 * The encoder is one stack, which is divided at block B, `retrieval_layer`: the blocks below it are
 * shared layers, the others joint layers.
 *
 * Sources: `T5Config` and `T5ForConditionalGeneration` of Hugging Face transformers; the
 * checkpoints google/t5-* and neulab/reatt-*.
 */

import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { AnswerCalibrationFile } from "./answer-calibration.ts";
import { BlockCalibrationFile } from "./block-calibration.ts";
import { type ModelConfig, ModelSchema, POOLINGS, SIMILARITIES, textLayers } from "./config.ts";
import { firstT5Stack, parameterTable } from "./parameter-names.ts";
import { ScoreCalibrationFile } from "./score-calibration.ts";
import { countLayers, epsilonOf, FeedForward, layersOf, type Stack, widthOf } from "./stack.ts";
import { TokenPruningFile } from "./token-pruning.ts";

const { shape } = ModelSchema;
const id = z.int().min(0);

/** The keys that determine the computation, with the defaults of Hugging Face's `T5Config`. */
export const T5File = z.strictObject({
  model_type: z.enum(["t5", "reatt"]).default("t5"),
  vocab_size: shape.vocabularySize,
  d_model: widthOf,
  d_kv: widthOf,
  num_heads: widthOf,
  d_ff: widthOf,
  num_layers: layersOf,
  num_decoder_layers: layersOf.optional(),
  feed_forward_proj: FeedForward.default("relu"),
  tie_word_embeddings: z.boolean().default(true),
  relative_attention_num_buckets: shape.relativeBuckets.default(32),
  relative_attention_max_distance: shape.relativeMaxDistance.default(128),
  layer_norm_epsilon: epsilonOf.default(1e-6),
  dropout_rate: shape.dropoutRate.default(0.1),
  pad_token_id: id.default(0),
  eos_token_id: id.default(1),
  decoder_start_token_id: id.optional(),
  retrieval_layer: id.optional(),
  retrieval_head: id.default(0),
  retrieval_heads: z.int().min(1).default(1),
  retrieval_pooling: z.enum(POOLINGS).optional(),
  retrieval_similarity: z.enum(SIMILARITIES).optional(),
  retrieval_token_weights: z.boolean().optional(),
  distillation_tau: shape.distillationTau.default(0.001),
  retrieval_scale: shape.retrievalScale.default(1),
  retrieval_query_encoder: z.boolean().optional(),
  no_repeat_ngram_size: shape.noRepeatSize.default(0),
  copy_mechanism: z.boolean().optional(),
  phrase_queries: z.boolean().optional(),
  retrieval_hybrid: shape.hybrid,
  read_top_k: shape.readTopK,
  answer_extractive: shape.extractive,
  answer_relevance_weight: shape.relevanceWeight,
  answer_calibration: AnswerCalibrationFile.optional(),
  block_calibration: BlockCalibrationFile.optional(),
  score_calibration: ScoreCalibrationFile.optional(),
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

export type T5File = z.infer<typeof T5File>;

/**
 * Keys without influence on the computation here: notes of tools, options for memory and output,
 * defaults of `generate()` that this package does not use.
 */
export const IGNORED_KEYS: ReadonlySet<string> = new Set(
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

/** Keys whose values are floats in `T5Config`, or are numbers of our own. */
export const FLOAT_KEYS: ReadonlySet<string> = new Set(
  [
    "layer_norm_epsilon dropout_rate classifier_dropout initializer_factor",
    "temperature top_p typical_p repetition_penalty length_penalty diversity_penalty",
    "distillation_tau retrieval_scale answer_relevance_weight",
  ].flatMap((keys) => keys.split(" ")),
);

type Names = Readonly<Record<string, string>>;

/** Keys of the file and of the configuration that mean the same. */
const MODEL_KEYS = {
  vocab_size: "vocabularySize",
  d_model: "modelSize",
  relative_attention_num_buckets: "relativeBuckets",
  relative_attention_max_distance: "relativeMaxDistance",
  dropout_rate: "dropoutRate",
  pad_token_id: "padId",
  eos_token_id: "eosId",
  distillation_tau: "distillationTau",
  retrieval_scale: "retrievalScale",
  retrieval_query_encoder: "queryEncoder",
  no_repeat_ngram_size: "noRepeatSize",
  phrase_queries: "phraseQueries",
  retrieval_hybrid: "hybrid",
  read_top_k: "readTopK",
  answer_extractive: "extractive",
  answer_relevance_weight: "relevanceWeight",
  answer_calibration: "calibration",
  block_calibration: "blockCalibration",
  score_calibration: "scoreCalibration",
  token_pruning: "pruning",
} as const satisfies Names;

/** The same of the sizes of all T5 layers. */
const LAYER_KEYS = {
  d_kv: "headSize",
  num_heads: "heads",
  d_ff: "feedForwardSize",
  feed_forward_proj: "feedForward",
  layer_norm_epsilon: "layerNormEpsilon",
} as const satisfies Names;

/** The same of the retrieval attention. */
const ATTENTION_KEYS = {
  retrieval_head: "head",
  retrieval_heads: "heads",
  retrieval_pooling: "pooling",
  retrieval_similarity: "similarity",
  retrieval_token_weights: "tokenWeights",
} as const satisfies Names;

/** The keys of the file that paths of the configuration come from, for messages. */
const SOURCES: Names = {
  decoderStartId: "decoder_start_token_id",
  ...Object.fromEntries(Object.entries(MODEL_KEYS).map(([key, name]) => [name, key])),
  ...Object.fromEntries(
    Object.entries(ATTENTION_KEYS).map(([key, name]) => [`retrievalAttention.${name}`, key]),
  ),
};

export const sourceOf = (path: string): string => SOURCES[path] ?? path;

type Translated<Keys extends Names, File> = {
  -readonly [Key in keyof Keys & keyof File as Keys[Key]]: File[Key];
};

/** The values of a file under our names; those that it has not are left out. */
const translated = <Keys extends Names, File extends object>(
  keys: Keys,
  file: File,
): Translated<Keys, File> =>
  defined(Object.entries(keys).map(([key, name]) => [name, file[key as keyof File]])) as Translated<
    Keys,
    File
  >;

/** The inverse of {@link translated}. */
const restored = (keys: Names, values: object): Record<string, unknown> =>
  defined(Object.entries(keys).map(([key, name]) => [key, values[name as keyof object]]));

const defined = (entries: [string, unknown][]): Record<string, unknown> =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined));

/** The model that a file describes. */
export function fromT5File(file: T5File): ModelConfig {
  const below = file.retrieval_layer ?? Math.floor(file.num_layers / 2);
  const sizes = translated(LAYER_KEYS, file);
  const stack = (layers: number): Stack => ({ kind: "t5", layers, width: file.d_model, ...sizes });
  return {
    ...translated(MODEL_KEYS, file),
    // transformers 5 writes `tie_word_embeddings: true` for every T5; this key identifies v1.1.
    tied: file.scale_decoder_outputs ?? file.tie_word_embeddings,
    decoderStartId: file.decoder_start_token_id ?? file.pad_token_id,
    shared: below > 0 ? [stack(below)] : [],
    retrieval: [],
    joint: [{ ...stack(file.num_layers - below), ...(below > 0 && { sharesBias: true }) }],
    retrievalAttention: { from: "joint", stack: 0, ...translated(ATTENTION_KEYS, file) },
    decoder: {
      layers: file.num_decoder_layers ?? file.num_layers,
      ...sizes,
      ...(file.copy_mechanism && { copying: true }),
    },
  };
}

/** A process checks few configurations: to compile the checks first would take longer. */
export const PARSING = { reportInput: true, jitless: true };

/** The file that describes a model, or undefined if this form cannot. */
export function toT5File(config: ModelConfig): T5File | undefined {
  const { shared, retrieval, joint, decoder } = config;
  if (retrieval.length > 0) return undefined;
  const below = countLayers(shared);
  const values = {
    ...restored(MODEL_KEYS, config),
    ...restored(LAYER_KEYS, decoder),
    ...restored(ATTENTION_KEYS, config.retrievalAttention),
    num_layers: below + countLayers(joint),
    num_decoder_layers: decoder.layers,
    tie_word_embeddings: config.tied,
    decoder_start_token_id: config.decoderStartId,
    retrieval_layer: below,
    copy_mechanism: decoder.copying || undefined,
  };
  const file = T5File.safeParse(values, PARSING);
  if (!file.success) return undefined;
  const isSame = isDeepStrictEqual(plain(fromT5File(file.data)), plain(config));
  return isSame ? file.data : undefined;
}

/** Without keys that have no value, or the value that they have without one. */
const plain = (config: ModelConfig): unknown =>
  JSON.parse(JSON.stringify(config), (_, value) => (value === false ? undefined : value));

/** The names of a model's weights in this form, by our names. */
export function t5Names(config: ModelConfig): Map<string, string> {
  const prefixes = [...layerPrefixes(config), ...otherPrefixes(config)];
  const inForm = (name: string): string => {
    const [ours, theirs] = prefixes.find(([prefix]) => name.startsWith(prefix)) ?? ["", ""];
    return theirs + name.slice(ours.length);
  };
  return new Map([...parameterTable(config).keys()].map((name) => [name, inForm(name)]));
}

type Prefix = readonly [ours: string, theirs: string];

const BLOCK = "layer.0.SelfAttention";
const BIAS = "relative_attention_bias.";

function layerPrefixes({ shared, joint }: ModelConfig): Prefix[] {
  const below = countLayers(shared);
  const of = (part: string, layers: number, first: number): Prefix[] =>
    Array.from(
      { length: layers },
      (_, n): Prefix => [`${part}.0.layer.${n}.`, `encoder.block.${first + n}.`],
    );
  return [...of("shared", below, 0), ...of("joint", countLayers(joint), below)];
}

function otherPrefixes(config: ModelConfig): Prefix[] {
  const blocks = Array.from(
    { length: config.decoder.layers },
    (_, n): Prefix => [`decoder.layer.${n}.`, `decoder.block.${n}.`],
  );
  const query = `query_encoder.block.${textLayers(config)}.layer.0`;
  const copies = Array.from(
    { length: textLayers(config) },
    (_, n): Prefix => [`query_encoder.0.layer.${n}.`, `query_encoder.block.${n}.`],
  );
  return [
    ["embedding.", "shared."],
    [`${firstT5Stack(config)}.${BIAS}`, `encoder.block.0.${BLOCK}.${BIAS}`],
    ["joint.final_layer_norm.", "encoder.final_layer_norm."],
    ...blocks,
    [`decoder.${BIAS}`, `decoder.block.0.${BLOCK}.${BIAS}`],
    ["output_embedding.", "lm_head."],
    ["retrieval_attention.token_weights.", "retrieval.token_weights."],
    ...copies,
    [`query_encoder.0.${BIAS}`, `query_encoder.block.0.${BLOCK}.${BIAS}`],
    ["query_encoder.norm.", `${query}.layer_norm.`],
    ["query_encoder.query.", `${query}.SelfAttention.q.`],
  ];
}

/** Other names of the embedding in checkpoints, instead of `shared.weight` or in addition to it. */
export const copiesOfEmbedding = ({ tied }: ModelConfig): string[] => [
  "encoder.embed_tokens.weight",
  "decoder.embed_tokens.weight",
  ...(tied ? ["lm_head.weight"] : []),
];

/**
 * Tables that older code left in checkpoints: copies of the table of block 0, and one for the
 * cross-attention, which has no bias in T5.
 */
export const UNUSED_BIAS: RegExp =
  /^(encoder|decoder|query_encoder)\.block\.\d+\.layer\.\d\.\w+\.relative_attention_bias\.weight$/;
