/** A model with pooling in everything that users call. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openLexicalIndex, type Passage, ReAtt, type TokenIndex } from "../src/index.ts";
import { headLayer } from "../src/model/config.ts";
import { hitLists } from "../src/reatt/retrieving.ts";
import { segmentPath } from "../src/retrieval/index/format/manifest.ts";
import { runCaptured } from "./cli/support.ts";
import { rejects } from "./retrieval/support.ts";
import { temporaryFolder, writeLines, writeTinyModel } from "./support/training.ts";

const folder = temporaryFolder();
const at = (...names: string[]): string => join(folder.path, ...names);

/** A folder with the weights of every other one, and this configuration. */
async function modelWith(name: string, keys: object): Promise<string> {
  mkdirSync(at(name));
  await writeTinyModel(at(name));
  const file = at(name, "config.json");
  const config = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...config, ...keys }));
  return at(name);
}

const TOWNS = "London Paris Berlin Rome Boston Dallas Chicago Toronto Houston Atlanta".split(" ");
const passages: Passage[] = TOWNS.map((title, i) => ({
  ...{ id: `${i}`, title, document: `d${i % 3}`, metadata: { number: i } },
  text: `The number of ${title} is ${i + 10}. `.repeat(1 + 4 * i),
}));
const questions = ["What is the number of Rome?", "Which town has 12?"];

const dot = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, i) => sum + value * b[i]!, 0);

let tokens: ReAtt;
let pooled: ReAtt;
let index: TokenIndex;
/** The key of each passage. */
let keys: Float32Array[];

test.before(async () => {
  tokens = await ReAtt.load(await modelWith("tokens", {}));
  const cosine = { retrieval_pooling: "mean", retrieval_similarity: "cosine" };
  pooled = await ReAtt.load(await modelWith("pooled", cosine));
  index = await pooled.index(passages, { directory: at("index") });
  const file = join(segmentPath(at("index"), "000001"), "keys.f32");
  const bytes = readFileSync(file);
  const all = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4).slice();
  const { dimension } = index.header;
  keys = passages.map((_, i) => all.slice(i * dimension, (i + 1) * dimension));
});
test.after(async () => {
  for (const open of [index, pooled, tokens]) await open.close();
  await folder[Symbol.asyncDispose]();
});

test("the index has one key of all heads for each passage", async () => {
  const { heads, headSize } = headLayer(pooled.config);
  assert.is(index.header.dimension, heads * headSize);
  assert.is(index.header.pooling, "mean");
  assert.is(index.tokenCount, passages.length);
  await using ofTokens = await tokens.index(passages, { directory: at("of-tokens") });
  const sizeOf = async (name: string): Promise<number> =>
    (await stat(join(segmentPath(at(name), "000001"), "keys.f32"))).size;
  const ratio = (await sizeOf("of-tokens")) / (await sizeOf("index"));
  assert.is(ratio, ofTokens.tokenCount / passages.length / heads);
  for (const key of keys) assert.ok(Math.abs(dot(key, key) - 1) < 1e-5);
});

test("retrieval is the product of a question's vector with the keys", async () => {
  const vectors = await pooled.encodeQuestions(questions);
  const found = await hitLists(pooled.retrieve(questions, index, { topK: 10 }));
  for (const [i, hits] of found.entries()) {
    const expected = keys
      .map((key, id) => ({ id: `${id}`, score: dot(vectors[i]!, key) }))
      .sort((a, b) => b.score - a.score);
    assert.equal(
      hits.map(({ id }) => id),
      expected.map(({ id }) => id),
    );
    for (const [rank, { score }] of hits.entries())
      assert.ok(Math.abs(score - expected[rank]!.score) < 1e-6);
    const short = passages.slice(0, 5); // longer ones are ranked by their windows
    const ofShort = hits.filter(({ id }) => Number(id) < short.length);
    for (const [rank, hit] of (await pooled.rerank(questions[i]!, short)).entries()) {
      assert.is(hit.id, ofShort[rank]!.id);
      assert.ok(Math.abs(hit.score - ofShort[rank]!.score) < 1e-5); // another batch
    }
  }
});

