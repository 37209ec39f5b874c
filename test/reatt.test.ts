/** The public class with the embedded model. */

import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { storeCalibration } from "../src/evaluation/index.ts";
import {
  type AnswerOptions,
  compactIndex,
  convertModel,
  deletePassages,
  type Hit,
  indexInfo,
  openLexicalIndex,
  type Passage,
  ReAtt,
  type ReadOptions,
  type ReadPassage,
  type Reply,
  type RetrieveOptions,
  type TokenIndex,
  verifyIndex,
} from "../src/index.ts";
import { readConfig, writeConfig } from "../src/model/config-file.ts";
import { hitLists } from "../src/reatt/retrieving.ts";
import { rejects, temporary } from "./retrieval/support.ts";
import { calibrationOf } from "./support/calibration.ts";
import { copyModel } from "./support/model-copy.ts";
import { writeTinyModel } from "./support/training.ts";

const PASSAGES: Passage[] = [
  { id: "lion", title: "Lion", text: "The lion is a large cat that lives in Africa and in India." },
  { id: "bark", title: "Dog", text: "Dogs bark at night. They sleep by day." },
  { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
];
/** As the tokens of the embedded model are. */
const withoutCase = (text: string): string => text.toLowerCase();
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
  const first = await hitLists(
    model.retrieve([question], index, { filter: (ordinal) => ordinal === 0 }),
  );
  assert.equal(first.map(ids), [["lion"]]);

  await using larger = await model.add([{ id: "cat", title: "Cat", text: "Cats purr." }], {
    directory,
  });
  assert.equal([index.passageCount, larger.passageCount], [3, 4]);
  assert.is(await deletePassages(["lion"], { directory }), 1);
  await compactIndex(directory);
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
    const options = { directory, bits, keepRatio: 0.5, replace: true };
    const { tokens } = await model.forecast(PASSAGES, options);
    assert.ok(tokens < 0.6 * whole.tokenCount);
    await using index = await model.index(PASSAGES, options);
    assert.is(index.header.keepTokens, 0.5);
    // one threshold for all passages: short ones repeat little, and keep more
    assert.ok(index.tokenCount < whole.tokenCount, `${index.tokenCount}`);
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

test("an index is replaced only on request", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const directory = join(folder.path, "index");
  await (await model.index(PASSAGES, { directory })).close();
  const refusal = /index: expected a folder without an index, got an index; open it, add to it/;
  await rejects(model.index(PASSAGES.slice(1), { directory }), refusal);
  await rejects(model.forecast(PASSAGES, { directory }), refusal);
  assert.is((await indexInfo(directory)).passages, 3);
  await using replaced = await model.index(PASSAGES.slice(1), { directory, replace: true });
  assert.is(replaced.passageCount, 2);
});

test("passages need no title, and hits have document and metadata", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const metadata = { year: 2020, tags: ["a", "b"], draft: false };
  const passages = [
    { id: "1", text: "Dogs bark at night.", document: "dogs", metadata },
    { id: "2", title: "Dog", text: "Dogs bark loudly.", document: "dogs" },
    { id: "3", text: "Cats purr.", metadata: { year: 2021 } },
  ];
  await using index = await model.index(passages, { directory: join(folder.path, "index") });
  const question = "When do dogs bark?";
  const all = await model.retrieve(question, index);
  const byId = new Map(all.map(({ score: _, ...passage }) => [passage.id, passage]));
  for (const passage of passages)
    assert.equal(byId.get(passage.id), { title: "", ...passage } as Passage);
  const documents = await model.retrieve(question, index, { granularity: "document" });
  assert.equal(ids(documents).sort(), [ids(all)[0], "3"].sort());
  for (const hybrid of [false, true]) {
    const where = { year: { gte: 2020 }, not: { tags: "a" } };
    assert.equal(ids(await model.retrieve(question, index, { where, hybrid })), ["3"]);
    const reply = await model.answer(question, index, { where: { draft: false }, hybrid });
    assert.equal(ids(reply.passages), ["1"]);
    assert.equal(reply.passages[0]!.metadata, metadata);
  }
  assert.equal(await model.retrieve(question, index, { where: { year: 1 } }), []);
  const titled = await model.read(question, [{ id: "1", title: "", text: "Dogs bark at night." }]);
  const untitled = await model.read(question, [{ id: "1", text: "Dogs bark at night." }]);
  assert.equal(untitled.tokenIds, titled.tokenIds);
});

