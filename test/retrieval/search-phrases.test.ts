/** Phrase search against a double loop over all passages, with small models and real texts. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { encodePassageKeys } from "../../src/encoder/passage-keys.ts";
import { openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import { createRandom } from "../../src/math/random.ts";
import { vectorSize } from "../../src/model/config.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { resolveOptions } from "../../src/options/resolve.ts";
import { hitLists } from "../../src/reatt/retrieving.ts";
import { ReAtt } from "../../src/reatt.ts";
import { deletePassages } from "../../src/retrieval/maintain.ts";
import type { IndexGeneration } from "../../src/retrieval/search/generation.ts";
import {
  PHRASE_OPTIONS,
  type PhraseSearchOptions,
  searchPhrases,
} from "../../src/retrieval/search-phrases.ts";
import { cutsOf } from "../../src/text/expressions.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { sentences } from "../../src/text/sentences.ts";
import { passageIds, passagePrompt } from "../../src/text/tokens/prompts.ts";
import { textPlaces } from "../../src/text/tokens/token-places.ts";
import { tokenSpans } from "../../src/text/tokens/token-spans.ts";
import { refused } from "../checkpoints/support.ts";
import { temporaryFolder, writeTinyModel } from "../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const MODEL = join(folder.path, "model");
mkdirSync(MODEL);
const HEAD = { headSize: 8 }; // so that codes of 2 bits fill bytes
await writeTinyModel(MODEL, { phraseQueries: true, ...HEAD });
const PASSAGES: Passage[] = [];
for await (const passage of readPassages("data/squad/corpus.jsonl")) {
  const { id, title } = passage;
  const text = passage.text.slice(0, 300); // 5 documents, each more than the first request
  PASSAGES.push({ id, title, text, metadata: { number: PASSAGES.length } });
  if (PASSAGES.length === 200) break;
}
PASSAGES.push({ id: "empty", title: "Empty", text: "" });
PASSAGES.push({
  id: "signs",
  title: "",
  text: '"ﬁne" — Ｆｕｌｌ  width,\u00a0e\u0301te\u0301 … ½',
});

interface Naive {
  readonly ordinal: number;
  readonly score: number;
  readonly start: number;
  readonly end: number;
}

/** All phrases of a passage, by two loops over its tokens. */
async function phrasesOf(
  model: ReAtt,
  index: IndexGeneration,
  question: Float32Array,
  ordinal: number,
): Promise<Naive[]> {
  const { text, title } = (await index.passages([ordinal]))[0]!;
  const prompt = passagePrompt({ text, title });
  const shift = prompt.length - text.length;
  const ids = passageIds(model.tokenizer, { text, title }, index.header.maxPassageTokens);
  const spans = tokenSpans(model.tokenizer, prompt, ids);
  const products = await index.products(question, ordinal);
  const phrases: Naive[] = [];
  const isBoundary = cutsOf(text);
  for (let i = 0; i < ids.length; i++)
    for (let j = i; j < ids.length; j++) {
      const [from, to] = [spans[i], spans[j]];
      if (!from || !to || from.start < shift || to.start < shift) continue;
      if (from.start === from.end || to.start === to.end) continue;
      const [start, end] = [from.start - shift, to.end - shift];
      if (text.slice(start, end).split(/\s+/).length > 20) continue;
      if (!isBoundary(start) || !isBoundary(end)) continue;
      phrases.push({ ordinal, score: products[i]! + products[ids.length + j]!, start, end });
    }
  return phrases;
}

/** The unit of a phrase: phrases of one unit are one result. */
const UNITS = {
  sentence: ({ id, text }: Passage, { start }: Naive) =>
    `${id} ${sentences(text).findIndex((sentence) => sentence.end > start)}`,
  passage: ({ id }: Passage) => id,
  document: ({ id, title }: Passage) => title || id,
};

type Ranked = readonly (readonly [Passage, Naive])[];

/** All phrases of an index, best first. */
async function allPhrases(
  model: ReAtt,
  index: IndexGeneration,
  question: Float32Array,
): Promise<Ranked> {
  const all: [Passage, Naive][] = [];
  for await (const [ordinal, passage] of index.entries())
    for (const phrase of await phrasesOf(model, index, question, ordinal))
      all.push([passage, phrase]);
  return all.sort(([, a], [, b]) => b.score - a.score || a.ordinal - b.ordinal);
}

