/**
 * The model that `recipes/reatt-mini/train` begins with: one that has seen no question, with circuits for reading written into its weights.
 *
 *     npx tsx recipes/reatt-mini/construct-start.ts --model ../shared/models/reatt-mini-start --out DIR
 *
 * `--model` finds passages by equal words: its word vectors are made of MiniLM's, and one head of every upper encoder block, the one that retrieves
 * among them, attends to equal words. It cannot read: all else in it is random, and a random reader did not learn in hours. Here it is told how an
 * answer is found at its simplest: *near words of the question, among words that are not in the question themselves*. Training has to learn the rest.
 *
 * 1. Block 0, head 0: every token attends to the words of its prompt, and so learns whether it is of the question or of a passage.
 * 2. Block B, the head of equal words: a token learns whether an equal one is in the question.
 * 3. Block B + 1, head 3: the mean of that over neighbouring tokens.
 * 4. The last encoder block, head 1: what the token before is.
 * 5. The last decoder block, all heads: at the first position attend to where an answer may begin, later to the token that came after the one just
 *    written; and write what is attended to.
 *
 * What a token learns is written to four dimensions of its state, which are taken from the word vectors' least important ones.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "../../src/math/random.ts";
import { readConfig } from "../../src/model/config.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { writeModel } from "../../src/training/run/save-model.ts";
import { matricesOf, type Projection } from "./weights/matrix.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "../shared/models/reatt-mini-start" },
    out: { type: "string", default: "runs/reatt-mini/start" },
  },
});

/** Dimensions of a token's state. */
const CONSTANT = 250;
/** About 1 in a question, -3 in a passage. */
const SEGMENT = 251;
/** Of a passage's token: from about -1 to 1 where the question has an equal one. */
const MATCHED = 252;
/** The mean of that over neighbours, stretched. */
const NEAR = 253;
/** Of the word vectors as they are: how frequent a word is, and whether it begins with a capital. */
const FREQUENT = 254;
const CAPITAL = 255;
const CONTENT = 250;
/** A small model that has begun to repeat itself does so to the end: so many tokens in a row it may not write again. Chosen on the articles held out of training. */
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

/** `rows` orthonormal directions of content. */
function directions(rows: number, seed: string): Float32Array[] {
  const random = createRandom(seed);
  const found: Float32Array[] = [];
  while (found.length < rows) {
    const row = new Float32Array(modelSize);
    for (let i = 0; i < CONTENT; i++) row[i] = random.next() - 0.5;
    for (const other of found) {
      const along = row.reduce((sum, x, i) => sum + x * other[i]!, 0);
      row.forEach((x, i) => {
        row[i] = x - along * other[i]!;
      });
    }
    const norm = Math.hypot(...row);
    found.push(row.map((x) => x / norm));
  }
  return found;
}

/** Nothing random is written to the dimensions that the circuits use, and words have none of them but the constant. */
function reserve(): void {
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

function tellSegments(): void {
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

/** The head's last row makes a token prefer equal words in the question to those in its own passage. It shifts all retrieval scores alike. */
function tellMatches(): void {
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

function tellNeighbours(): void {
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

/** What a word is, as the token after it is told, and where that is written. */
const IDENTITY = directions(headSize, "what a word is");
const PREDECESSOR = directions(headSize, "what the word before is");

function tellPredecessors(): void {
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

function pointAndCopy(): void {
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

reserve();
tellSegments();
tellMatches();
tellNeighbours();
tellPredecessors();
pointAndCopy();

await writeModel(
  values.out,
  { ...config, noRepeatSize: NO_REPEAT_SIZE },
  (name) => weights.get(name)!,
  {
    original: values.model,
    dtype: "F32",
  },
);
