/**
 * Makes the start model: the encoder computes nearly what all-MiniLM-L6-v2 computes, and the
 * decoder copies. A stage of `recipes/reatt-mini/train`.
 *
 *     npx tsx recipes/reatt-mini/convert-minilm.ts --teacher DIR --tokenizer DIR --out DIR
 *         [--texts FILE] [--calibration N]
 *
 * MiniLM is a BERT encoder: a norm after each layer, absolute positions, biases. T5 has its norm
 * before each layer, relative positions and no biases. The conversion goes through the layers once.
 * Before each part of a layer, linear least squares on calibration texts finds the matrix that
 * turns the student's normed state into the teacher's input of that part. The matrix is multiplied
 * into the projections that follow. What a part adds is divided by how much the teacher's norms
 * have scaled the stream so far. A constant dimension of the stream carries biases.
 *
 * - Word vectors: those of the teacher's pieces (make-tokenizer.ts).
 * - Positions: relative-position biases are the mean scores by distance (minilm/heads.ts).
 * - 8 of 12 heads stay, those that add most. Each gets 64 dimensions, of which the teacher's head
 *   fills 32.
 * - The retrieval head and the last cross-attention are written (minilm/circuits.ts).
 */

import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { createRandom } from "../../src/math/random.ts";
import { type ModelConfig, writeConfig } from "../../src/model/config.ts";
import { initialWeights } from "../../src/model/initialise.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { parsePieces } from "../../src/text/sentencepiece-model.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { type Calibration, calibrate } from "./minilm/calibration.ts";
import {
  retrievalMap,
  shrinkOtherParts,
  writeCopying,
  writeRetrievalHead,
} from "./minilm/circuits.ts";
import { CONSTANT, type Conversion, wordVectorsOf } from "./minilm/conversion.ts";
import { convertBlock } from "./minilm/encoder.ts";
import { planHeads } from "./minilm/heads.ts";
import { joined } from "./minilm/rows.ts";
import { loadTeacher, TEACHER, type Teacher } from "./minilm/teacher.ts";

const { values } = parseArgs({
  options: {
    teacher: { type: "string", default: "runs/minilm/package/model" },
    texts: { type: "string", default: "../shared/data/wiki/articles.jsonl.gz" },
    tokenizer: { type: "string", default: "runs/reatt-mini/tokenizer" },
    out: { type: "string", default: "runs/reatt-mini/converted" },
    calibration: { type: "string", default: "100" },
  },
});

const SIZES: ModelConfig = {
  vocabularySize: 32128,
  modelSize: 400,
  headSize: 64,
  heads: 8,
  feedForwardSize: TEACHER.inner,
  encoderLayers: TEACHER.layers,
  decoderLayers: 2,
  feedForward: "gelu_new",
  tied: true,
  relativeBuckets: 32,
  relativeMaxDistance: 128,
  layerNormEpsilon: 1e-6,
  dropoutRate: 0,
  padId: 0,
  eosId: 1,
  decoderStartId: 0,
  retrievalLayer: 3,
  retrievalHead: 0,
  distillationTau: 0.001,
  retrievalScale: 1,
  queryEncoder: false,
  noRepeatSize: 2,
  copying: true,
};
const SEED = "convert-minilm";
const CONSTANT_VALUE = 0.6;
/** Pieces with the same vector of the teacher, such as `(` and `▁(`, differ in other dimensions. */
const PIECE_DEVIATION = 0.4;
const CALIBRATION_TOKENS = 110;

/** The teacher's word vectors, a constant, and a random part: [vocabulary, modelSize]. */
function wordVectors(teacher: Teacher, wordIds: readonly number[]): Float32Array {
  const random = createRandom(SEED, "word vectors");
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  const { vocabularySize, modelSize } = SIZES;
  const table = new Float32Array(vocabularySize * modelSize);
  for (let id = 0; id < vocabularySize; id++) {
    const row = table.subarray(id * modelSize, (id + 1) * modelSize);
    const word = wordIds[id] ?? -1;
    const first = word * TEACHER.size;
    if (word >= 0) row.set(teacher.wordStates.subarray(first, first + TEACHER.size));
    row[CONSTANT] = CONSTANT_VALUE;
    for (let i = CONSTANT + 1; i < modelSize; i++) row[i] = PIECE_DEVIATION * normal();
  }
  return table;
}

/** The beginnings of articles: three of four as passages, the others short, as questions. */
async function calibrationTexts(teacher: Teacher): Promise<Calibration[]> {
  const spieceModel = join(values.tokenizer, "spiece.model");
  const tokenizer = await loadTokenizer(spieceModel);
  const pieces = parsePieces(await readFile(spieceModel));
  const found: Calibration[] = [];
  let seen = 0;
  for await (const { title, text } of readPassages(values.texts)) {
    if (seen++ % 7 !== 0 || text.length < 600) continue;
    const isQuestion = found.length % 4 === 3;
    const input = isQuestion
      ? `question: ${text.slice(0, 70)}`
      : `title: ${title} context: ${text.replace(/\s+/g, " ").slice(0, 900)}`;
    const one = await calibrate(teacher, tokenizer, pieces, input, CALIBRATION_TOKENS);
    if (one) found.push(one);
    if (found.length === Number(values.calibration)) break;
  }
  return found;
}

async function startConversion(): Promise<Conversion> {
  const teacher = await loadTeacher(values.teacher);
  const wordIds: number[] = JSON.parse(
    await readFile(join(values.tokenizer, "pieces.json"), "utf8"),
  );
  const texts = await calibrationTexts(teacher);
  console.error(`${texts.length} calibration texts`);
  const plan = planHeads(
    SIZES,
    texts.map((text) => text.teacher),
    { flat: SIZES.retrievalLayer, previous: SIZES.encoderLayers - 1 },
  );
  const config = { ...SIZES, retrievalHead: plan.flat };
  const weights = initialWeights(config, SEED);
  weights.set("shared.weight", wordVectors(teacher, wordIds));
  weights.set("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", plan.bias);
  const states = texts.map(({ ids }) => joined(wordVectorsOf({ config, weights }, ids)));
  return { config, weights, teacher, texts, plan, states, seed: SEED };
}

async function save({ config, weights }: Conversion): Promise<void> {
  await mkdir(values.out, { recursive: true });
  const tensors = [...parameterShapes(config)].map(
    ([name, shape]) => [name, { shape, values: weights.get(name)! }] as const,
  );
  await writeSafetensors(join(values.out, "model.safetensors"), new Map(tensors), { dtype: "F32" });
  await copyFile(join(values.tokenizer, "spiece.model"), join(values.out, "spiece.model"));
  await writeConfig(values.out, config);
}

const conversion = await startConversion();
let scale = 1;
let retrieval: Float32Array | undefined;
for (let block = 0; block < conversion.config.encoderLayers; block++) {
  if (block === conversion.config.retrievalLayer) retrieval = retrievalMap(conversion);
  scale = await convertBlock(conversion, block, scale);
}
writeRetrievalHead(conversion, retrieval!);
writeCopying(conversion);
shrinkOtherParts(conversion);
await save(conversion);