test("the mean of an explanation is the retrieval score of the hit, and its tokens are in the texts", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const question = "Where does the lion live?";
  for (const options of [{ bits: 32 }, { bits: 2 }, { keepRatio: 0.5 }] as const) {
    const directory = join(folder.path, JSON.stringify(options).replace(/\W/g, ""));
    await using index = await model.index(PASSAGES, { directory, ...options });
    for (const hit of await model.retrieve(question, index, { explain: true })) {
      const { score, tokens } = await model.explain(question, hit, index);
      assert.ok(Math.abs(score - hit.scores!.similarity) <= 1e-12 * Math.abs(score));
      assert.is(score, tokens.reduce((sum, token) => sum + token.score, 0) / tokens.length);
      for (const { token, span, match } of tokens) {
        if (span) assert.is(withoutCase(question.slice(span.start, span.end)), token);
        if (match.field)
          assert.is(
            withoutCase(hit[match.field].slice(match.span!.start, match.span!.end)),
            match.token,
          );
      }
      assert.is(tokens.map(({ token }) => token).join(""), "question:wheredoesthelionlive?</s>");
    }
    await rejects(
      model.explain(question, { id: "none" }, index),
      /^hit: expected a passage of .*'none'/,
    );
  }
});

test("a model answers from a refreshed index", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const directory = join(folder.path, "index");
  await using index = await model.index(PASSAGES.slice(1), { directory });
  const question = "Where does the lion live?";
  const found = async () => ids((await model.answer(question, index, { topK: 3 })).passages);
  assert.not((await found()).includes("lion")); // hybrid search has its BM25 now
  await (await model.add(PASSAGES.slice(0, 1), { directory })).close();
  assert.is(await index.refresh(), true);
  assert.is((await found())[0], "lion");
});

test("a compressed shard and 3 bits are errors", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const directory = join(folder.path, "index");
  await rejects(
    model.index(PASSAGES, { directory, bits: 2, shard: { index: 0, count: 2 } }),
    /^shard: .*give the bits to the merge/,
  );
  await rejects(
    model.index(PASSAGES, { directory, bits: 3 as 2 }),
    /^bits: expected 1, 2, 4, 8 or 32/,
  );
});

/** A reply without the times, which differ from run to run. */
const content = <P extends Passage>({ times: _, ...reply }: Reply<P>) => reply;

/** Without what only a search knows: how the passages match the question, and what none has. */
const readContent = <P extends Passage>(reply: Reply<P>) => {
  const { signals, unknown: _, ...others } = content(reply);
  const unmatched = { similarity: undefined, lead: undefined, unknown: undefined };
  const evidence = others.evidence.map(({ signals: _, ...block }) => block);
  return { ...others, evidence, signals: signals && { ...signals, ...unmatched } };
};

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
  const copy = join(folder.path, "model");
  await cp("models/reatt-mini", copy, { recursive: true });
  // read has no scores, and no next passage
  const config = await readConfig(copy);
  const scored = {
    relevanceWeight: undefined,
    calibration: undefined,
    blockCalibration: undefined,
  };
  await writeConfig(copy, { ...config, ...scored, readTopK: 1 });
  await using model = await ReAtt.load(copy);
  await using index = await model.index(ARTICLES, {
    directory: join(folder.path, "index"),
    maxPassageTokens: 16,
  });
  const hybrid = { lexical: await openLexicalIndex(index), lambda: 0.1 };
  const cases: [RetrieveOptions, ReadOptions][] = [
    [{}, {}],
    [{ topK: 2 }, {}],
    [{ hybrid, topK: 2 }, {}],
    [{ hybrid: false, topK: 2 }, {}],
    [{ granularity: "document", topK: 3 }, {}],
    [{ filter: new Set(["bark", "rhine"]), topK: 10 }, {}],
    [{ topK: 10 }, { maxAnswerTokens: 3, extractive: false }],
    [{}, { maxInputTokens: 12 }],
    [{}, { minimumConfidence: 1 }],
    [{ topK: 2 }, { reader: "marginal", maxInputTokens: 14 }],
  ];
  for (const [retrieving, reading] of cases) {
    const { topK = 1 } = retrieving; // what the model reads by default
    const found = await hitLists(model.retrieve(QUESTIONS, index, { ...retrieving, topK }));
    const readOptions = { ...reading, maxPassageTokens: 16 };
    const read = (await all(model.read(QUESTIONS, found, readOptions))).map(readContent);
    const options = { ...retrieving, ...reading, topK, readTopK: retrieving.topK };
    const name = JSON.stringify(options);
    const answered = (await all(model.answer(QUESTIONS, index, options))).map(readContent);
    assert.equal(answered, read, name);
    const alone = await model.answer(QUESTIONS[0]!, index, options);
    assert.equal([ids(alone.passages), alone.answer], [ids(read[0]!.passages), read[0]!.answer]);
  }
});