test("documents, filters, hybrid search, answers, explanations and additions work", async () => {
  const [question] = questions as [string, string];
  const hits = await pooled.retrieve(question, index);
  const documents = await pooled.retrieve(question, index, { granularity: "document" });
  assert.is(documents.length, 3);
  assert.is(documents[0]!.id, hits[0]!.id);
  const where = { number: { lt: 3 } };
  const few = await pooled.retrieve(question, index, { where });
  assert.equal(few.map(({ id }) => id).sort(), ["0", "1", "2"]);
  const lexical = await openLexicalIndex(index);
  const hybrid = await pooled.retrieve(question, index, { hybrid: { lambda: 0.1, lexical } });
  assert.is(hybrid[0]!.id, "3"); // BM25 finds Rome
  const { passages: read } = await pooled.answer(question, index, { topK: 2 });
  assert.is(read.length, 2);
  const { score, tokens: matched } = await pooled.explain(question, hits[0]!, index);
  assert.equal([score, matched], [hits[0]!.score, []]);
  const directory = at("grown");
  await using _ = await pooled.index(passages.slice(0, 5), { directory });
  await using grown = await pooled.add(passages.slice(5), { directory });
  assert.equal(await pooled.retrieve(question, grown), hits);
});

test("a forecast counts one key for each passage or window, and the text that is cut", async () => {
  const directory = at("forecast");
  const forecast = await pooled.forecast(passages.slice(-1), { directory, maxPassageTokens: 64 });
  assert.equal([forecast.tokens, forecast.cut.passages], [1, 1]);
  const long = { ...passages[0]!, text: passages[9]!.text.repeat(3) };
  const inWindows = await pooled.forecast([long], { directory });
  assert.equal([inWindows.tokens > 1, inWindows.cut.passages], [true, 0]);
  await using index = await pooled.index([long], { directory });
  assert.is(index.tokenCount, inWindows.tokens);
});

test("the commands benchmark and index info take a pooled model", async () => {
  mkdirSync(at("data"));
  writeLines(at("data", "corpus.jsonl"), passages);
  const asked = TOWNS.map((town, i) => ({ id: `q${i}`, question: town, passage_id: `${i}` }));
  writeLines(at("data", "test.jsonl"), asked);
  const measured = await runCaptured(["benchmark", at("data"), "--model", at("pooled"), "--json"]);
  assert.is(measured.code, 0, measured.stderr);
  const vectors = await hitLists(pooled.retrieve(TOWNS, index));
  const ranks = vectors.map((hits, i) => 1 + hits.findIndex(({ id }) => id === `${i}`));
  const mrr = ranks.reduce((sum, rank) => sum + 1 / rank, 0) / ranks.length;
  assert.ok(measured.stdout.includes(`${mrr}`.slice(0, 8)), measured.stdout);
  const info = await runCaptured(["index", "info", "--index", at("index")]);
  assert.match(info.stdout, /^pooling +mean: one key for each passage$/m);
});

test("vectors select passages, and token keys rank them", async () => {
  await using ofTokens = await tokens.index(passages, { directory: at("second"), replace: true });
  const [question] = questions as [string, string];
  const selected = await pooled.retrieve(question, index, { topK: 4 });
  const filter = new Set(selected.map(({ id }) => id));
  const ranked = await tokens.retrieve(question, ofTokens, { topK: 4, filter });
  const all = await tokens.retrieve(question, ofTokens);
  assert.equal(
    ranked,
    all.filter(({ id }) => filter.has(id)),
  );
});

test("an index of another pooling is refused", async () => {
  const eos = await modelWith("eos", { retrieval_pooling: "eos" });
  await using other = await ReAtt.load(eos);
  await rejects(
    other.openIndex(at("index")),
    /index: expected an index with a key for each passage \(pooling eos\), got one with a key for each passage \(pooling mean\); use the model/,
  );
  await rejects(
    tokens.retrieve("Who?", index),
    /expected an index with a key for each token, got one with a key for each passage \(pooling mean\)/,
  );
  const dotted = await modelWith("dot", { retrieval_pooling: "mean" });
  await using same = await ReAtt.load(dotted);
  await rejects(
    same.openIndex(at("index")),
    /expected an index of the model [0-9a-f]{64}, got one/,
  );
});

test("wrong values are refused in one line", async () => {
  await rejects(
    ReAtt.load(await modelWith("wrong", { retrieval_pooling: "max" })),
    /config\.json: retrieval_pooling: .*eos.*mean.*max/,
  );
  await rejects(
    pooled.index(passages, { directory: at("pruned"), keepRatio: 0.5 }),
    /^keepRatio: expected 1 with a model that has one vector for a passage/,
  );
});

test.run();
