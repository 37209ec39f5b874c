import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { buildBm25 } from "../../../src/retrieval/bm25/bm25.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import {
  bm25Candidates,
  type CandidateRetriever,
  findCandidates,
  firstCandidates,
  givenCandidates,
} from "../../../src/training/examples/candidates.ts";
import type { Corpus } from "../../../src/training/examples/corpus.ts";
import type { Example } from "../../../src/training/examples/example.ts";
import {
  questionExamples,
  readTrainingFile,
} from "../../../src/training/examples/training-questions.ts";
import { refused } from "../../checkpoints/support.ts";
import { testWithShared } from "../../support/shared.ts";

const SQUAD = new URL("../../../../shared/data/squad/", import.meta.url).pathname;

const question = (id: string, rest: Partial<Example> = {}): Example => ({
  id,
  question: id,
  answers: ["a"],
  relevant: [],
  ...rest,
});
const fixed =
  (...ids: string[]): CandidateRetriever =>
  async (questions, topK) =>
    questions.map(() => ids.slice(0, topK));
const corpusIds = Array.from({ length: 10 }, (_, i) => `p${i}`);

test("what the search finds, with the question's own passage in the last place if it is not among it", async () => {
  const questions = [
    question("none"),
    question("found", { relevant: ["p1"] }),
    question("missed", { relevant: ["p9"] }),
  ];
  const retriever = fixed("p3", "p1", "p5", "p7");
  assert.equal(await findCandidates(questions, { retriever, count: 3, corpusIds, seed: 1 }), [
    ["p3", "p1", "p5"],
    ["p3", "p1", "p5"],
    ["p3", "p1", "p9"],
  ]);
  const [only] = await findCandidates([questions[2]!], { retriever, count: 1, corpusIds, seed: 1 });
  assert.equal(only, ["p9"]);
});

test("always K distinct passages of the corpus, the same for the same seed and question", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.constantFrom(...corpusIds)),
      fc.integer({ min: 1, max: 10 }),
      fc.option(fc.constantFrom(...corpusIds), { nil: undefined }),
      fc.integer(),
      async (found, count, passageId, seed) => {
        const questions = ["q", "r", "s"].map((id) =>
          question(id, passageId === undefined ? {} : { relevant: [passageId] }),
        );
        const options = { retriever: fixed(...found), count, corpusIds, seed };
        const close = await findCandidates(questions, options);
        for (const passages of close) {
          assert.is(new Set(passages).size, count);
          assert.ok(passages.every((id) => corpusIds.includes(id)));
          if (passageId !== undefined) assert.ok(passages.includes(passageId));
          const kept = Math.min(found.length, count - 1);
          assert.equal(passages.slice(0, kept), found.slice(0, kept));
        }
        assert.equal(await findCandidates(questions.slice(1), options), close.slice(1));
      },
    ),
    { numRuns: 100 },
  );
});

test("the rest is drawn at random, for each question anew", async () => {
  const many = Array.from({ length: 500 }, (_, i) => question(`q${i}`));
  const close = await findCandidates(many, {
    retriever: fixed("p0"),
    count: 4,
    corpusIds,
    seed: 3,
  });
  for (const id of corpusIds.slice(1)) {
    // 500 draws of 3 of 9 passages: 167 expected for each
    const count = close.filter((passages) => passages.includes(id)).length;
    assert.ok(count > 120 && count < 215, `${id}: ${count}`);
  }
});

test("the file's own contexts, if all questions have enough of them", async () => {
  const contexts = ["p4", "p2", "p3"];
  const examples = [question("a", { contexts }), question("b", { contexts, relevant: ["p3"] })];
  const corpus = { bm25: () => assert.unreachable("is not built") } as unknown as Corpus;
  const retriever = await firstCandidates(examples, corpus, 2);
  assert.equal(await findCandidates(examples, { retriever, count: 2, corpusIds, seed: 1 }), [
    ["p4", "p2"],
    ["p4", "p3"],
  ]);
  const passages = [{ id: "p9", title: "", text: "a c" }];
  const bm25 = await buildBm25(passages);
  const found = await firstCandidates(
    [...examples, question("c")],
    { bm25: async () => bm25 } as Corpus,
    2,
  );
  assert.equal(await found([question("<extra_id_0> c")], 2), [["p9"]]);
});

test("the contexts of a question that has too few of them, then those of BM25", async () => {
  const passages = ["p1", "p2", "p3", "p4"].map((id) => ({ id, title: "", text: "a word" }));
  const bm25 = await buildBm25(passages);
  const examples = [
    question("a", { question: "word", contexts: ["p4", "p3"] }),
    question("b", { question: "word", contexts: ["p2"] }),
    question("c", { question: "word" }),
  ];
  const retriever = await firstCandidates(examples, { bm25: async () => bm25 }, 2);
  assert.equal(await retriever(examples, 2), [
    ["p4", "p3"],
    ["p2", "p1"],
    ["p1", "p2"],
  ]);
  assert.is(givenCandidates(examples, 2), 3);
});

test("too small a corpus", async () => {
  const options = { retriever: fixed(), corpusIds, seed: 1 };
  await refused(
    findCandidates([question("q")], { ...options, count: 11 }),
    /candidates: expected a corpus of at least 11 passages, got 10; /,
  );
});

test("tells how far it is, and stops when asked to", async () => {
  const controller = new AbortController();
  const seen: number[] = [];
  const many = Array.from({ length: 200 }, (_, i) => question(`q${i}`));
  const onProgress = (done: number) => {
    seen.push(done);
    if (done >= 128) controller.abort();
  };
  const options = {
    retriever: fixed("p1"),
    count: 1,
    corpusIds,
    seed: 1,
    onProgress,
    signal: controller.signal,
  };
  const reason = await findCandidates(many, options).catch((error: Error) => error.name);
  assert.is(reason, "AbortError");
  assert.equal(seen, [64, 128]);
});

testWithShared("BM25's candidates of SQuAD's questions", async () => {
  const bm25 = await buildBm25(readPassages(`${SQUAD}corpus.jsonl`));
  const ids: string[] = [];
  for await (const { id } of readPassages(`${SQUAD}corpus.jsonl`)) ids.push(id);
  const questions = questionExamples(
    (await readTrainingFile(`${SQUAD}train.jsonl`)).slice(0, 1_000),
  );
  const close = await findCandidates(questions, {
    retriever: bm25Candidates(bm25),
    count: 8,
    corpusIds: ids,
    seed: 1,
  });
  questions.forEach(({ question, relevant: [passageId] }, i) => {
    const found = bm25.search(question, 8).map(({ id }) => id);
    assert.ok(close[i]!.includes(passageId!));
    assert.is(new Set(close[i]).size, 8);
    if (found.includes(passageId!)) assert.equal(close[i], found);
    else assert.equal(close[i], [...found.slice(0, 7), passageId]);
  });
});

test.run();