test("hybrid search takes the stored weights by default", async () => {
  await using folder = await temporary();
  const { copy, configure } = await copyModel(folder.path);
  const directory = join(folder.path, "index");
  const weights = { lambda: 0.001, k1: 0.5, b: 0.2 }; // nearly BM25
  const question = "purr Rhine lion";
  const scores = (hits: readonly Hit[]) => hits.map(({ id, score }) => [id, score]);

  await configure({ hybrid: weights });
  await using model = await ReAtt.load(copy);
  await using index = await model.index(ARTICLES, { directory });
  assert.equal(model.config.hybrid, weights);
  const retrieved = (hybrid?: RetrieveOptions["hybrid"]) =>
    model.retrieve(question, index, { topK: 5, hybrid }).then(scores);
  const answered = async (hybrid?: AnswerOptions["hybrid"]) =>
    scores((await model.answer(question, index, { topK: 5, hybrid })).passages);
  const [alone, both] = [await retrieved(false), await retrieved(weights)];
  assert.is.not(both[0]![1], alone[0]![1]);
  assert.equal([await retrieved(), await retrieved(true)], [both, both]);
  assert.equal([await answered(), await answered(true)], [both, both]);
  assert.equal(await answered(false), alone);
  const other = { lambda: 3 };
  assert.equal(await answered(other), await retrieved(other));
  assert.is.not((await answered(other))[0]![1], both[0]![1]);

  await configure({ hybrid: undefined });
  await using plain = await ReAtt.load(copy);
  assert.is(plain.fingerprint, model.fingerprint);
  assert.equal(scores((await plain.answer(question, index, { topK: 5 })).passages), alone);
  const message =
    /model: hybrid search: expected weights in config.json .*, got none; .*reatt adapt .*--tune/;
  await rejects(plain.retrieve(question, index, { hybrid: true }), message);
  await rejects(plain.answer(question, index, { hybrid: true }), message);
});

test("confidence is that of the stored calibration, and its threshold is the default", async () => {
  await using folder = await temporary();
  const copy = join(folder.path, "model");
  const weights = { likelihood: 0.3, margin: 2, attention: 1, length: -0.7, quoted: 0.4 };
  const calibration = calibrationOf(-0.5, weights, 0.999);
  const stored = await readConfig("models/reatt-mini");
  const blockCalibration = { ...stored.blockCalibration!, threshold: 1 };
  await storeCalibration("models/reatt-mini", { calibration, blockCalibration }, copy);
  await using model = await ReAtt.load(copy);
  const uncalibrated = await copyModel(join(folder.path, "uncalibrated"));
  const none = { calibration: undefined, scoreCalibration: undefined, blockCalibration: undefined };
  await uncalibrated.configure(none);
  await using plain = await ReAtt.load(uncalibrated.copy);
  assert.is(model.fingerprint, plain.fingerprint);
  const [question] = QUESTIONS as [string];

  const expected = await plain.read(question, ARTICLES);
  const { signals } = expected;
  assert.is(expected.confidence, Math.exp(signals!.likelihood));
  assert.is(signals!.length, Math.log(expected.tokenIds.length));
  const quoting = expected.passages.filter(({ span }) => span);
  assert.is(signals!.quoted, quoting.length > 0 ? 1 : 0);
  const attention = quoting.reduce((sum, passage) => sum + passage.attention, 0);
  assert.ok(Math.abs(signals!.attention - attention) < 1e-12);
  assert.ok(signals!.margin > -1 && signals!.margin < 1);

  const reply = await model.read(question, ARTICLES, { minimumConfidence: 0 });
  assert.equal([reply.answer, reply.abstained], [expected.answer, false]);
  const { similarity, lead, ...others } = reply.signals!;
  assert.equal(
    { ...others, similarity: undefined, lead: undefined },
    {
      ...signals,
      similarity: undefined,
      lead: undefined,
    },
  );
  const scores = (await plain.rerank(question, ARTICLES)).map(({ score }) => score);
  assert.equal([similarity, lead], [scores[0], scores[0]! - scores[1]!]);
  const { likelihood, margin, length, quoted } = signals!;
  const sum = -0.5 + 0.3 * likelihood + 2 * margin + attention - 0.7 * length + 0.4 * quoted;
  assert.ok(Math.abs(reply.confidence - 1 / (1 + Math.exp(-sum))) < 1e-9);

  const silent = await model.read(question, ARTICLES);
  assert.equal([silent.answer, silent.abstained], ["", true]);
  assert.ok(silent.passages.every(({ span }) => span === undefined));
  assert.is(silent.confidence, reply.confidence);
  await rejects(
    storeCalibration("models/reatt-mini", { calibration }, copy),
    /model: expected a folder without a model, got config\.json/,
  );
  await storeCalibration(copy, { calibration: calibrationOf(0, weights) }); // in place
  await using changed = await ReAtt.load(copy);
  assert.equal(changed.config.calibration, calibrationOf(0, weights));
});

