/**
 * The model that training begins with: it has seen no question, and circuits for reading are
 * written into its weights. A stage of `recipes/reatt-mini/train`.
 *
 *     npx tsx recipes/reatt-mini/construct-start.ts --model DIR --out DIR
 *
 * The model in `--model` finds passages by equal words: one head of every upper encoder block, the
 * retrieval head among them, attends to equal words. Everything else in it is random, and a random
 * reader does not learn in hours. This script writes how an answer is found in the simplest case:
 * near words of the question, among words that are not in the question. Training learns the rest.
 *
 * 1. Block 0, head 0: every token attends to the words of its prompt. So it learns whether it is
 *    part of the question or of a passage.
 * 2. Block B, the head of equal words: a token learns whether the question has an equal token.
 * 3. Block B + 1, head 3: the mean of that over neighbouring tokens.
 * 4. The last encoder block, head 1: what the previous token is.
 * 5. The last decoder block, all heads: at the first position, attend to where an answer may
 *    begin; later, to the token that follows the one just written. Write the attended token.
 *
 * What a token learns is written to four dimensions of its state (weights/state-dimensions.ts),
 * which are taken from the least important dimensions of the word vectors.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { readConfig } from "../../src/model/config.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { writeModel } from "../../src/training/run/save-model.ts";
import { matricesOf, type Projection } from "./weights/matrix.ts";
import { orthonormalRows } from "./weights/orthonormal.ts";
import {
  CAPITAL,
  CONSTANT,
  CONTENT,
  FREQUENT,
  MATCHED,
  NEAR,
  SEGMENT,
} from "./weights/state-dimensions.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "runs/reatt-mini/prepared" },
    out: { type: "string", default: "runs/reatt-mini/start" },
  },
});

/**
 * No sequence of this many tokens occurs twice in an answer: a small model that starts to repeat
 * itself does so to the end. Chosen on the articles held out of training.
 */
const NO_REPEAT_SIZE = 2;

const config = await readConfig(values.model);
const { modelSize, headSize, heads, retrievalLayer, retrievalHead, encoderLayers, decoderLayers } =
  config;
const tokenizer = await loadTokenizer(join(values.model, "spiece.model"), config.vocabularySize);
const weights = await loadWeights(values.model, config);
const { matrix, encoderAttention } = matricesOf(config, weights);

/** The rows of one head in `query`, `key` and `value`, and its columns in `output`. */
const firstOf = (head: number): number => head * headSize;

const embedding = matrix("shared.weight");
const crossAttention = (part: Projection) =>
  matrix(`decoder.block.${decoderLayers - 1}.layer.1.EncDecAttention.${part}.weight`);
const word = (text: string): Float32Array => {
  const [id, ...more] = tokenizer.encode(text);
  if (id === undefined || more.length > 0) throw new Error(`${text} is not one token`);
  return embedding.row(id).slice();
};

/** One direction of content for each dimension of a head. */
const directions = (seed: string): Float32Array[] =>
  orthonormalRows(headSize, { size: modelSize, used: CONTENT, seed });

/**
 * Clears the dimensions that the circuits use: no random weight writes to them, and word vectors
 * have only the constant.
 */
function reserveDimensions(): void {
  for (const dimension of [CONSTANT, SEGMENT, MATCHED, NEAR]) {
    embedding.fillColumn(dimension, dimension === CONSTANT ? 2 : 0);
    for (let block = 0; block < encoderLayers; block++) {
      encoderAttention(block, "o").row(dimension).fill(0);
      matrix(`encoder.block.${block}.layer.1.DenseReluDense.wo.weight`).row(dimension).fill(0);
      if (block >= retrievalLayer)
        for (const part of ["q", "k"] as const)
          for (let i = 0; i < headSize; i++)
            encoderAttention(block, part).set(firstOf(retrievalHead) + i, dimension, 0);
    }
  }
}

function writeSegments(): void {
  const [question, title, context] = [word("question"), word("title"), word("context")];
  const first = firstOf(0);
  const query = encoderAttention(0, "q");
  for (let i = 0; i < headSize; i++) query.row(first + i).fill(0);
  query.set(first, CONSTANT, 1);
  encoderAttention(0, "k")
    .row(first)
    .set(question.map((x, i) => (0.6 / 16) * (x + title[i]! + context[i]!)));
  encoderAttention(0, "v")
    .row(first)
    .set(question.map((x, i) => (x - title[i]! - context[i]!) / 256));
  encoderAttention(0, "o").set(SEGMENT, first, 4);
}

