/**
 * Encoders of Hugging Face's BERT as models of this package: BERT itself, those of
 * sentence-transformers, the two encoders of DPR, and ColBERT. All layers are shared layers; the
 * reader is small and random.
 *
 * | checkpoint | vectors | score |
 * |---|---|---|
 * | sentence-transformers | mean of the tokens, or `[CLS]` | its `similarity_fn_name`, or cosine |
 * | DPR | `[CLS]`, of two encoders | inner product |
 * | ColBERT: has `linear.weight`, or PyLate's `1_Dense` | one for each token | cosine |
 * | other BERT | mean of the tokens | cosine |
 *
 * Sources: `BertModel` and `DPRContextEncoder` of transformers; Reimers and Gurevych 2019
 * (Sentence-BERT); Karpukhin et al. 2020 (DPR); Khattab and Zaharia 2020 (ColBERT), whose markers
 * are `[unused0]` and `[unused1]`.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { openWeights } from "../checkpoints/open.ts";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { readJsonFile } from "../io/json/json-file.ts";
import { readSmallFile } from "../io/small-file.ts";
import type { Prompts } from "../text/tokens/tokenizer-interface.ts";
import { TOKENIZER_JSON } from "../text/tokens/tokenizer-json.ts";
import { readWordPiece, type WordPieceFile, wordPieceOf } from "../text/tokens/wordpiece.ts";
import type { ModelConfig, Pooling, Similarity } from "./config.ts";
import { CONFIG_FILE, readObject } from "./config-file.ts";
import { initialWeight } from "./initialise.ts";
import { EMBEDDING, parameterTable } from "./parameter-names.ts";
import type { Stack } from "./stack.ts";

const MAX_BYTES = 20_000_000;

const size = z.int().min(1).max(1_000_000);
/** The keys that change what a BERT computes. Others are ignored. */
const BertFile = z.object({
  vocab_size: size,
  hidden_size: size,
  num_hidden_layers: z.int().min(1).max(1_000),
  num_attention_heads: size,
  intermediate_size: size,
  max_position_embeddings: size,
  hidden_act: z.enum(["gelu", "gelu_new", "gelu_pytorch_tanh"]),
  layer_norm_eps: z.number().positive().max(1).default(1e-12),
  position_embedding_type: z.literal("absolute").default("absolute"),
  is_decoder: z.literal(false).default(false),
  projection_dim: z.literal(0).default(0),
});

type BertFile = z.infer<typeof BertFile>;

/** A BERT that becomes a model. */
export interface BertSource {
  readonly config: ModelConfig;
  /** What `tokenizer.json` says. */
  readonly tokenizer: WordPieceFile;
  /** A weight by its name in a model of this package. */
  read(name: string): Promise<Float32Array>;
}

/** Whether `config.json` is of a BERT. */
export const isBert = async (folder: string): Promise<boolean> =>
  ["bert", "dpr"].includes(String((await readKeys(folder, CONFIG_FILE)).model_type));

const readKeys = (folder: string, name: string): Promise<Readonly<Record<string, unknown>>> =>
  readObject(join(folder, name));

/** What vectors a checkpoint makes, and what stands before its texts. */
interface Form {
  readonly pooling?: Pooling;
  readonly similarity: Similarity;
  readonly prompts: Prompts;
  /** The learned scale of scores in training (`retrievalScale`). */
  readonly scale: number;
  /** From the width of the encoder to a vector; the identity without it. */
  readonly projection?: Float32Array;
}

const bertPrompts = (between: string, question = "", passage = ""): Prompts => ({
  question: `[CLS] ${question}`,
  title: `[CLS] ${passage}`,
  text: between,
  untitled: `[CLS] ${passage}`,
});

const DPR: Form = {
  pooling: "cls",
  similarity: "dot",
  prompts: bertPrompts(" [SEP] "),
  scale: 1,
};
const SENTENCE: Form = {
  pooling: "mean",
  similarity: "cosine",
  prompts: bertPrompts(" "),
  scale: 20,
};

/**
 * Its score is a sum over the 32 tokens of a question, ours a mean.
 *
 * @param folder of the weights with the projection
 */
const colbert = async (
  folder: string,
  question = "[unused0] ",
  passage = "[unused1] ",
): Promise<Form> => ({
  similarity: "cosine",
  prompts: bertPrompts(" | ", question, passage),
  scale: 32,
  projection: await readTensor(folder, PROJECTION),
});