test("answer reads as many passages as the model stores, else ten, or readTopK", async () => {
  await using folder = await temporary();
  const { copy, configure } = await copyModel(folder.path);
  const many = Array.from({ length: 12 }, (_, i) => ({ ...PASSAGES[i % 3]!, id: `p${i}` }));
  const question = "Where does the lion live?";
  for (const [stored, expected] of [
    [2, 2],
    [undefined, 10],
  ] as const) {
    await configure({ readTopK: stored });
    await using model = await ReAtt.load(copy);
    await using index = await model.index(many, { directory: join(folder.path, `${expected}`) });
    const count = async (options?: AnswerOptions) =>
      (await model.answer(question, index, { ...options, distinct: false })).passages.filter(isRead)
        .length;
    assert.equal([await count(), await count({ readTopK: 3 })], [expected, 3]);
  }
});

const isRead = ({ attention }: ReadPassage<Hit>): boolean => attention > 0;

test("answer returns the best passages with their scores, and reads the first of them", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  await using index = await model.index(ARTICLES, { directory: join(folder.path, "index") });
  const [question] = QUESTIONS as [string];
  const scored = (hits: readonly Hit[]) => hits.map(({ id, score, scores }) => [id, score, scores]);
  const shared = { explain: true, minimumConfidence: 0 };
  for (const reader of ["fusion", "marginal"] as const)
    for (const readTopK of [1, 3, 9]) {
      const reply = (topK?: number) =>
        model.answer(question, index, { ...shared, reader, readTopK, topK });
      const whole = await reply();
      const shown = Math.min(ARTICLES.length, Math.max(5, readTopK));
      assert.is(whole.passages.length, shown);
      assert.is(whole.passages.findLastIndex(isRead), Math.min(readTopK, shown) - 1);
      for (const topK of [1, 2, 5, 9]) {
        const { passages, times: _, ...answered } = await reply(topK);
        const { passages: __, times: ___, ...expected } = whole;
        assert.equal(answered, expected);
        const found = await model.retrieve(question, index, { explain: true, topK });
        assert.equal(scored(passages), scored(found), `${readTopK} of ${topK}`);
      }
    }
  const replies = await all(model.answer(["Who?", question], index, { topK: 2, readTopK: 1 }));
  assert.equal(
    replies.map(({ passages }) => passages.length),
    [2, 2],
  );
});

test("what is returned but not read costs its text alone", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const options = { directory: join(folder.path, "index"), keepStates: true };
  await using index = await model.index(ARTICLES, options);
  const asked: Record<string, number[]> = { states: [], scores: [] };
  const counted = Object.create(index) as TokenIndex;
  counted.snapshot = (work) =>
    index.snapshot((generation) =>
      work(
        new Proxy(generation, {
          get(target, name) {
            const value = Reflect.get(target, name, target);
            if (typeof value !== "function") return value;
            return (...given: unknown[]) => {
              asked[String(name)]?.push((given.at(-1) as Uint32Array).length);
              return value.apply(target, given);
            };
          },
        }),
      ),
    );
  const answer = { hybrid: false, readTopK: 1, topK: 5 } as const;
  const { passages } = await model.answer(QUESTIONS[0]!, counted, answer);
  // The score of one more says how far the best passage leads.
  assert.equal([passages.length, asked.states, asked.scores], [5, [1], [2]]);
});

