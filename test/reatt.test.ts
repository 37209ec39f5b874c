/** The public class with the embedded model. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  type AnswerOptions,
  compactIndex,
  deletePassages,
  type Hit,
  indexInfo,
  openLexicalIndex,
  type Passage,
  ReAtt,
  type ReadOptions,
  type Reply,
  type RetrieveOptions,
  verifyIndex,
} from "../src/index.ts";
import { rejects, temporary } from "./retrieval/support.ts";

const PASSAGES: Passage[] = [
  { id: "lion", title: "Lion", text: "The lion is a large cat that lives in Africa and in India." },
  { id: "bark", title: "Dog", text: "Dogs bark at night. They sleep by day." },
  { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
];
const ids = (hits: readonly Passage[]): string[] => hits.map(({ id }) => id);

test("an index is built with compression, searched with a filter, and changed", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const directory = join(folder.path, "index");
  const options = { directory, bits: 2 } as const;
  assert.is((await model.forecast(PASSAGES, options)).passages, 3);
  await using index = await model.index(PASSAGES, options);
  const question = "Where does the lion live?";
  const filter = new Set(["bark", "rhine"]);
  assert.equal(ids(await model.retrieve(question, index, { topK: 2, filter })).sort(), [
    "bark",
    "rhine",
  ]);
  const first = await model.retrieve([question], index, { filter: (ordinal) => ordinal === 0 });
  assert.equal(first.map(ids), [["lion"]]);

  await using larger = await model.add([{ id: "cat", title: "Cat", text: "Cats purr." }], {
    directory,
  });
  assert.equal([index.passageCount, larger.passageCount], [3, 4]);
  assert.is(await deletePassages(["lion"], { directory }), 1);
  await compactIndex({ directory });
  await using now = await model.openIndex(directory, { preset: "exact" });
  assert.equal(ids(await model.retrieve(question, now)).sort(), ["bark", "cat", "rhine"]);
  assert.equal(await verifyIndex(directory), []);
  assert.is((await indexInfo(directory)).generation, 4);
});

test("an index with token pruning records the ratio, and add prunes in the same way", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const directory = join(folder.path, "index");
  await using whole = await model.index(PASSAGES, { directory: join(folder.path, "whole") });
  for (const bits of [undefined, 2] as const) {
    const options = { directory, bits, keepRatio: 0.5 };
    const { tokens } = await model.forecast(PASSAGES, options);
    assert.ok(tokens < 0.6 * whole.tokenCount);
    await using index = await model.index(PASSAGES, options);
    assert.is(index.header.keepTokens, 0.5);
    assert.ok(Math.abs(index.tokenCount - whole.tokenCount / 2) <= 1.5, `${index.tokenCount}`);
    const question = "Where does the lion live?";
    const [all, some] = [
      await model.retrieve(question, whole),
      await model.retrieve(question, index),
    ];
    assert.is(some[0]!.id, "lion");
    assert.ok(bits || some[0]!.score <= all[0]!.score); // a maximum over fewer tokens
    await using larger = await model.add([PASSAGES[1]!], { directory });
    assert.is(larger.tokenCount, index.tokenCount);
  }
  await rejects(
    model.index(PASSAGES, { directory, keepRatio: 0.1 }),
    /^keepRatio: expected a number from 0.25 to 1/,
  );
});

test("a compressed shard and 3 bits are errors", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const directory = join(folder.path, "index");
  await rejects(
    model.index(PASSAGES, { directory, bits: 2, shard: { index: 0, count: 2 } }),
    /^shard: .*give the bits to the merge/,
  );
  await rejects(model.index(PASSAGES, { directory, bits: 3 as 2 }), /^bits: expected 1, 2, 4 or 8/);
});

/** A reply without the times, which differ from run to run. */
const content = <P extends Passage>({ times: _, ...reply }: Reply<P>) => reply;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Two articles of which one has two passages, so that documents and passages differ. */
const ARTICLES: Passage[] = [
  ...PASSAGES,
  { id: "lion2", title: "Lion", text: "A lion sleeps up to twenty hours. Lions live in prides." },
  { id: "cat", title: "Cat", text: "Cats purr. They live with people." },
];
const QUESTIONS = ["Where does the lion live?", "Where does the Rhine flow?", "What purrs?"];