/** One BERT, whose tensors have a prefix: `bert.`, `ctx_encoder.bert_model.` or none. */
interface Encoder {
  readonly folder: string;
  readonly file: BertFile;
  readonly prefix: string;
  readonly names: ReadonlySet<string>;
}

/**
 * @param folder of a BERT; of DPR, the context encoder
 * @param queryEncoder the folder of the encoder of questions, if they have one of their own
 * @throws {InputError} if one is no BERT, or has parts that a model cannot have
 */
export async function readBert(
  folder: string,
  queryEncoder: string | undefined,
): Promise<BertSource> {
  const passages = await readEncoder(folder);
  const questions = queryEncoder === undefined ? undefined : await readEncoder(queryEncoder);
  if (questions) checkSame(passages, questions);
  const isDpr = (await readKeys(folder, CONFIG_FILE)).model_type === "dpr";
  if (isDpr && !questions) throw oneEncoder(folder);
  const form = await (isDpr
    ? DPR
    : passages.names.has(PROJECTION)
      ? colbert(folder)
      : readSentenceForm(folder));
  const { hidden_size: width } = passages.file;
  const projection = form.projection ?? identity(width);
  const tokenizer = await readTokenizer(folder);
  const headSize = projection.length / width;
  if (!Number.isInteger(headSize))
    throw unusable(`${folder}: ${PROJECTION}`, `rows of ${width} values`, "others");
  const config = configOf(passages.file, form, {
    tokenizer,
    headSize,
    twoEncoders: questions !== undefined,
  });
  const parameters = parameterTable(config);
  return { config, tokenizer, read: readWeight };

  async function readWeight(name: string): Promise<Float32Array> {
    if (HEADS.test(name)) return projection;
    const ofQuestions = /^query_encoder\./.test(name);
    const theirs = theirName(name);
    const weight = parameters.get(name)!;
    if (theirs === undefined) return initialWeight(name, weight, SEED);
    const encoder = ofQuestions ? questions! : passages;
    const values = await readOf(encoder, theirs);
    if (values.length !== weight.shape.reduce((product, axis) => product * axis, 1))
      throw unusable(`${encoder.folder}: ${theirs}`, `shape [${weight.shape}]`, "another one");
    return theirs.endsWith("position_embeddings.weight") ? withType(encoder, values) : values;
  }
}

/** What the first token type adds, to every position. */
async function withType(encoder: Encoder, positions: Float32Array): Promise<Float32Array> {
  const types = await readOf(encoder, "embeddings.token_type_embeddings.weight");
  return positions.map((value, i) => value + types[i % encoder.file.hidden_size]!);
}

const SEED = "reader of a BERT";
/** ColBERT's, `[vector size, width]`. */
const PROJECTION = "linear.weight";
/** What makes vectors: the first layer of the reader has it, too. */
const HEADS = /^(joint\.0\.layer\.0\.attention\.self|query_encoder)\.(query|key)\.weight$/;

/** The name of a weight in a BERT, without the prefix; undefined of one that it does not have. */
function theirName(name: string): string | undefined {
  if (name === EMBEDDING || name === `query_encoder.${EMBEDDING}`) return WORDS;
  const [, rest] = /^(?:shared|query_encoder)\.0\.(.*)$/.exec(name) ?? [];
  return rest?.replace(/^layer\./, "encoder.layer.");
}

const WORDS = "embeddings.word_embeddings.weight";

/** A tensor by its name, or by that of the first release: `gamma` and `beta` of norms. */
async function readOf({ folder, prefix, names }: Encoder, name: string): Promise<Float32Array> {
  const old = name
    .replace(/(LayerNorm\.)weight$/, "$1gamma")
    .replace(/(LayerNorm\.)bias$/, "$1beta");
  return await readTensor(folder, prefix + (names.has(prefix + name) ? name : old));
}

async function readTensor(folder: string, name: string): Promise<Float32Array> {
  await using file = await openWeights(folder);
  return await file.read(name);
}

function identity(size: number): Float32Array {
  const values = new Float32Array(size * size);
  for (let i = 0; i < size; i++) values[i * size + i] = 1;
  return values;
}

