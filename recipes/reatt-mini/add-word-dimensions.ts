/**
 * Widens a model by dimensions that distinguish words, and has the retrieval head compare them: a
 * stage of `recipes/reatt-mini/train`.
 *
 *     npx tsx recipes/reatt-mini/add-word-dimensions.ts --model DIR --texts FILE --out DIR
 *
 * A retrieval head of 64 learned dimensions confuses rare words. 32 dimensions are added to the
 * state of a token and to every head. In them a piece of the word w has
 *
 *     u(w) = LENGTH sqrt(idf(w)) s(w),    idf(w) = ln(1 + (N - df + 0.5) / (df + 0.5))
 *
 * where s(w) are random signs, scaled to length 1, and df of N texts contain the word. Inflections
 * of a word share s(w); stop words have 0. The head that attends to the previous token adds
 * BEFORE R u of that token, where R permutes and changes signs, so that two words in sequence match
 * more than the two apart. The retrieval head then adds LIKENESS idf(w) where question and passage
 * have the same word, and about 0 otherwise. Scores spread more, and training multiplies them by
 * `retrieval_scale`: the scale is divided, or training would undo the addition.
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
/** Document frequencies are of parts of articles of this many words, as passages are short. */
const TEXT_WORDS = 120;
/** Small compared with a word vector's length of 16, so that norms change little. */
const LENGTH = 0.75;
/** Both were chosen on the articles held out of training, from 0 to 3 and 0 to 1. */
const LIKENESS = 2;
const BEFORE = 0.8;
/** The block and head that construct-start.ts makes attend to the previous token. */
const HEAD_BEFORE = { block: 2, head: 1 };
/**
 * By how much the scores of a question's passages spread: the standard deviation of 296 held-out
 * questions is 0.715, and was 0.331 before.
 */
const SPREAD = 2.16;
/** The root mean square of the states in these blocks, by which their norms divide. */
const STATE_SIZE = 1.5;

const original = await readConfig(values.model);
const spieceModel = join(values.model, "spiece.model");
const { config, weights } = widen(original, await loadWeights(values.model, original), WORD_SIZE);
const { matrix, encoderAttention } = matricesOf(config, weights);
const { headSize, retrievalLayer, retrievalHead } = config;

/** The first word dimension of a state, and of a head. */
const OF_STATE = original.modelSize;
const ofHead = (head: number): number => head * headSize + original.headSize;

/**
 * The word of each piece; "" for stop words and signs. A piece from within a word is a word by
 * itself.
 */
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