test("answer equals retrieve followed by read, with the options of both", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  await using index = await model.index(ARTICLES, {
    directory: join(folder.path, "index"),
    maxPassageTokens: 16,
  });
  const hybrid = { lexical: await openLexicalIndex(index), lambda: 0.1 };
  const cases: [RetrieveOptions, ReadOptions][] = [
    [{}, {}],
    [{ topK: 2 }, {}],
    [{ hybrid, topK: 2 }, {}],
    [{ granularity: "document", topK: 3 }, {}],
    [{ filter: new Set(["bark", "rhine"]) }, {}],
    [{}, { beams: 3, maxAnswerTokens: 3, lengthPenalty: 0.5, earlyStopping: false }],
    [{}, { maxInputTokens: 12 }],
    [{}, { minimumConfidence: 1 }],
  ];
  for (const [retrieving, reading] of cases) {
    const found = await model.retrieve(QUESTIONS, index, { topK: 10, ...retrieving });
    const readOptions = { ...reading, maxPassageTokens: 16 };
    const read = (await all(model.read(QUESTIONS, found, readOptions))).map(content);
    const options = { ...retrieving, ...reading };
    const name = JSON.stringify(options);
    const answered = (await all(model.answer(QUESTIONS, index, options))).map(content);
    assert.equal(answered, read, name);
    const alone = await model.answer(QUESTIONS[0]!, index, options);
    assert.equal([ids(alone.passages), alone.answer], [ids(read[0]!.passages), read[0]!.answer]);
  }
});

test("answer honours each option", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  await using index = await model.index(ARTICLES, { directory: join(folder.path, "index") });
  const [question] = QUESTIONS as [string];
  const answer = (options: AnswerOptions) => model.answer(question, index, options);
  const plain = await answer({});

  assert.is(plain.passages.length, ARTICLES.length);
  assert.equal(ids((await answer({ topK: 1 })).passages), ["lion"]);
  const filter = new Set(["bark", "rhine"]);
  assert.equal(ids((await answer({ filter })).passages).sort(), ["bark", "rhine"]);
  const documents = await answer({ granularity: "document" });
  assert.equal(documents.passages.map(({ title }) => title).sort(), [
    "Cat",
    "Dog",
    "Lion",
    "Rhine",
  ]);
  const hybrid = { lexical: await openLexicalIndex(index), lambda: 0 };
  const [lexicalFirst] = (await model.answer("purr", index, { hybrid, topK: 1 })).passages;
  assert.is(lexicalFirst!.id, "cat");

  assert.ok((await answer({ maxAnswerTokens: 1 })).tokenIds.length === 1);
  assert.equal(
    [plain.abstained, (await answer({ minimumConfidence: 1 })).abstained],
    [false, true],
  );
  assert.ok((await answer({ maxInputTokens: 12 })).confidence !== plain.confidence);
  let text = "";
  const reply = await answer({ beams: 2, onText: (piece) => (text += piece) });
  assert.is(text, reply.answer);
  await rejects(
    answer({ filter: new Set(["nowhere"]) }),
    /expected at least one passage, got none/,
  );
  const signal = AbortSignal.abort(new Error("stopped"));
  await rejects(answer({ signal }), /stopped/);
});

test("read takes passages of the caller and keeps their properties", async () => {
  await using model = await ReAtt.load("models/reatt-mini");
  const [question] = QUESTIONS as [string];
  const own = PASSAGES.map((passage, i) => ({ ...passage, source: `book ${i}` }));
  const reply = await model.read(question, own);
  assert.equal(
    reply.passages.map(({ id, source }) => [id, source]),
    [
      ["lion", "book 0"],
      ["bark", "book 1"],
      ["rhine", "book 2"],
    ],
  );
  assert.ok(Math.abs(reply.passages.reduce((sum, { attention }) => sum + attention, 0) - 1) < 1e-5);
  assert.is(reply.times.retrieve < reply.times.read, true);

  const scored: Hit[] = [{ ...PASSAGES[0]!, score: 7 }];
  assert.is((await model.read(question, scored)).passages[0]!.score, 7);

  // 20 questions: more than one batch
  const many = Array.from({ length: 20 }, (_, i) => QUESTIONS[i % 3]!);
  const streamed = new Map<number, string>();
  const onText = (text: string, i: number) => streamed.set(i, (streamed.get(i) ?? "") + text);
  const lists = many.map((_, i) => PASSAGES.slice(i % 2));
  const replies = await all(model.read(many, lists, { onText }));
  assert.equal(
    replies.map(({ passages }) => ids(passages)),
    lists.map(ids),
  );
  assert.equal(
    replies.map(({ answer }) => answer),
    many.map((_, i) => streamed.get(i) ?? ""),
  );
  assert.throws(() => model.read(many, [PASSAGES]), /^passages: expected one list for each of 20/);
  await rejects(model.read(question, []), /expected at least one passage, got none/);
});

test("answer tokenizes a question once", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  await using index = await model.index(PASSAGES, { directory: join(folder.path, "index") });
  const { encode } = model.tokenizer;
  const encoded: string[] = [];
  Object.assign(model.tokenizer, {
    encode(text: string) {
      encoded.push(text);
      return encode(text);
    },
  });
  await model.answer(QUESTIONS[0]!, index);
  assert.is(encoded.filter((text) => text === `question: ${QUESTIONS[0]}`).length, 1);
});

test.run();
