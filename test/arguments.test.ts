/** Mistakes in the arguments of the public functions: each is an `InputError` of one line. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  compactIndex,
  convertModel,
  deletePassages,
  InputError,
  indexInfo,
  mergeShards,
  openLexicalIndex,
  type Passage,
  parseWhere,
  ReAtt,
  readDocuments,
  readQuestions,
  type TokenIndex,
  verifyIndex,
} from "../src/index.ts";
import { hitLists } from "../src/reatt/retrieving.ts";
import { readTrainingFile } from "../src/training/examples/training-questions.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-arguments-"));
test.after(() => rmSync(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);

const LION = { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." };
const model = await ReAtt.load("models/reatt-mini", { threads: 1 });
const index = await model.index([LION], { directory: at("index") });
test.after(async () => {
  await index.close();
  await model.close();
});

/** Any value where the types of the library ask for another: a caller in JavaScript. */
// biome-ignore lint/suspicious/noExplicitAny: the tests give wrong types on purpose
const any = (value: unknown): any => value;

/** The message of the `InputError` that a call throws or rejects with. */
async function mistake(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    assert.instance(error, InputError, String(error));
    const { message } = error as InputError;
    assert.match(message, /^[^\n]+: expected [^\n]+, got [^\n]+; [^\n]+$/);
    return message;
  }
  throw new Error("the call did not fail");
}

test("a passage is wrong: the message names the passage, the field and the remedy", async () => {
  const target = () => ({ directory: at("never") });
  for (const [bad, message] of [
    [
      { id: "2", title: "", content: "x" },
      `passage 2 (id '2'): expected "text" to be text, got the fields id, title, content; ` +
        `rename "content" to "text"`,
    ],
    [
      { id: "2", title: "", text: null },
      `passage 2 (id '2'): expected "text" to be text, got null; ` +
        "correct the field or leave the passage out",
    ],
    [
      { id: "2", title: null, text: "x" },
      `passage 2 (id '2'): expected "title" to be text, or "" for a passage without a title, ` +
        "got null; correct the field or leave the passage out",
    ],
    [
      { id: "2", text: "x", document: 5 },
      `passage 2 (id '2'): expected "document" to be text, got 5; convert it with String(...)`,
    ],
    [
      { id: "2", text: "x", metadata: { year: null } },
      `passage 2 (id '2'): expected "metadata.year" to be text, a finite number, true, false or ` +
        "a list of these, got null; correct the field or leave the passage out",
    ],
    [
      { id: "2", text: "x", metadata: ["a"] },
      `passage 2 (id '2'): expected "metadata" to be an object of named values, got [ 'a' ]; ` +
        "correct the field or leave the passage out",
    ],
    [
      { id: "", title: "", text: "x" },
      `passage 2: expected "id" to be text that is not empty, got ''; ` +
        "correct the field or leave the passage out",
    ],
    [
      { id: 2, title: "", text: "x" },
      `passage 2: expected "id" to be text, got 2; convert it with String(...)`,
    ],
    [
      { _id: "2", title: "", text: "x" },
      `passage 2: expected "id" to be text, got the fields _id, title, text; rename "_id" to "id"`,
    ],
    [
      "x",
      "passage 2: expected an object with id, title and text, got 'x'; " +
        "write { id, title, text }, or readPassages(FILE)",
    ],
  ] as const) {
    const passages = [LION, bad] as unknown as Passage[];
    assert.is(await mistake(() => model.index(passages, target())), message);
    assert.is(await mistake(() => model.forecast(passages, target())), message);
    const adding = mistake(() => model.add(passages, { directory: at("index") }));
    assert.is(await adding, message);
    const reading = await mistake(() => model.read("Where?", passages));
    assert.is(reading, message.replace("passage 2", "passages[1]"));
  }
  assert.is((await indexInfo(at("index"))).passages, 1);
});

