/**
 * Makes the start model of all-MiniLM-L6-v2 (Apache-2.0), a BERT encoder that was trained for
 * search: three shared and three retrieval layers. The joint layers begin with copies of the
 * latter; the rest of the reader is random. A stage of `recipes/reatt-mini/train`.
 *
 *     npx tsx recipes/reatt-mini/convert-minilm.ts --teacher DIR --tokenizer DIR --out DIR
 *         [--texts FILE]
 *
 * - Word vectors: those of the pieces of MiniLM (make-tokenizer.ts). `</s>` has that of `[SEP]`.
 * - Positions: MiniLM's, with the vector of its first token type.
 * - Retrieval heads: query and key are the same map of a state to its principal components, which
 *   are found on the beginnings of articles. A retrieval score is a mean of cosines.
 * - The two other heads of the upper layers attend to the token before and to the token after. In
 *   the first layer, the former writes a code of the token before to directions that states hardly
 *   use.
 * - The last cross-attention compares that code with the code of the token just written, which
 *   linear least squares finds from its word vector. So attention goes on to the token that
 *   follows, which a decoder that copies then writes.
 */

import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { encodeSequences, openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import { type ModelConfig, vectorSize } from "../../src/model/config.ts";
import { writeConfig } from "../../src/model/config-file.ts";
import { initialWeights } from "../../src/model/initialise.ts";
import { EMBEDDING, parameterShapes } from "../../src/model/parameter-names.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { passageIds } from "../../src/text/tokens/prompts.ts";
import { loadTokenizer } from "../../src/text/tokens/tokenizer.ts";
import { leastSquares } from "./weights/least-squares.ts";
import { principalComponents } from "./weights/principal-components.ts";

const { values } = parseArgs({
  options: {
    teacher: { type: "string", default: "runs/minilm/package/model" },
    texts: { type: "string", default: "../shared/data/wiki/articles.jsonl.gz" },
    tokenizer: { type: "string", default: "runs/reatt-mini/tokenizer" },
    out: { type: "string", default: "runs/reatt-mini/converted" },
  },
});

/** Layers 1 to 3 of MiniLM are shared; 4 to 6 are retrieval layers, and joint layers begin so. */
const MINILM = {
  kind: "bert",
  ...{ layers: 3, width: 384, heads: 12, headSize: 32, feedForwardSize: 1536 },
  layerNormEpsilon: 1e-12,
} as const;
const T5_SIZES = {
  ...{ heads: 4, headSize: 128, feedForwardSize: 768, layerNormEpsilon: 1e-6 },
  feedForward: "gated-gelu",
} as const;
const RETRIEVAL = { from: "joint", stack: 1, head: 0, heads: 2, similarity: "cosine" } as const;
const CONFIG: ModelConfig = {
  vocabularySize: 32128,
  modelSize: 384,
  tied: true,
  relativeBuckets: 32,
  relativeMaxDistance: 128,
  dropoutRate: 0,
  padId: 0,
  eosId: 1,
  decoderStartId: 0,
  shared: [{ ...MINILM, positions: 512 }],
  retrieval: [MINILM],
  joint: [MINILM, { kind: "t5", layers: 1, width: 384, ...T5_SIZES }],
  retrievalAttention: RETRIEVAL,
  decoder: { layers: 2, ...T5_SIZES, copying: true },
  distillationTau: 0.001,
  retrievalScale: 20,
  noRepeatSize: 2,
};
const { heads: HEADS, headSize: HEAD_SIZE } = T5_SIZES;
const SEED = "convert-minilm";
const TEXTS = 300;
const TEXT_TOKENS = 96;
/**
 * What the retrieval heads attend by in the first block is a part of the cosine times this, so that
 * a softmax is neither flat nor sharp.
 */
const ATTENTION_SCALE = 20;
/** The decoder's final norm. With 1, no word can be much more probable than the others. */
const FINAL_NORM = 10;
/** Heads of the upper layers that attend to the token before, and after, and their buckets. */
const NEIGHBOURS = [
  { head: 2, bucket: 1 },
  { head: 3, bucket: 17 },
];
const NEIGHBOUR_BIAS = 8;
/** The length of a code of the token before, as a share of the length of a normed state. */
const CODE_SHARE = 0.3;
/** Of the query of the last cross-attention: the token that follows is ahead of most others. */
const COPY_FACTOR = 0.1;
/**
 * What random layers add to a stream at the start. MiniLM's word vectors and states are small, so
 * outputs of the usual size would hide them.
 */
const ADDED = { "joint.1": 0.3, decoder: 0.05 };
/** BERT's ids of rows here: `[CLS]` for `<pad>`, which begins answers, and `[UNK]`. */
const SPECIAL = [
  { row: 0, word: 101 },
  { row: 2, word: 100 },
];

type Weights = Map<string, Float32Array>;

/** The weights of MiniLM by their names. */
async function readTeacher(): Promise<Weights> {
  await using file = await openSafetensors(join(values.teacher, "model.fp16.safetensors"));
  const weights: Weights = new Map();
  for (const [name, { dtype }] of file.tensors)
    if (dtype === "F16") weights.set(name, await file.read(name));
  return weights;
}

/** The word vectors of BERT's pieces `wordIds`; 0 for rows without a piece. */
function wordVectors(teacher: Weights, wordIds: readonly number[]): Float32Array {
  const { vocabularySize, modelSize } = CONFIG;
  const words = teacher.get("embeddings.word_embeddings.weight")!;
  const table = new Float32Array(vocabularySize * modelSize);
  const all = [...wordIds];
  for (const { row, word } of SPECIAL) all[row] = word;
  all.forEach((word, id) => {
    if (word >= 0)
      table.set(words.subarray(word * modelSize, (word + 1) * modelSize), id * modelSize);
  });
  return table;
}

/** The weight of MiniLM that `name` begins with. */
const teacherName = (name: string): string =>
  name
    .replace(/^shared\.0\.embeddings\./, "embeddings.")
    .replace(
      /^(shared|retrieval|joint)\.0\.layer\.(\d+)/,
      (_, part, n) => `encoder.layer.${Number(n) + (part === "shared" ? 0 : MINILM.layers)}`,
    );

async function startWeights(): Promise<Weights> {
  const teacher = await readTeacher();
  const weights = initialWeights(CONFIG, SEED);
  for (const name of weights.keys()) {
    const values = teacher.get(teacherName(name));
    if (values) weights.set(name, values);
  }
  const pieces = await readFile(join(values.tokenizer, "pieces.json"), "utf8");
  weights.set(EMBEDDING, wordVectors(teacher, JSON.parse(pieces)));
  const type = teacher.get("embeddings.token_type_embeddings.weight")!;
  const positions = weights.get("shared.0.embeddings.position_embeddings.weight")!;
  positions.forEach((value, i) => {
    positions[i] = value + type[i % CONFIG.modelSize]!;
  });
  weights.get("decoder.final_layer_norm.weight")!.fill(FINAL_NORM);
  for (const [name, values] of weights)
    for (const [stack, factor] of Object.entries(ADDED))
      if (name.startsWith(stack) && /\.(o|wo)\.weight$/.test(name))
        weights.set(
          name,
          values.map((value) => factor * value),
        );
  const bias = "joint.1.relative_attention_bias.weight";
  for (const { head, bucket } of NEIGHBOURS)
    weights.get(bias)![bucket * HEADS + head] = NEIGHBOUR_BIAS;
  return weights;
}

/** Tokens of the beginnings of articles, and their states, each divided by its length. */
interface Samples {
  readonly ids: readonly number[];
  readonly states: readonly Float32Array[];
}

async function sampleStates(weights: Weights): Promise<Samples> {
  const tokenizer = await loadTokenizer(join(values.tokenizer, "spiece.model"));
  const texts: number[][] = [];
  for await (const { title, text } of readPassages(values.texts)) {
    texts.push(passageIds(tokenizer, { title, text: text.slice(0, 600) }, TEXT_TOKENS));
    if (texts.length === TEXTS) break;
  }
  await using session = await openRetrieverSession(CONFIG, { weights });
  const states = await encodeSequences(session, CONFIG, texts, "states");
  return { ids: texts.flat(), states: states.flatMap((rows) => unitRows(rows)) };
}

/** The rows of `CONFIG.modelSize` values, each divided by its length. */
function unitRows(data: Float32Array): Float32Array[] {
  const { modelSize } = CONFIG;
  return Array.from({ length: data.length / modelSize }, (_, i) => {
    const row = data.subarray(i * modelSize, (i + 1) * modelSize);
    const length = Math.hypot(...row);
    return row.map((value) => value / length);
  });
}

const joined = (rows: readonly Float32Array[], factor = 1): Float32Array =>
  Float32Array.from(
    rows.flatMap((row) => [...row]),
    (value) => factor * value,
  );

/** Writes q, k or v of a head. Norms give states of the length sqrt(modelSize). */
function writeHead(weights: Weights, layer: string, head: number, rows: Float32Array): void {
  weights.get(`${layer}.weight`)!.set(rows, head * HEAD_SIZE * CONFIG.modelSize);
}

/**
 * The retrieval heads, the head of the token before, and the last cross-attention.
 *
 * @param components all principal components of states, those of greatest variance first
 */
function writeHeads(weights: Weights, samples: Samples, components: Float32Array[]): void {
  const { modelSize, decoder } = CONFIG;
  const [heads, headSize] = [HEADS, HEAD_SIZE];
  const first = "joint.1.layer.0.layer.0.SelfAttention";
  const factor = Math.sqrt(ATTENTION_SCALE / modelSize);
  const retrieval = joined(components.slice(0, vectorSize(CONFIG)), factor);
  for (const part of ["q", "k"]) writeHead(weights, `${first}.${part}`, RETRIEVAL.head, retrieval);
  const main = components.slice(0, headSize);
  const spare = components.slice(-headSize);

  const [before] = NEIGHBOURS as [{ head: number }, ...unknown[]];
  const none = new Float32Array(headSize * modelSize);
  for (const part of ["q", "k"]) writeHead(weights, `${first}.${part}`, before.head, none);
  writeHead(weights, `${first}.v`, before.head, joined(main, CODE_SHARE));
  const output = weights.get(`${first}.o.weight`)!;
  spare.forEach((row, i) => {
    for (let j = 0; j < modelSize; j++)
      output[j * heads * headSize + before.head * headSize + i] = row[j]!;
  });

  const last = `decoder.layer.${decoder.layers - 1}.layer.1.EncDecAttention`;
  const query = codeOfWords(weights, samples, main).map((value) => COPY_FACTOR * value);
  for (let head = 0; head < heads; head++) {
    writeHead(weights, `${last}.q`, head, query);
    writeHead(weights, `${last}.k`, head, joined(spare));
  }
}

/** The map from the normed word vector of a token to the code of its state, by least squares. */
function codeOfWords(
  weights: Weights,
  { ids, states }: Samples,
  main: readonly Float32Array[],
): Float32Array {
  const { modelSize } = CONFIG;
  const words = unitRows(weights.get(EMBEDDING)!);
  const length = Math.sqrt(modelSize);
  const code = (state: Float32Array): Float32Array =>
    Float32Array.from(main, (row) => length * row.reduce((sum, x, i) => sum + x * state[i]!, 0));
  return leastSquares(
    {
      data: joined(
        ids.map((id) => words[id]!),
        length,
      ),
      columns: modelSize,
    },
    { data: joined(states.map(code)), columns: HEAD_SIZE },
  );
}

const weights = await startWeights();
const samples = await sampleStates(weights);
writeHeads(weights, samples, principalComponents(samples.states, CONFIG.modelSize - 1, SEED));
await mkdir(values.out, { recursive: true });
const tensors = [...parameterShapes(CONFIG)].map(
  ([name, shape]) => [name, { shape, values: weights.get(name)! }] as const,
);
await writeSafetensors(join(values.out, "model.safetensors"), new Map(tensors), { dtype: "F32" });
await copyFile(join(values.tokenizer, "spiece.model"), join(values.out, "spiece.model"));
await writeConfig(values.out, CONFIG);