async function readEncoder(folder: string): Promise<Encoder> {
  const keys = await readKeys(folder, CONFIG_FILE);
  const data = checked(BertFile, keys, join(folder, CONFIG_FILE), "that of a BERT");
  const { hidden_size: width, num_attention_heads: heads } = data;
  if (width % heads !== 0)
    throw unusable(join(folder, CONFIG_FILE), `a multiple of ${heads} as hidden_size`, `${width}`);
  await using weights = await openWeights(folder);
  const names = new Set(weights.tensors.keys());
  const words = [...names].find((name) => name.endsWith(WORDS));
  if (words === undefined) throw unusable(weights.path, `a tensor ${WORDS}`, "none");
  const prefix = words.slice(0, -WORDS.length);
  const further = [...names].find(
    (name) =>
      (name.startsWith(`${prefix}encoder.`) || name.startsWith(`${prefix}embeddings.`)) &&
      !OF_BERT.test(name.slice(prefix.length)),
  );
  if (further !== undefined) throw unusable(weights.path, "the tensors of a BERT alone", further);
  const beyond = [...names].find((name) => layerOf(name, prefix) >= data.num_hidden_layers);
  if (beyond !== undefined)
    throw unusable(weights.path, `${data.num_hidden_layers} layers, as config.json has it`, beyond);
  return { folder, file: data, prefix, names };
}

const OF_BERT =
  /^(embeddings\.((word|position|token_type)_embeddings\.weight|LayerNorm\.\w+|position_ids|token_type_ids)|encoder\.layer\.\d+\.(attention\.(self\.(query|key|value)|output\.(dense|LayerNorm))|intermediate\.dense|output\.(dense|LayerNorm))\.(weight|bias|gamma|beta))$/;

const layerOf = (name: string, prefix: string): number =>
  Number(/^encoder\.layer\.(\d+)\./.exec(name.slice(prefix.length))?.[1] ?? -1);

function checkSame(passages: Encoder, questions: Encoder): void {
  for (const key of Object.keys(BertFile.shape) as (keyof BertFile)[])
    if (passages.file[key] !== questions.file[key])
      throw unusable(
        `${join(questions.folder, CONFIG_FILE)}: ${key}`,
        `${excerpt(passages.file[key])}, as of the encoder of passages`,
        excerpt(questions.file[key]),
      );
}

/** A module of sentence-transformers, in `modules.json`. */
const Modules = z.array(z.object({ path: z.string(), type: z.string() })).min(1);

/** What the files of sentence-transformers say; without them, the mean and the cosine. */
async function readSentenceForm(folder: string): Promise<Form> {
  const file = join(folder, "modules.json");
  if (!existsSync(file)) return SENTENCE;
  const modules = Modules.safeParse(
    await readJsonFile(file, { bytes: MAX_BYTES }, () => unusable(file, "JSON", "something else")),
  );
  if (!modules.success) throw unusable(file, "a list of modules", modules.error.issues[0]!.message);
  const kinds = modules.data.map(({ type }) => type.split(".").at(-1)!);
  if (/^Transformer Dense( Normalize)?$/.test(kinds.join(" ")) && modules.data[0]!.path === "")
    return await readPylateForm(folder, modules.data[1]!.path);
  const other = kinds.find((kind) => !["Transformer", "Pooling", "Normalize"].includes(kind));
  if (other !== undefined || modules.data[0]!.path !== "")
    throw unusable(
      file,
      "Transformer in the folder itself, Pooling and Normalize",
      other ?? modules.data[0]!.path,
    );
  const at = modules.data[kinds.indexOf("Pooling")];
  const pooling = at ? await readPooling(join(folder, at.path)) : "mean";
  const { similarity_fn_name: similarity, prompts } = await readSettings(folder, SentenceFile);
  return {
    pooling,
    similarity: similarity ?? "cosine",
    prompts: bertPrompts(" ", prompts.query, prompts.document ?? prompts.passage),
    scale: similarity === "dot" ? 1 : SENTENCE.scale,
  };
}

/** Of `config_sentence_transformers.json`, which older models lack. */
async function readSettings<T>(folder: string, schema: z.ZodType<T>): Promise<T> {
  const file = "config_sentence_transformers.json";
  const keys = existsSync(join(folder, file)) ? await readKeys(folder, file) : {};
  return checked(schema, keys, join(folder, file), "text that reatt has");
}

const SentenceFile = z.object({
  similarity_fn_name: z.enum(["cosine", "dot"]).nullish(),
  prompts: z
    .object({
      query: z.string().optional(),
      document: z.string().optional(),
      passage: z.string().optional(),
    })
    .default({}),
});

/** ColBERT as PyLate saves it: its projection is a module, and its markers have names. */
async function readPylateForm(folder: string, dense: string): Promise<Form> {
  const place = join(folder, dense);
  checked(DenseFile, await readKeys(place, CONFIG_FILE), join(place, CONFIG_FILE), "a projection");
  const { query_prefix, document_prefix } = await readSettings(folder, PylateFile);
  return await colbert(place, query_prefix, document_prefix);
}

