/**
 * Makes the start model: its backbone is all-MiniLM-L6-v2 (Apache-2.0), a BERT encoder that was
 * trained for search. What reads is random. A stage of `recipes/reatt-mini/train`.
 *
 *     npx tsx recipes/reatt-mini/convert-minilm.ts --teacher DIR --tokenizer DIR --out DIR
 *         [--texts FILE]
 *
 * - Word vectors: those of the pieces of MiniLM (make-tokenizer.ts). `</s>` has that of `[SEP]`.
 * - Positions: MiniLM's, with the vector of its first token type.
 * - Retrieval head: query and key are the same map of a state to its principal components, which
 *   are found on the beginnings of articles. So a retrieval score is nearly a mean of cosines.
 */

import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { encodeSequences, openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import { type ModelConfig, writeConfig } from "../../src/model/config.ts";
import { initialWeights } from "../../src/model/initialise.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { passageIds } from "../../src/text/prompts.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { principalComponents } from "./weights/principal-components.ts";

const { values } = parseArgs({
  options: {
    teacher: { type: "string", default: "runs/minilm/package/model" },
    texts: { type: "string", default: "../shared/data/wiki/articles.jsonl.gz" },
    tokenizer: { type: "string", default: "runs/reatt-mini/tokenizer" },
    out: { type: "string", default: "runs/reatt-mini/converted" },
  },
});

const CONFIG: ModelConfig = {
  vocabularySize: 32128,
  modelSize: 384,
  headSize: 128,
  heads: 4,
  feedForwardSize: 768,
  encoderLayers: 3,
  decoderLayers: 2,
  feedForward: "gated-gelu",
  tied: true,
  relativeBuckets: 32,
  relativeMaxDistance: 128,
  layerNormEpsilon: 1e-6,
  dropoutRate: 0,
  padId: 0,
  eosId: 1,
  decoderStartId: 0,
  retrievalLayer: 0,
  retrievalHead: 0,
  distillationTau: 0.001,
  retrievalScale: 1,
  queryEncoder: false,
  noRepeatSize: 2,
  copying: true,
  backbone: {
    layers: 6,
    heads: 12,
    feedForwardSize: 1536,
    positions: 512,
    layerNormEpsilon: 1e-12,
  },
};
const SEED = "convert-minilm";
const TEXTS = 400;
const TEXT_TOKENS = 96;
/** Retrieval scores are cosines times this, so that a softmax of them is neither flat nor sharp. */
const SCORE_SCALE = 20;
/** The decoder's final norm. With 1, no word can be much more probable than the others. */
const FINAL_NORM = 10;
/** The id of `[UNK]` in BERT's vocabulary, and the row of `<unk>` here. */
const [BERT_UNKNOWN, UNKNOWN] = [100, 2];

type Weights = Map<string, Float32Array>;

/** The weights of MiniLM under the names that they have in a backbone, and its tables. */
async function readTeacher(): Promise<Weights> {
  await using file = await openSafetensors(join(values.teacher, "model.fp16.safetensors"));
  const weights: Weights = new Map();
  for (const [name, { dtype }] of file.tensors)
    if (dtype === "F16") weights.set(`backbone.${name}`, await file.read(name));
  return weights;
}

/** The word vectors of BERT's pieces `wordIds`; 0 for rows without a piece. */
function wordVectors(teacher: Weights, wordIds: readonly number[]): Float32Array {
  const { vocabularySize, modelSize } = CONFIG;
  const words = teacher.get("backbone.embeddings.word_embeddings.weight")!;
  const table = new Float32Array(vocabularySize * modelSize);
  wordIds.with(UNKNOWN, BERT_UNKNOWN).forEach((word, id) => {
    if (word >= 0)
      table.set(words.subarray(word * modelSize, (word + 1) * modelSize), id * modelSize);
  });
  return table;
}

async function startWeights(): Promise<Weights> {
  const teacher = await readTeacher();
  const weights = initialWeights(CONFIG, SEED);
  for (const name of weights.keys()) if (teacher.has(name)) weights.set(name, teacher.get(name)!);
  const pieces = await readFile(join(values.tokenizer, "pieces.json"), "utf8");
  weights.set("shared.weight", wordVectors(teacher, JSON.parse(pieces)));
  const type = teacher.get("backbone.embeddings.token_type_embeddings.weight")!;
  const positions = weights.get("backbone.embeddings.position_embeddings.weight")!;
  positions.forEach((value, i) => {
    positions[i] = value + type[i % CONFIG.modelSize]!;
  });
  weights.get("decoder.final_layer_norm.weight")!.fill(FINAL_NORM);
  return weights;
}

/** States of the beginnings of articles, each divided by its length: [tokens, modelSize]. */
async function unitStates(weights: Weights): Promise<Float32Array[]> {
  const tokenizer = await loadTokenizer(join(values.tokenizer, "spiece.model"));
  const texts: number[][] = [];
  for await (const { title, text } of readPassages(values.texts)) {
    texts.push(passageIds(tokenizer, { title, text: text.slice(0, 600) }, TEXT_TOKENS));
    if (texts.length === TEXTS) break;
  }
  await using session = await openRetrieverSession(CONFIG, { weights });
  const states = await encodeSequences(session, CONFIG, texts, "states");
  return states.flatMap((rows) =>
    Array.from({ length: rows.length / CONFIG.modelSize }, (_, i) => {
      const row = rows.subarray(i * CONFIG.modelSize, (i + 1) * CONFIG.modelSize);
      const length = Math.hypot(...row);
      return row.map((value) => value / length);
    }),
  );
}

async function writeRetrievalHead(weights: Weights): Promise<void> {
  const { headSize, modelSize } = CONFIG;
  const components = principalComponents(await unitStates(weights), headSize, SEED);
  // The norm of the block gives states of the length sqrt(modelSize).
  const factor = Math.sqrt(SCORE_SCALE / modelSize);
  const rows = Float32Array.from(
    components.flatMap((row) => [...row]),
    (x) => factor * x,
  );
  for (const part of ["q", "k"])
    weights.get(`encoder.block.0.layer.0.SelfAttention.${part}.weight`)!.set(rows);
}

const weights = await startWeights();
await writeRetrievalHead(weights);
await mkdir(values.out, { recursive: true });
const tensors = [...parameterShapes(CONFIG)].map(
  ([name, shape]) => [name, { shape, values: weights.get(name)! }] as const,
);
await writeSafetensors(join(values.out, "model.safetensors"), new Map(tensors), { dtype: "F32" });
await copyFile(join(values.tokenizer, "spiece.model"), join(values.out, "spiece.model"));
await writeConfig(values.out, CONFIG);