/** The best phrases among all of them. */
function naive(
  all: Ranked,
  { topK = 10, granularity = "phrase" }: PhraseSearchOptions,
  accept: (ordinal: number) => boolean = () => true,
): Naive[] {
  const best: Naive[] = [];
  const units = new Set<string>();
  for (const [passage, phrase] of all) {
    if (best.length === topK) break;
    if (!accept(phrase.ordinal)) continue;
    const overlaps = (other: Naive) =>
      other.ordinal === phrase.ordinal && other.start < phrase.end && phrase.start < other.end;
    const unit = granularity === "phrase" ? undefined : UNITS[granularity](passage, phrase);
    if (unit === undefined ? best.some(overlaps) : units.has(unit)) continue;
    if (unit !== undefined) units.add(unit);
    best.push(phrase);
  }
  return best;
}

function randomQuestion(dimension: number, seed: number): Float32Array {
  const random = createRandom("phrase queries", seed);
  return Float32Array.from({ length: 2 * dimension }, () => random.next() - 0.5);
}

async function search(
  model: ReAtt,
  index: IndexGeneration,
  questions: readonly Float32Array[],
  given: PhraseSearchOptions,
): Promise<Naive[][]> {
  const { maxPassageTokens } = index.header;
  const found = await searchPhrases(
    index,
    questions,
    resolveOptions(PHRASE_OPTIONS, given),
    async (passage) =>
      textPlaces(model.tokenizer, passage, passageIds(model.tokenizer, passage, maxPassageTokens)),
  );
  return found.map((phrases) =>
    phrases.map(({ ordinal, score, span }) => ({ ordinal, score, ...span })),
  );
}

for (const bits of [32, 2] as const)
  test(`${bits} bits: the best phrases equal those of a double loop`, async () => {
    await using model = await ReAtt.load(MODEL);
    const directory = join(folder.path, `index-${bits}`);
    await using index = await model.index(PASSAGES, { directory, bits });
    const questions = [1, 2].map((seed) => randomQuestion(index.header.dimension, seed));
    const all = await Promise.all(questions.map((one) => allPhrases(model, index, one)));
    for (const granularity of ["phrase", "sentence", "passage", "document"] as const)
      for (const topK of [1, 8]) {
        const options = { granularity, topK };
        const found = await search(model, index, questions, options);
        for (const [i, one] of all.entries()) assert.equal(found[i], naive(one, options));
      }
    const where = { number: { lt: 50 } };
    const [filtered] = await search(model, index, [questions[0]!], { where, topK: 5 });
    assert.equal(
      filtered,
      naive(all[0]!, { topK: 5 }, (ordinal) => ordinal < 50),
    );
  });

test("deleted passages have no phrases", async () => {
  await using model = await ReAtt.load(MODEL);
  const directory = join(folder.path, "deleted");
  await using index = await model.index(PASSAGES.slice(0, 20), { directory });
  const question = randomQuestion(index.header.dimension, 3);
  const [[best]] = (await search(model, index, [question], { topK: 1 })) as [[Naive]];
  await deletePassages([PASSAGES[best.ordinal]!.id], { directory });
  await index.refresh();
  const options = { topK: 3 };
  const [after] = await search(model, index, [question], options);
  assert.equal(after, naive(await allPhrases(model, index, question), options));
  assert.not(after!.some(({ ordinal }) => ordinal === best.ordinal));
});