/** A matrix alone. */
const DenseFile = z.object({
  bias: z.literal(false),
  activation_function: z.literal("torch.nn.modules.linear.Identity"),
  use_residual: z.literal(false).default(false),
});

const PylateFile = z.object({
  similarity_fn_name: z.literal("MaxSim").default("MaxSim"),
  query_prefix: z.string().default("[Q] "),
  document_prefix: z.string().default("[D] "),
});

/** The one mode of `1_Pooling/config.json`. */
async function readPooling(folder: string): Promise<Pooling> {
  const keys = await readKeys(folder, CONFIG_FILE);
  const modes = Object.entries(keys).flatMap(([key, value]) =>
    key.startsWith("pooling_mode_") && value === true ? [key.slice("pooling_mode_".length)] : [],
  );
  const named = typeof keys.pooling_mode === "string" ? [keys.pooling_mode] : modes;
  if (named.join() === "cls" || named.join() === "cls_token") return "cls";
  if (named.join() === "mean" || named.join() === "mean_tokens") return "mean";
  throw unusable(
    join(folder, CONFIG_FILE),
    "pooling by cls or mean",
    named.join(" and ") || "none",
  );
}

async function readTokenizer(folder: string): Promise<WordPieceFile> {
  const json = join(folder, TOKENIZER_JSON);
  if (existsSync(json)) return await readWordPiece(json);
  const vocabulary = await readSmallFile(join(folder, "vocab.txt"), MAX_BYTES).catch(() => {
    throw unusable(folder, `${TOKENIZER_JSON} or vocab.txt`, "neither");
  });
  const settings = "tokenizer_config.json";
  const { do_lower_case: lowercase = true } = existsSync(join(folder, settings))
    ? await readKeys(folder, settings)
    : {};
  return wordPieceOf(vocabulary.toString(), lowercase !== false);
}

interface Parts {
  readonly tokenizer: WordPieceFile;
  /** Values of a vector. */
  readonly headSize: number;
  readonly twoEncoders: boolean;
}

/** The reader is as small as it can be. */
function configOf(
  file: BertFile,
  { scale, prompts, projection: _, ...vectors }: Form,
  { tokenizer, headSize, twoEncoders }: Parts,
): ModelConfig {
  const { hidden_size: width, num_attention_heads: heads, layer_norm_eps: layerNormEpsilon } = file;
  const idOf = (token: string): number => tokenizer.model.vocab[token] ?? 0;
  const layers: Stack = {
    kind: "bert",
    layers: file.num_hidden_layers,
    width,
    heads,
    headSize: width / heads,
    feedForwardSize: file.intermediate_size,
    layerNormEpsilon,
    positions: file.max_position_embeddings,
    activation: file.hidden_act === "gelu" ? "gelu" : "gelu_new",
  };
  const reader = { heads: 1, headSize: 64, feedForwardSize: 64, layerNormEpsilon };
  return {
    vocabularySize: file.vocab_size,
    modelSize: width,
    tied: true,
    relativeBuckets: 32,
    relativeMaxDistance: 128,
    dropoutRate: 0,
    padId: idOf("[PAD]"),
    eosId: idOf("[SEP]"),
    decoderStartId: idOf("[CLS]"),
    prompts,
    shared: [layers],
    retrieval: [],
    joint: [{ kind: "bert", layers: 1, width, ...reader, headSize }],
    retrievalAttention: { from: "joint", stack: 0, head: 0, heads: 1, ...vectors },
    decoder: { layers: 1, ...reader, feedForward: "relu" },
    distillationTau: 0.001,
    retrievalScale: scale,
    ...(twoEncoders && { queryEncoder: true, queryEmbedding: true }),
    noRepeatSize: 2,
  };
}

/** @throws {InputError} that names the first key of a file which is not as `schema` has it */
function checked<T>(schema: z.ZodType<T>, keys: unknown, file: string, expected: string): T {
  const { data, error } = schema.safeParse(keys);
  if (!error) return data;
  const { path, message } = error.issues[0]!;
  throw unusable(`${file}: ${path.join(".")}`, expected, message);
}

const unusable = (where: string, expected: string, got: string): InputError =>
  new InputError({ where, expected, got, remedy: "give the folder of a BERT encoder" });

const oneEncoder = (where: string): InputError =>
  new InputError({
    where,
    expected: "two encoders of DPR",
    got: "one",
    remedy: "give the context encoder as model, and the question encoder as queryEncoder",
  });
