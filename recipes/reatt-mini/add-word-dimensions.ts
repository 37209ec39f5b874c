/**
 * Widens a model by dimensions that say which word a token is, and has retrieval compare them: a stage of `recipes/reatt-mini/train`.
 *
 *     npx tsx recipes/reatt-mini/add-word-dimensions.ts --model DIR --texts ../shared/data/wiki/articles.jsonl.gz --out DIR
 *
 * A retrieval head of 64 dimensions, full of meaning, has little room to tell 32,000 pieces apart, and takes one rare word for another. 32 dimensions
 * come to the state of a token and to every head. In them a piece of the word w has
 *
 *     u(w) = LENGTH sqrt(idf(w)) s(w),    idf(w) = ln(1 + (N - df + 0.5) / (df + 0.5))
 *
 * where s(w) are random signs, of length 1, and df of N texts have the word. Inflections of a word have the same, stop words nothing. The head that attends
 * to the token before adds BEFORE R u of that, R being another order and other signs, so that two words in sequence are more than the two apart. What the
 * retrieval head compares is LIKENESS idf(w) more where question and passage have the same word, and about 0 otherwise. Scores then lie further apart, and
 * training, which multiplies them by `retrieval_scale`, would first of all take back what was added: the scale becomes as much smaller.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "../../src/math/random.ts";
import { readConfig } from "../../src/model/config.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { analyse } from "../../src/retrieval/bm25/analysis.ts";
import { inverseDocumentFrequency } from "../../src/retrieval/bm25/bm25.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { parsePieces } from "../../src/text/sentencepiece-model.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { writeModel } from "../../src/training/run/save-model.ts";
import { matricesOf } from "./weights/matrix.ts";
import { widen } from "./weights/widen.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "runs/reatt-mini/averaged" },
    texts: { type: "string", default: "../shared/data/wiki/articles.jsonl.gz" },
    out: { type: "string", default: "runs/reatt-mini/widened" },
  },
});
const SEED = 1;
const WORD_SIZE = 32;
/** Articles are counted in parts of so many words: passages are short. */
const TEXT_WORDS = 120;
/** Small beside a word vector's length of 16, so that the norms see little of it. */
const LENGTH = 0.75;
/** Both chosen on the articles held out of training, from 0 to 3 and 0 to 1. */
const LIKENESS = 2;
const BEFORE = 0.8;
/** The block and head that attend to the token before, as construct-start.ts made them. */
const HEAD_BEFORE = { block: 2, head: 1 };
/** How much further apart the scores of a question's passages lie: the standard deviation of 296 held-out questions is 0.715, it was 0.331. */
const SPREAD = 2.16;
/** The root mean square of the states in the blocks concerned, by which their norms divide. */
const STATE_SIZE = 1.5;

const original = await readConfig(values.model);
const spieceModel = join(values.model, "spiece.model");
const { config, weights } = widen(original, await loadWeights(values.model, original), WORD_SIZE);
const { matrix, encoderAttention } = matricesOf(config, weights);
const { headSize, retrievalLayer, retrievalHead } = config;

/** Where the words begin in a state, and in what a head has of it. */
const OF_STATE = original.modelSize;
const ofHead = (head: number): number => head * headSize + original.headSize;

/** The word that each piece is of; "" for stop words and signs. Pieces from within a word are words of their own. */
async function wordsOfPieces(): Promise<string[]> {
  const pieces = parsePieces(await readFile(spieceModel));
  return pieces.map((piece) => {
    if (piece.startsWith("▁")) return analyse(piece.slice(1)).join(" ");
    const letters = piece.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
    return letters && `-${letters}`;
  });
}

async function inverseDocumentFrequencies(
  wordOf: readonly string[],
): Promise<(word: string) => number> {
  const tokenizer = await loadTokenizer(spieceModel);
  const frequencies = new Map<string, number>();
  let texts = 0;
  for await (const { title, text } of readPassages(values.texts)) {
    const words = text.split(/\s+/);
    for (let start = 0; start < words.length; start += TEXT_WORDS) {
      const ids = tokenizer.encode(`${title} ${words.slice(start, start + TEXT_WORDS).join(" ")}`);
      for (const word of new Set(ids.map((id) => wordOf[id]!)))
        frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
      texts += 1;
    }
  }
  return (word) => inverseDocumentFrequency(texts, frequencies.get(word) ?? 0);
}

const signs = (...keys: string[]): Float32Array => {
  const random = createRandom(SEED, ...keys);
  return Float32Array.from({ length: WORD_SIZE }, () => (random.next() < 0.5 ? -1 : 1));
};

async function tellWords(): Promise<void> {
  const wordOf = await wordsOfPieces();
  const idf = await inverseDocumentFrequencies(wordOf);
  const embedding = matrix("shared.weight");
  wordOf.forEach((word, id) => {
    if (word === "") return;
    const length = LENGTH * Math.sqrt(idf(word) / WORD_SIZE);
    embedding.row(id).set(
      signs("word", word).map((sign) => length * sign),
      OF_STATE,
    );
  });
}

function tellWordsBefore(): void {
  const { block, head } = HEAD_BEFORE;
  const first = ofHead(head);
  const [value, output] = [encoderAttention(block, "v"), encoderAttention(block, "o")];
  signs("before").forEach((sign, i) => {
    value.set(first + i, OF_STATE + i, STATE_SIZE);
    output.set(OF_STATE + ((i + 7) % WORD_SIZE), first + i, BEFORE * sign);
  });
}

function compareWords(): void {
  const first = ofHead(retrievalHead);
  const factor = (STATE_SIZE * Math.sqrt(LIKENESS)) / LENGTH;
  for (const part of ["q", "k"] as const) {
    const projection = encoderAttention(retrievalLayer, part);
    for (let i = 0; i < WORD_SIZE; i++) projection.set(first + i, OF_STATE + i, factor);
  }
}

await tellWords();
tellWordsBefore();
compareWords();
const scaled = { ...config, retrievalScale: config.retrievalScale / SPREAD };
await writeModel(values.out, scaled, (name) => weights.get(name)!, {
  original: values.model,
  dtype: "F32",
});
