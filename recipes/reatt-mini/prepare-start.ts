/**
 * Prepares a pretrained model for construct-start.ts: a stage of `recipes/reatt-mini/train` when no
 * START is given.
 *
 *     npx tsx recipes/reatt-mini/prepare-start.ts --model DIR --texts FILE --out DIR
 *
 * The word vectors stay. Written are
 *
 * 1. two features of words: how frequent a word is in `--texts` or in questions, and whether it
 *    starts with a capital. Word vectors get the length of T5's random ones, 16;
 * 2. the retrieval head from block B on: query and key projections are the same orthogonal map, so
 *    equal words match;
 * 3. relative positions of the encoder: head 1 prefers the previous token, head 3 the neighbours;
 * 4. the last cross-attention: output times value projection is the identity, so it copies;
 * 5. smaller outputs of all other layers, so that states are mostly word vectors at first.
 *
 * The shipped model began with `reatt-mini-start`, which has these properties but other word
 * vectors (see README.md).
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readConfig } from "../../src/model/config.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { parsePieces } from "../../src/text/sentencepiece-model.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { writeModel } from "../../src/training/run/save-model.ts";
import { matricesOf } from "./weights/matrix.ts";
import { orthonormalRows } from "./weights/orthonormal.ts";
import { CAPITAL, CONTENT, FREQUENT } from "./weights/state-dimensions.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "runs/reatt-mini/pretrained" },
    texts: { type: "string", default: "../shared/data/wiki/articles.jsonl.gz" },
    out: { type: "string", default: "runs/reatt-mini/prepared" },
  },
});

/** Texts that word frequencies are counted in, each up to this many characters. */
const COUNTED_TEXTS = 20_000;
const COUNTED_CHARACTERS = 2_000;
/** Frequent in questions: they must not distinguish passages, even if they are rare in texts. */
const QUESTION_WORDS =
  "question: title: context: ? What what Who who When when Where where Which which How how Why why Did did Does does";
/** The feature of the most frequent words; words of fewer than RARE_TEXTS texts have 0. */
const MOST_FREQUENT = 14;
const RARE_TEXTS = 20;
const IS_CAPITAL = 2.4;
const VECTOR_LENGTH = 16;
/** Length of a row of the retrieval head: equal words are 2 to 3 ahead in the softmax. */
const MATCH_LENGTH = 0.346;
const PREVIOUS = 3;
const NEIGHBOURS = 1.2;
/** Relative-position buckets of the token itself and of the nearest tokens on either side. */
const NEAR_BUCKETS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25];
const ENCODER_OUTPUT = 0.25;
const DECODER_OUTPUT = 0.4;

const config = await readConfig(values.model);
const { modelSize, headSize, heads, encoderLayers, decoderLayers, retrievalLayer } = config;
const weights = await loadWeights(values.model, config);
const { matrix, encoderAttention } = matricesOf(config, weights);
const spieceModel = join(values.model, "spiece.model");

/** The number of texts that each piece occurs in. */
async function textFrequencies(): Promise<Map<number, number>> {
  const tokenizer = await loadTokenizer(spieceModel);
  const frequencies = new Map<number, number>();
  let texts = 0;
  for await (const { title, text } of readPassages(values.texts)) {
    const ids = tokenizer.encode(`${title} ${text.slice(0, COUNTED_CHARACTERS)}`);
    for (const id of new Set(ids)) frequencies.set(id, (frequencies.get(id) ?? 0) + 1);
    if (++texts === COUNTED_TEXTS) break;
  }
  const most = Math.max(...frequencies.values());
  for (const id of [...tokenizer.encode(QUESTION_WORDS), tokenizer.eosId])
    frequencies.set(id, most);
  return frequencies;
}

async function writeWordFeatures(): Promise<void> {
  const pieces = parsePieces(await readFile(spieceModel));
  const frequencies = await textFrequencies();
  const most = Math.max(...frequencies.values());
  const embedding = matrix("shared.weight");
  for (let id = 0; id < config.vocabularySize; id++) {
    const ratio = Math.log((frequencies.get(id) ?? 0) / RARE_TEXTS) / Math.log(most / RARE_TEXTS);
    const frequent = MOST_FREQUENT * Math.max(0, ratio);
    const row = embedding.row(id);
    const length = Math.hypot(...row.subarray(0, CONTENT));
    const scale = Math.sqrt(VECTOR_LENGTH ** 2 - frequent ** 2 - IS_CAPITAL ** 2) / length;
    for (let i = 0; i < CONTENT; i++) row[i] = row[i]! * scale;
    row[FREQUENT] = frequent;
    row[CAPITAL] = /^▁?\p{Lu}/u.test(pieces[id] ?? "") ? IS_CAPITAL : -IS_CAPITAL;
  }
}

function writeEqualWordHeads(): void {
  for (let block = retrievalLayer; block < encoderLayers; block++)
    for (const [i, row] of orthonormalRows(headSize, {
      size: modelSize,
      used: CONTENT,
      seed: `equal words ${block}`,
    }).entries())
      for (const part of ["q", "k"] as const)
        encoderAttention(block, part)
          .row(config.retrievalHead * headSize + i)
          .set(row.map((x) => MATCH_LENGTH * x));
}

function writePositions(): void {
  const bias = matrix("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
  for (let bucket = 0; bucket < config.relativeBuckets; bucket++) bias.row(bucket).fill(0);
  bias.set(0, 0, -5); // head 0 does not attend to the token itself
  bias.set(1, 1, PREVIOUS);
  for (const bucket of NEAR_BUCKETS) bias.set(bucket, 3, NEIGHBOURS);
}

/** Value rows are orthonormal and the output projection is their transpose. */
function writeCopy(): void {
  const block = `decoder.block.${decoderLayers - 1}.layer.1.EncDecAttention`;
  const [value, output] = [matrix(`${block}.v.weight`), matrix(`${block}.o.weight`)];
  const size = heads * headSize;
  const rows = orthonormalRows(size, { size: modelSize, used: modelSize, seed: "copy" });
  for (const [i, row] of rows.entries()) {
    value.row(i).set(row);
    row.forEach((x, dimension) => {
      output.set(dimension, i, x);
    });
  }
}

function shrinkOutputs(): void {
  for (let block = 0; block < encoderLayers; block++) {
    encoderAttention(block, "o").scale(ENCODER_OUTPUT);
    matrix(`encoder.block.${block}.layer.1.DenseReluDense.wo.weight`).scale(ENCODER_OUTPUT);
  }
  for (let block = 0; block < decoderLayers; block++) {
    matrix(`decoder.block.${block}.layer.0.SelfAttention.o.weight`).scale(DECODER_OUTPUT);
    matrix(`decoder.block.${block}.layer.2.DenseReluDense.wo.weight`).scale(DECODER_OUTPUT);
    if (block < decoderLayers - 1)
      matrix(`decoder.block.${block}.layer.1.EncDecAttention.o.weight`).scale(DECODER_OUTPUT);
  }
}

await writeWordFeatures();
writeEqualWordHeads();
writePositions();
writeCopy();
shrinkOutputs();
const original = values.model;
await writeModel(values.out, config, (name) => weights.get(name)!, { original, dtype: "F32" });