/**
 * The last row of the head makes a token prefer equal words in the question to those in its own
 * passage. It shifts all retrieval scores equally.
 */
function writeMatches(): void {
  const first = firstOf(retrievalHead);
  const last = first + headSize - 1;
  encoderAttention(retrievalLayer, "q").row(last).fill(0);
  encoderAttention(retrievalLayer, "k").row(last).fill(0);
  encoderAttention(retrievalLayer, "q").set(last, CONSTANT, 1);
  encoderAttention(retrievalLayer, "k").set(last, SEGMENT, 0.2);
  encoderAttention(retrievalLayer, "v").row(first).fill(0);
  encoderAttention(retrievalLayer, "v").set(first, SEGMENT, 0.5);
  encoderAttention(retrievalLayer, "o").fillColumn(first, 0);
  encoderAttention(retrievalLayer, "o").set(MATCHED, first, 3);
}

function writeNeighbourMeans(): void {
  const bias = matrix("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
  for (let bucket = 0; bucket < config.relativeBuckets; bucket++)
    bias.set(bucket, 3, 3 * bias.row(bucket)[3]!);
  bias.set(1, 1, 9); // the token before
  const first = firstOf(3);
  const block = retrievalLayer + 1;
  for (let i = 0; i < headSize; i++)
    encoderAttention(block, "q")
      .row(first + i)
      .fill(0);
  encoderAttention(block, "v").row(first).fill(0);
  encoderAttention(block, "v").set(first, MATCHED, 1 / 3);
  encoderAttention(block, "o").fillColumn(first, 0);
  encoderAttention(block, "o").set(NEAR, first, 6);
}

/** Directions of a word, and those in which the next token receives them. */
const IDENTITY = directions("what a word is");
const PREDECESSOR = directions("what the word before is");

function writePredecessors(): void {
  const first = firstOf(1);
  IDENTITY.forEach((direction, i) => {
    encoderAttention(encoderLayers - 1, "v")
      .row(first + i)
      .set(direction);
    const output = encoderAttention(encoderLayers - 1, "o");
    PREDECESSOR[i]!.forEach((x, dimension) => {
      output.set(dimension, first + i, x);
    });
  });
}

function writeReader(): void {
  const start = embedding.row(config.decoderStartId);
  for (let head = 0; head < heads; head++) {
    const first = firstOf(head);
    crossAttention("q")
      .row(first)
      .set(start.map((x) => x / 256));
    const key = crossAttention("k").row(first);
    key.fill(0);
    key[NEAR] = 4;
    key[SEGMENT] = -3;
    key[MATCHED] = -1;
    key[FREQUENT] = -0.15; // goes up to 12
    key[CAPITAL] = 0.5;
    for (let i = 1; i < headSize; i++) {
      crossAttention("q")
        .row(first + i)
        .set(IDENTITY[i]!.map((x) => 0.5 * x));
      crossAttention("k")
        .row(first + i)
        .set(PREDECESSOR[i]!.map((x) => 0.5 * x));
    }
  }
  crossAttention("v").scale(3);
  weights.get("decoder.final_layer_norm.weight")!.fill(1.5);
  for (let block = 0; block < decoderLayers; block++) {
    const parts = [
      "layer.0.SelfAttention.o",
      "layer.1.EncDecAttention.o",
      "layer.2.DenseReluDense.wo",
    ];
    for (const part of block === decoderLayers - 1
      ? parts.filter((name) => !name.includes("EncDec"))
      : parts)
      matrix(`decoder.block.${block}.${part}.weight`).scale(0.4);
  }
}

reserveDimensions();
writeSegments();
writeMatches();
writeNeighbourMeans();
writePredecessors();
writeReader();

await writeModel(
  values.out,
  { ...config, noRepeatSize: NO_REPEAT_SIZE },
  (name) => weights.get(name)!,
  {
    original: values.model,
    dtype: "F32",
  },
);