test("a model can say that its answers are spans of a passage", async () => {
  await using folder = await temporary();
  const config = await writeTinyModel(folder.path);
  const passages = [{ id: "1", text: "Lions live in Africa." }];
  const reply = async (extractive?: boolean) => {
    await using model = await ReAtt.load(folder.path);
    return (await model.read("Where?", passages, { extractive, maxAnswerTokens: 4 })).answer;
  };
  const [free, spans] = [await reply(false), await reply(true)];
  assert.is.not(free, spans);
  assert.is(await reply(), free);
  await writeConfig(folder.path, { ...config, extractive: true });
  assert.equal([await reply(), await reply(false), await reply(true)], [spans, free, spans]);
});

test("answer favours passages by their retrieval scores, as the model says", async () => {
  await using folder = await temporary();
  const { copy, configure } = await copyModel(folder.path);
  const directory = join(folder.path, "index");
  const replies = async (relevanceWeight: number | undefined, options: AnswerOptions) => {
    await configure({ relevanceWeight });
    await using model = await ReAtt.load(copy);
    await using index = await model.index(ARTICLES, { directory, replace: true });
    return await all(model.answer(QUESTIONS, index, { minimumConfidence: 0, ...options }));
  };
  const shares = (found: readonly Reply<Hit>[]) =>
    found.map(({ passages }) => passages.map(({ attention }) => attention));
  for (const hybrid of [false, { lambda: 12, k1: 0.9, b: 0.4 }]) {
    const equal = await replies(undefined, { hybrid, readTopK: 3 });
    const some = await replies(1, { hybrid, readTopK: 3 });
    const most = await replies(1000, { hybrid, readTopK: 3 }); // the others are at the least term
    for (const [i, [first]] of shares(most).entries()) {
      assert.ok(first! >= shares(some)[i]![0]!);
      assert.ok(shares(some)[i]![0]! > shares(equal)[i]![0]!);
    }
  }
  const lexical = { hybrid: { lambda: 0, k1: 0.9, b: 0.4 }, readTopK: 3 };
  assert.equal(shares(await replies(1, lexical)), shares(await replies(undefined, lexical)));
});

test("answer honours each option", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  await using index = await model.index(ARTICLES, { directory: join(folder.path, "index") });
  const [question] = QUESTIONS as [string];
  const answer = (options: AnswerOptions) =>
    model.answer(question, index, { readTopK: 10, ...options });
  const plain = await answer({});

  assert.is(plain.passages.length, ARTICLES.length);
  assert.equal(ids((await answer({ topK: 1 })).passages), ids(plain.passages).slice(0, 1));
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
  const reply = await answer({ onText: (piece) => (text += piece) });
  assert.is(text, reply.answer);
  assert.is((await answer({ filter: new Set(["nowhere"]) })).abstained, true);
  const signal = AbortSignal.abort(new Error("stopped"));
  await rejects(answer({ signal }), /stopped/);
});

test("an abstention has no text, also where blocks alone have a threshold", async () => {
  await using folder = await temporary();
  const { copy, configure } = await copyModel(folder.path);
  const { blockCalibration } = await readConfig(copy);
  await configure({
    calibration: undefined,
    blockCalibration: { ...blockCalibration!, threshold: 1 },
  });
  await using model = await ReAtt.load(copy);
  let text = "";
  const onText = (piece: string) => (text += piece);
  const reply = await model.read(QUESTIONS[0]!, PASSAGES, { onText });
  assert.equal([reply.abstained, reply.answer, reply.evidence, text], [true, "", [], ""]);
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
    replies.map(({ answer }) => withoutCase(answer)),
    many.map((_, i) => withoutCase(streamed.get(i) ?? "")), // a first "the" can become "The"
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

test("weights of the reader that changed since the load are an error of one line", async () => {
  await using folder = await temporary();
  const copy = join(folder.path, "model");
  // These are not mapped: a mapped file that becomes shorter ends the process.
  await convertModel("models/reatt-mini", { out: copy, precision: "fp16" });
  const file = join(copy, "model.safetensors");
  const weights = await readFile(file);
  const lion = PASSAGES.slice(0, 1);
  for (const changed of [weights.subarray(0, 1000), Buffer.from(weights).fill(0, 10 ** 6)]) {
    await writeFile(file, weights);
    await using model = await ReAtt.load(copy);
    await writeFile(file, changed);
    await rejects(
      model.read("Where does the lion live?", lion),
      /model\.safetensors: expected the file of which a part was loaded, got another one; load it/,
    );
    assert.is((await model.rerank("Where does the lion live?", lion)).length, 1);
  }
  await writeFile(file, weights.subarray(0, 10 ** 6));
  await rejects(ReAtt.load(copy), /model\.safetensors: expected \d+ bytes of data, got \d+; /);
});

test.run();