test("keys and products of an index are those of its passages", async () => {
  await using model = await ReAtt.load(MODEL);
  const config = await readConfig(MODEL);
  await using encoder = await openRetrieverSession(config, {
    weights: await loadWeights(MODEL, config),
  });
  const parts = { config, tokenizer: model.tokenizer, encoder };
  const expected = await encodePassageKeys(parts, PASSAGES.slice(0, 5), { maxPassageTokens: 512 });
  const size = vectorSize(config);
  for (const bits of [32, 8] as const) {
    const directory = join(folder.path, `keys-${bits}`);
    await using index = await model.index(PASSAGES.slice(0, 40), { directory, bits });
    const question = randomQuestion(size, 4);
    for (const [ordinal, keys] of expected.entries()) {
      const found = await index.keys(ordinal);
      const far = Math.max(...keys.map((value, i) => Math.abs(value - found[i]!)));
      assert.ok(far < (bits === 32 ? 1e-5 : 0.4), `${far}`); // of values up to 4: 256 codes
      assert.equal(await index.keys(ordinal, [2, 0]), pick(found, [2, 0], size));
      const products = await index.products(question, ordinal);
      const count = keys.length / size;
      for (let i = 0; i < 2 * count; i++) {
        let product = 0;
        for (let d = 0; d < size; d++)
          product += question[Math.floor(i / count) * size + d]! * found[(i % count) * size + d]!;
        assert.ok(Math.abs(products[i]! - product) < 1e-5);
      }
    }
  }
});

const pick = (rows: Float32Array, positions: readonly number[], size: number): Float32Array =>
  Float32Array.from(positions.flatMap((at) => [...rows.slice(at * size, (at + 1) * size)]));

test("answers quote the text, in whole indexes and in pruned ones", async () => {
  await using model = await ReAtt.load(MODEL);
  for (const keepRatio of [1, 0.5]) {
    const directory = join(folder.path, `pruned-${keepRatio}`);
    await using index = await model.index(PASSAGES, { directory, keepRatio });
    const found = await model.phrases(["Who came?", "When did it end?"], index, { topK: 20 });
    assert.is(found.length, 2);
    for (const { id, text, span, answer, score } of found.flat()) {
      assert.is(text, PASSAGES.find((passage) => passage.id === id)!.text);
      assert.is(answer, text.slice(span.start, span.end));
      assert.ok(answer.split(/\s+/).length <= 20 && answer === answer.trim() && answer !== "");
      assert.ok(Number.isFinite(score));
    }
    const alone = await model.phrases("Who came?", index, { topK: 20 });
    assert.is(alone.length, found[0]!.length);
    for (const [i, { id, span, score }] of alone.entries()) {
      const inBatch = found[0]![i]; // encoded with padding, so its score differs in rounding
      assert.equal([id, span], [inBatch!.id, inBatch!.span]);
      assert.ok(Math.abs(score - inBatch!.score) < 1e-4);
    }
  }
});

test("with hybrid search, each passage that it finds has its best phrase, in its order", async () => {
  await using model = await ReAtt.load(MODEL);
  const directory = join(folder.path, "hybrid");
  await using index = await model.index(PASSAGES, { directory });
  const ranking = { topK: 6, where: { number: { lt: 150 } }, hybrid: { lambda: 0.5 } };
  const questions = ["Who ruled Normandy?", "When did it end?"];
  const hits = await hitLists(model.retrieve(questions, index, ranking));
  const found = await model.phrases(questions, index, { ...ranking, granularity: "passage" });
  for (const [i, question] of questions.entries()) {
    const ids = hits[i]!.map(({ id }) => id);
    assert.equal(
      found[i]!.map(({ id }) => id),
      ids,
    );
    for (const [rank, id] of ids.entries()) {
      const [best] = await model.phrases(question, index, { topK: 1, filter: new Set([id]) });
      assert.is(found[i]![rank]!.answer, best!.answer);
    }
  }
  await refused(
    model.phrases("Who?", index, { hybrid: { lambda: 1 } }),
    /^hybrid: expected granularity "passage", .* got "phrase"/,
  );
});

test("a model without phrase queries says what to do", async () => {
  const plain = join(folder.path, "plain");
  mkdirSync(plain);
  await writeTinyModel(plain, HEAD);
  await using model = await ReAtt.load(plain);
  const directory = join(folder.path, "plain-index");
  await using index = await model.index(PASSAGES.slice(0, 3), { directory });
  await model.phrases("Who?", index).then(
    () => assert.unreachable(),
    ({ message }: Error) =>
      assert.match(
        message,
        /plain: expected a model with phrase queries, got one without; train them: reatt train phrases --model .*plain --index .*plain-index --data QUESTIONS\.jsonl --out DIR$/,
      ),
  );
  await using other = await ReAtt.load(MODEL); // the same weights, with phrase queries
  await using opened = await other.openIndex(directory);
  assert.is((await other.phrases("Who?", opened, { topK: 2 })).length, 2);
});

test.run();
