import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readQuestions } from "../../../src/text/read-passages.ts";
import {
  readQuestionsAbout,
  readTrainingFile,
  type TrainingQuestion,
} from "../../../src/training/examples/training-questions.ts";
import { acceptedOrRefused, refused, temporaryFolder } from "../../checkpoints/support.ts";
import { testWithShared } from "../../support/shared.ts";

const SQUAD = new URL("../../../../shared/data/squad/", import.meta.url).pathname;
const file = join(temporaryFolder(), "train");

const write = (content: string | Uint8Array): Promise<TrainingQuestion[]> => {
  writeFileSync(file, content);
  return readTrainingFile(file);
};

const lines = (...records: unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");

test("our form; ids are numbers in the file where there are none", async () => {
  const context = (id: unknown) => ({ id, title: "t", text: "x", score: 1 });
  const read = await write(
    lines(
      { question: "who?", answers: ["he", "him"] },
      {
        id: "q",
        question: "what?",
        answers: ["it"],
        passage_id: 7,
        ctxs: [context("a"), context(8), context("a")],
      },
      { id: null, question: "when?", answers: ["now"], passage_id: null, ctxs: null },
    ),
  );
  assert.equal(read, [
    { id: "1", question: "who?", answers: ["he", "him"] },
    {
      ...{ id: "q", question: "what?", answers: ["it"], passageId: "7" },
      ...{ contexts: ["a", "8"], scores: [1, 1] },
    },
    { id: "3", question: "when?", answers: ["now"] },
  ]);
});

test("FiD's form, whose target is the answer where there are no others", async () => {
  const ctxs = [{ id: "10", title: "Oil", text: "…", score: "81.2" }];
  const records = [
    { id: "0", question: "a?", target: "A", answers: ["A", "a"], ctxs },
    { question: "b?", target: "B", ctxs },
  ];
  const expected = [
    { id: "0", question: "a?", answers: ["A", "a"], contexts: ["10"], scores: [81.2] },
    { id: "2", question: "b?", answers: ["B"], contexts: ["10"], scores: [81.2] },
  ];
  assert.equal(await write(JSON.stringify(records, null, 2)), expected);
  assert.equal(await write(lines(...records)), expected);
});

test("DPR's form: one positive, the hard negatives, then the others", async () => {
  const nq = (passage_id: string) => ({
    title: "",
    text: "",
    score: 1000,
    title_score: 1,
    passage_id,
  });
  const trivia = (psg_id: string) => ({ title: "", text: "", score: "14.3", psg_id });
  const record = {
    dataset: "nq_train_psgs_w100",
    question: "big little lies season 2 how many episodes",
    answers: ["seven"],
    positive_ctxs: [nq("18768923"), nq("p2")],
    negative_ctxs: [nq("n1"), nq("n2")],
    hard_negative_ctxs: [trivia("h1"), nq("18768923")],
  };
  assert.equal(await write(JSON.stringify([record])), [
    {
      id: "1",
      question: record.question,
      answers: ["seven"],
      passageId: "18768923",
      contexts: ["18768923", "h1", "p2", "n1", "n2"],
    },
  ]);
});

test("scores of ctxs are read, also as text; those of DPR's lists are not", async () => {
  const [ours, fid, dpr] = await write(
    lines(
      {
        ...{ question: "one", answers: ["a"] },
        ctxs: [{ id: "x", score: 2.5 }, { id: "y" }, { id: "x", score: 1 }, { id: "z", score: -1 }],
      },
      { question: "two", target: "b", ctxs: [{ id: "x", score: "83.5" }] },
      { question: "three", answers: ["c"], positive_ctxs: [{ psg_id: "x", score: 1000 }] },
    ),
  );
  assert.equal(ours!.contexts, ["x", "y", "z"]);
  assert.equal(ours!.scores, [2.5, undefined, -1]);
  assert.equal(fid!.scores, [83.5]);
  assert.is(dpr!.scores, undefined);
});

test("what is wrong is said in one line, with its place", async () => {
  const good = { question: "q?", answers: ["a"] };
  const bad = (record: unknown, message: RegExp) => refused(write(lines(good, record)), message);
  await bad({ question: "q?" }, /train:2: expected "answers" to be a list of texts, got none; /);
  await bad(
    { question: "q?", answers: [] },
    /:2: expected "answers" to be a list of one answer or more, got \[\]/,
  );
  await bad({ question: "q?", answers: "a" }, /"answers" to be a list of texts, got 'a'/);
  await bad(
    { question: "q?", answers: ["a", " "] },
    /"answers.1" to be text that is not blank, got ' '/,
  );
  await bad({ question: "q?", answers: [null] }, /"answers.0" to be text, got null/);
  await bad({ answers: ["a"] }, /"question" to be text, got none/);
  await bad({ ...good, passage_id: {} }, /"passage_id" to be text or a number, got \{\}/);
  await bad(
    { ...good, ctxs: [{ title: "" }] },
    /"ctxs.0" to be an object with an "id", got \{ title: '' \}/,
  );
  await bad({ ...good, ctxs: "all" }, /"ctxs" to be a list of contexts, got 'all'/);
  await bad("text", /train:2: expected an object, got 'text'/);
  await bad({ ...good, id: "1" }, /train:2: expected a new id, got '1', the id of question 1/);
  await refused(
    write(JSON.stringify([good, { question: "q?" }])),
    /train\[1\]: expected "answers"/,
  );
  await refused(write(""), /train: expected at least one question, got none/);
  await refused(write("[]"), /train: expected at least one question, got none/);
  await refused(
    write('[{"question": "q?", "answers": ["a"]}'),
    /train: expected a JSON array, got .*JSON/,
  );
  await refused(write(gzipSync("[1, 2]").subarray(0, 24)), /train: expected a whole gzip file/);
  await refused(
    write(Buffer.from("[\xff]", "latin1")),
    /expected UTF-8 text, got bytes that are not UTF-8/,
  );
  await refused(readTrainingFile(`${file}.none`), /no such file/);
});

test("a file may be lines or an array, plain or gzip", async () => {
  const text = fc.string({ minLength: 1, maxLength: 12 }).filter((value) => value.trim() !== "");
  const question = fc.record({
    question: text,
    answers: fc.array(text, { minLength: 1, maxLength: 3 }),
    passage_id: fc.option(text),
    ctxs: fc.option(fc.array(fc.record({ id: text }), { maxLength: 3 })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(question, { minLength: 1, maxLength: 6 }), async (records) => {
      const expected = records.map(({ question, answers, passage_id, ctxs }, i) => ({
        id: String(i + 1),
        question,
        answers,
        ...(passage_id && { passageId: passage_id }),
        ...(ctxs?.length && { contexts: [...new Set(ctxs.map(({ id }) => id))] }),
      }));
      for (const content of [lines(...records), `\ufeff \n${JSON.stringify(records)}`]) {
        assert.equal(await write(content), expected);
        assert.equal(await write(gzipSync(content)), expected);
      }
    }),
    { numRuns: 50 },
  );
});

test("nothing but an InputError comes of any bytes", async () => {
  const head = fc.constantFrom("", "[", "\x1f\x8b", '[{"question":"q","answers":');
  await fc.assert(
    fc.asyncProperty(head, fc.uint8Array({ maxLength: 60 }), async (start, rest) => {
      await acceptedOrRefused(write(Buffer.concat([Buffer.from(start, "latin1"), rest])));
    }),
    { numRuns: 200 },
  );
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      await acceptedOrRefused(write(lines({ question: "q", answers: ["a"], ctxs: value }, value)));
    }),
  );
});

testWithShared("SQuAD's questions are read as evaluation reads them", async () => {
  const read = await readTrainingFile(`${SQUAD}train.jsonl`);
  assert.is(read.length, 6_809);
  assert.equal(read, await readQuestions(`${SQUAD}train.jsonl`));
});

test("a passage_id must be one of the corpus", async () => {
  const ids = ["p1", "p2", "x", "y", "p1"];
  const records = ids.map((passage_id) => ({ question: "q?", answers: ["a"], passage_id }));
  writeFileSync(file, records.map((record) => JSON.stringify(record)).join("\n"));
  const about = (...ids: string[]) => readQuestionsAbout({ ids }, file);
  assert.is((await about("p2", "y", "p1", "x", "z")).length, 5);
  await refused(
    about("p1", "p2", "p3"),
    /train, question '3': expected its passage_id to be in the corpus, got 'x', one of 2 of 4 that are not; /,
  );
});

test.run();