test("passages that are not a list or a generator", async () => {
  for (const [bad, got] of [
    ["corpus.jsonl", "'corpus.jsonl'"],
    [undefined, "nothing"],
    [LION, "{ id: 'lion', "],
  ] as const) {
    const passages = any(bad);
    const directory = at("never");
    for (const call of [
      () => model.index(passages, { directory }),
      () => model.forecast(passages, { directory }),
      () => model.add(passages, { directory: at("index") }),
    ]) {
      const message = await mistake(call);
      assert.ok(
        message.startsWith(`passages: expected a list or a generator of passages, got ${got}`),
      );
      assert.match(message, /; give readPassages\(FILE\) or another iterable$/);
    }
    assert.match(await mistake(() => model.read("Where?", passages)), /^passages: expected a list/);
  }
  assert.match(
    await mistake(() => model.read(["Where?"], any([LION]))),
    /^passages\[0\]: expected a list of passages, got \{ id: 'lion'/,
  );
  const untouched = await mistake(() => model.read(["Where?"], any("x")));
  assert.match(untouched, /^passages: expected one list for each of 1 questions, got 'x'/);
});

test("an index that is a path, a promise, of another model, or nothing", async () => {
  for (const [bad, message] of [
    ["index", /got 'index'; open it: await model\.openIndex\(FOLDER\)$/],
    [Promise.resolve(index), /got Promise .*; write await before the call$/],
    [undefined, /got nothing; open it/],
    [null, /got null; open it/],
  ] as const)
    for (const call of [
      () => model.retrieve("Where?", any(bad)),
      () => model.answer("Where?", any(bad)),
      () => model.answer(["Where?"], any(bad)),
    ]) {
      const thrown = await mistake(call);
      assert.match(thrown, /^index: expected an open index, /);
      assert.match(thrown, message);
    }
  const other = any({ ...index, header: { ...index.header, fingerprint: "other" } });
  for (const call of [
    () => model.retrieve("Where?", other),
    () => model.answer("Where?", other),
    () => model.answer(["Where?"], other),
  ])
    assert.match(
      await mistake(call),
      /expected an index of the model [0-9a-f]{64}, got one of the/,
    );
  assert.match(await mistake(() => openLexicalIndex(any("index"))), /^index: expected an open/);
});

test("unknown options: a similar name is suggested", async () => {
  for (const [call, message] of [
    [
      () => model.retrieve("Where?", index, any({ top_k: 5 })),
      /got "top_k"; did you mean "topK"\?$/,
    ],
    [() => model.answer("Where?", index, any({ TopK: 5 })), /got "TopK"; did you mean "topK"\?$/],
    [
      () => model.answer(["Where?"], index, any({ maxAnswerToken: 5 })),
      /did you mean "maxAnswerTokens"\?$/,
    ],
    [() => model.answer("Where?", index, any({ maxPassageTokens: 5 })), /"maxPassageTokens"; /],
    [
      () => model.retrieve("Where?", index, any({ extractive: true })),
      /got "extractive"; correct the name or/,
    ],
    [() => model.read("Where?", [LION], any({ topK: 5 })), /got "topK"; /],
    [() => ReAtt.load("models/reatt-mini", any({ device: "cpu" })), /got "device"; correct/],
    [() => ReAtt.load("models/reatt-mini", any({ thread: 1 })), /did you mean "threads"\?$/],
    [() => model.index([LION], any({ directory: at("never"), bit: 2 })), /mean "bits"\?$/],
    [() => model.index([LION], any({ dir: at("never") })), /got "dir"; /],
    [() => model.add([LION], any({ directory: at("index"), bits: 2 })), /got "bits"; /],
    [() => model.openIndex(at("index"), any({ memory_limit: 2 })), /mean "memoryLimit"\?$/],
    [() => model.openIndex(at("index"), any({ fingerprint: "x" })), /got "fingerprint"; /],
    [() => model.encodeQuestions(["Where?"], any({ topK: 1 })), /expected names among signal/],
    [() => deletePassages(["x"], any({ directory: at("index"), id: 1 })), /got "id"; /],
    [() => compactIndex(at("index"), any({ dir: 1 })), /got "dir"; /],
    [() => mergeShards(["a"], any({ directory: at("never"), keepRatio: 1 })), /got "keepRatio"; /],
    [() => verifyIndex(at("index"), any({ repair: true })), /got "repair"; /],
    [() => openLexicalIndex(index, any({ K1: 2 })), /got "K1"; did you mean "k1"\?$/],
  ] as const) {
    const thrown = await mistake(call);
    assert.match(thrown, /^options: expected names among /);
    assert.match(thrown, message);
  }
  assert.match(
    await mistake(() => model.retrieve("Where?", index, any({ hybrid: { lamda: 1 } }))),
    /^hybrid: expected names among lambda, k1, b, lexical, got "lamda"; did you mean "lambda"\?$/,
  );
  for (const bad of [null, 5, "topK", [], () => {}])
    assert.match(
      await mistake(() => model.retrieve("Where?", index, any(bad))),
      /^options: expected an object, got .*; write \{ topK: \.\.\. \}$/,
    );
});

test("options that would have no effect", async () => {
  assert.match(
    await mistake(() => model.openIndex(at("index"), { preset: "fast", engine: "faiss" })),
    /^preset: expected no preset with another engine than onnxruntime, got 'fast'/,
  );
});

test("values out of range and of another type", async () => {
  const filterError =
    "a Set of ids or a function of the ordinal (conditions on metadata go in where)";
  const cases: readonly [name: string, values: readonly unknown[], expected: string][] = [
    ["topK", [0, 1.5, "5", null, Number.NaN], "a whole number from 1 on"],
    ["maxAnswerTokens", [0, 1.5, "5"], "a whole number from 1 on"],
    ["maxInputTokens", [3, 4.5, "5"], "a whole number from 4 on"],
    ["minimumConfidence", [80, -1, "0.5"], "a number from 0 to 1"],
    ["extractive", ["yes", 1], "true or false"],
    ["granularity", ["token", 1], "passage, document"],
    ["filter", [["lion"], "lion", new Set([1]), new Map([["a", 1]])], filterError],
    ["hybrid", [1, "yes"], "true, false or an object with lambda"],
    ["hybrid.lambda", [-1, "1"], "a number from 0 on"],
    ["onText", ["log"], "a function"],
    ["signal", [new AbortController(), true], "an AbortSignal"],
  ];
  for (const [name, values, expected] of cases)
    for (const value of values) {
      const [outer, inner] = name.split(".") as [string, string?];
      const options = any({ [outer]: inner ? { [inner]: value } : value });
      for (const question of ["Where?", ["Where?"]]) {
        const message = await mistake(() => model.answer(any(question), index, options));
        assert.ok(message.startsWith(`${name}: expected ${expected}, got `), message);
      }
    }
  const written = await mistake(() => model.retrieve("Where?", index, any({ topK: "5" })));
  assert.is(written, "topK: expected a whole number from 1 on, got '5'; give another value");
});

test("values out of range when an index is built and opened, and when a model is loaded", async () => {
  const directory = at("never");
  for (const [call, message] of [
    [
      () => model.index([LION], any({})),
      /^directory: expected a path as text, got nothing; add it/,
    ],
    [() => model.index([LION], any(undefined)), /^directory: expected a path as text, got nothing/],
    [() => model.index([LION], any("here")), /^options: expected an object, got 'here'/],
    [() => model.index([LION], { directory: "" }), /^directory: expected a path that is not empty/],
    [
      () => model.index([LION], { directory: "a\0b" }),
      /^directory: expected a path without a zero/,
    ],
    [
      () => model.index([LION], any({ directory, bits: 3 })),
      /^bits: expected 1, 2, 4, 8 or 32, got 3/,
    ],
    [() => model.index([LION], { directory, keepRatio: 0 }), /^keepRatio: expected a number from/],
    [
      () => model.index([LION], { directory, shard: { index: 2, count: 2 } }),
      /^shard: expected \{ index, count \} with an index from 0, below count/,
    ],
    [() => model.index([LION], { directory, maxPassageTokens: 1 }), /^maxPassageTokens: expected /],
    [() => model.index([LION], any({ directory, onProgress: 1 })), /^onProgress: expected a func/],
    [() => model.openIndex(any(undefined)), /^directory: expected a path as text, got nothing/],
    [() => model.openIndex(directory, any({ preset: "best" })), /^preset: expected fast, balanced/],
    [
      () => model.openIndex(directory, any({ engine: "x" })),
      /^engine: expected "onnxruntime", "fa/,
    ],
    [() => model.openIndex(directory, { memoryLimit: -1 }), /^memoryLimit: expected a number of b/],
    [() => model.openIndex(directory, { threads: 0 }), /^threads: expected a whole number from 1/],
    [() => ReAtt.load(any(5)), /^model: expected a path as text, got 5/],
    [() => ReAtt.load("models/reatt-mini", any({ provider: "gpu" })), /^provider: expected cpu, /],
    [() => ReAtt.load("models/reatt-mini", any(null)), /^options: expected an object, got null/],
    [() => indexInfo(any({ directory })), /^directory: expected a path as text, got \{/],
    [() => verifyIndex(any(5)), /^directory: expected a path as text, got 5/],
    [() => mergeShards(any("shard"), { directory }), /^shards: expected a list of the folders/],
    [() => mergeShards([], { directory }), /^shards: expected a list .*, got \[\]/],
    [() => mergeShards(any([1]), { directory }), /^shards\[0\]: expected a path as text, got 1/],
    [() => compactIndex(at("index"), any("index")), /^options: expected an object, got /],
  ] as const)
    assert.match(await mistake(call), message);
});

test("a passage needs no title", async () => {
  const untitled = { id: "lion", text: LION.text };
  const titled = { ...untitled, title: "" };
  const [hit] = await model.rerank("Where?", [untitled]);
  assert.is(hit!.score, (await model.rerank("Where?", [titled]))[0]!.score);
  const replies = [await model.read("Where?", [untitled]), await model.read("Where?", [titled])];
  assert.is(replies[0]!.answer, replies[1]!.answer);
  await using built = await model.index([untitled], { directory: at("untitled") });
  assert.equal(await built.passages([0]), [titled]);
});

test("documents: folders, options and conditions of another type", async () => {
  writeFileSync(at("a.txt"), "The lion lives in Africa.");
  mkdirSync(at("blocked"));
  writeFileSync(at("blocked/sync"), "a file in place of the folder of the record");
  const read = (source: unknown, options?: unknown) =>
    readDocuments(any(source), any(options)).next();
  const directory = at("never");
  for (const [call, message] of [
    [() => read(undefined), /^source: expected a path as text, got nothing/],
    [() => read(at("a.txt"), null), /^options: expected an object, got null/],
    [() => read(at("a.txt"), 5), /^options: expected an object, got 5/],
    [() => read(at("a.txt"), { tokenizer: {} }), /^tokenizer: expected the tokenizer of a model/],
    [() => read(at("a.txt"), { words: 5 }), /^options: expected names among .*passageWords, /],
    [() => model.sync(at("a.txt"), { directory }), /a\.txt: expected a folder of documents, got E/],
    [() => model.sync(at("missing"), { directory }), /missing: expected a folder of documents, /],
    [
      () => model.sync(folder, { directory: at("blocked") }),
      /blocked\/sync\/record\.json: expected to be able to read the record .* got ENOTDIR/,
    ],
    [() => parseWhere(any(undefined)), /^condition: expected a condition as text, got nothing/],
    [() => model.tokenizer.encode(any(5)), /^text: expected text, got 5/],
    [() => model.tokenizer.decode(any(5)), /^ids: expected a list of ids, got 5/],
  ] as const)
    assert.match(await mistake(call), message);
});

test("deletePassages takes a list of ids", async () => {
  const options = { directory: at("index") };
  for (const [ids, message] of [
    ["lion", /^ids: expected a list or a generator of ids, got 'lion'; give \[ID\] or another/],
    [[1], /^id 1: expected the id of a passage as text, got 1; write it as text$/],
    [["lion", LION], /^id 2: expected the id of a passage as text, got \{ id: 'lion'/],
    [undefined, /^ids: expected a list .* got nothing/],
  ] as const)
    assert.match(await mistake(() => deletePassages(any(ids), options)), message);
  assert.is((await indexInfo(at("index"))).passages, 1);
  assert.is(await deletePassages([], options), 0);
});

test("questions", async () => {
  for (const [bad, message] of [
    [undefined, /^question: expected a question as text.*, got nothing; write one/],
    [5, /^question: expected a question as text.*, got 5; /],
    ["", /^question: expected a question, got no text; write one$/],
    [" \n", /^question: expected a question, got no text; write one$/],
    [["Where?", 5], /^questions\[1\]: expected a question as text, got 5; /],
    [["Where?", ""], /^questions\[1\]: expected a question, got no text; write one$/],
  ] as const)
    for (const call of [
      () => model.retrieve(any(bad), index),
      () => model.answer(any(bad), index),
      () => model.read(any(bad), Array.isArray(bad) ? bad.map(() => [LION]) : any([LION])),
      () => model.encodeQuestions(any(typeof bad === "string" ? [bad] : bad)),
    ]) {
      const thrown = (await mistake(call)).replace("questions[0]", "question");
      assert.match(thrown, message);
    }
  assert.equal(await hitLists(model.retrieve([], index)), []);
});

test("an open index takes vectors, ordinals and ids", async () => {
  const [vectors] = await model.encodeQuestions(["Where?"]);
  const lexical = await openLexicalIndex(index);
  for (const [call, message] of [
    [() => index.search(any("Where?"), { topK: 1 }), /^questions\[0\]: expected a Float32Array of/],
    [() => index.search(new Float32Array(3), { topK: 1 }), /got 3 values; take the vectors from/],
    [() => index.searchBatch(any(vectors), { topK: 1 }), /^questions: expected a list of query v/],
    [
      () => index.search(vectors!, any({})),
      /^topK: expected a whole number from 1 on, got nothing/,
    ],
    [() => index.search(vectors!, any(undefined)), /^topK: expected a whole number/],
    [() => index.score(vectors!, [1]), /^ordinals\[0\]: expected a whole number below 1, got 1; /],
    [() => index.passages([0, -1]), /^ordinals\[1\]: expected a whole number below 1, got -1/],
    [() => index.passages(any("lion")), /^ordinals: expected a list of ordinals, got 'lion'/],
    [() => index.find(any(0)), /^id: expected the id of a passage as text, got 0/],
    [() => lexical.search(any(0), { topK: 1 }), /^question: expected a question as text, got 0/],
    [() => lexical.search("lion", any({ topk: 1 })), /did you mean "topK"\?$/],
    [() => lexical.search("lion", { topK: 1, b: 2 }), /^b: expected a number from 0 to 1, got 2/],
    [() => lexical.score("lion", [], { k1: -1 }), /^k1: expected a number from 0 on, got -1/],
    [() => lexical.score("lion", any("lion")), /^ids: expected a list of ids, got 'lion'/],
  ] as const)
    assert.match(await mistake(call), message);
});

test("what is no function, no path, no list and no loaded model", async () => {
  for (const [call, message] of [
    [() => index.snapshot(any(5)), /^work: expected a function of one generation .*, got 5; write/],
    [() => index.snapshot(any(undefined)), /^work: expected a function .*, got nothing; write/],
    [
      () => model.answer("Where?", any({ ...index, snapshot: 5 })),
      /^index: expected an open index, got/,
    ],
    [
      () => model.answer("Where?", any({ ...index, header: null })),
      /^index: expected an open index/,
    ],
    [() => openLexicalIndex(any([LION])), /^index: expected an open index, got \[/],
    [() => openLexicalIndex(any(new Map())), /^index: expected an open index, got Map/],
    [
      () => model.retrieve("Where?", index, { hybrid: { lambda: 1, lexical: any(index) } }),
      /^hybrid\.lexical: expected an index from openLexicalIndex, got/,
    ],
    [() => convertModel(any(5), { out: at("never"), precision: "int8" }), /^model: expected .* 5;/],
    [() => convertModel(any(null), { out: at("never"), precision: "int8" }), /^model: .* null;/],
    [
      () => new (any(ReAtt))("models/reatt-mini"),
      /^new ReAtt: .*; write await ReAtt\.load\(MODEL\)/,
    ],
    [() => model.tokenizer.decode(any({})), /^ids: expected a list of ids, got \{\}/],
    [() => model.tokenizer.decode(any(["1"])), /^ids: expected whole numbers, got '1'/],
    [() => model.tokenizer.encode("x", any(5n)), /^limit: expected a number, got 5n/],
  ] as const)
    assert.match(await mistake(call), message);
});

test("closed models and indexes: one line; closing twice is allowed", async () => {
  const ownModel = await ReAtt.load("models/reatt-mini", { threads: 1 });
  let ownIndex: TokenIndex;
  {
    await using opened = await ownModel.openIndex(at("index"));
    ownIndex = opened;
    await opened.close();
  }
  await ownIndex.close();
  const [vectors] = await ownModel.encodeQuestions(["Where?"]);
  for (const call of [
    () => ownModel.retrieve("Where?", ownIndex),
    () => ownModel.answer("Where?", ownIndex),
    () => ownIndex.search(vectors!, { topK: 1 }),
    () => ownIndex.score(vectors!, [0]),
    () => ownIndex.passages([0]),
    () => ownIndex.find("lion"),
    () => ownIndex.entries().next(),
    () => openLexicalIndex(ownIndex),
  ])
    assert.match(await mistake(call), /index: expected to be open, got .*; open the index again$/);

  const running = [ownModel.answer("Where?", index), ownModel.retrieve("Where?", index)];
  const started = ownModel.answer(["Where?"], index);
  await Promise.all([ownModel.close(), ownModel[Symbol.asyncDispose]()]);
  await Promise.all(running); // calls that run when it is closed end well
  await ownModel.close();
  for (const call of [
    () => started.next(),
    () => ownModel.retrieve("Where?", index),
    () => ownModel.answer("Where?", index),
    () => ownModel.answer(["Where?"], index),
    () => ownModel.read("Where?", [LION]),
    () => ownModel.read(["Where?"], [[LION]]),
    () => ownModel.encodeQuestions(["Where?"]),
    () => ownModel.index([LION], { directory: at("never") }),
    () => ownModel.forecast([LION], { directory: at("never") }),
    () => ownModel.add([LION], { directory: at("index") }),
    () => ownModel.openIndex(at("index")),
  ])
    assert.match(await mistake(call), /^the model .*: expected to be open, got .*; load it again$/);
});

test("an index without passages: the model abstains", async () => {
  const directory = at("emptied");
  await (await model.index([LION], { directory })).close();
  await deletePassages(["lion"], { directory });
  await using emptied = await model.openIndex(directory);
  assert.equal(await model.retrieve("Where?", emptied), []);
  const reply = await model.answer("Where?", emptied);
  const { answer, abstained, passages, confidence, tokenIds } = reply;
  assert.equal([answer, abstained, passages, confidence, tokenIds], ["", true, [], 0, []]);
  for await (const { abstained } of model.answer(["Where?", "Who?"], emptied)) assert.ok(abstained);
  const filtered = await model.answer("Where?", index, { filter: new Set(["x"]) });
  assert.equal([filtered.abstained, filtered.passages], [true, []]);
});

test("training and evaluation read a question without an id, and one answer as a text", async () => {
  const file = at("questions.jsonl");
  writeFileSync(file, '{"question":"Who?","answer":"He"}\n{"question":"What?","answers":["It"]}\n');
  const questions = [
    { id: "1", question: "Who?", answers: ["He"] },
    { id: "2", question: "What?", answers: ["It"] },
  ];
  assert.equal(await readTrainingFile(file), questions);
  assert.equal(await readQuestions(file), questions);
});

test.run();
