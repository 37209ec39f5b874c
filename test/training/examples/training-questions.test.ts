import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readDocuments } from "../../../src/documents/index.ts";
import { readQuestions } from "../../../src/text/read-passages.ts";
import { MAX_QUESTION_TOKENS, retrievalQuestionIds } from "../../../src/text/tokens/prompts.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";
import {
  fittingQuestions,
  readQuestionsAbout,
  readTrainingFile,
  type TrainingQuestion,
} from "../../../src/training/examples/training-questions.ts";
import { acceptedOrRefused, refused, temporaryFolder } from "../../checkpoints/support.ts";
import { testWithShared } from "../../support/shared.ts";
import { passagesOf, textsOf } from "../../support/sources.ts";

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
  await bad(
    { question: "q?", url: "u" },
    /train:2: expected "answers" or "answer" .*, or the passage: "positive" .*, got "question", "url"; rename/,
  );
  await bad(
    { question: "q?", answers: [] },
    /:2: expected "answers" or .*, got "question", "answers"/,
  );
  await bad({ question: "q?", answers: 7 }, /"answers" to be a text or a list of texts, got 7/);
  await bad(
    { question: "q?", answers: ["a", " "] },
    /"answers.1" to be text that is not blank, got ' '/,
  );
  await bad({ question: "q?", answers: [null] }, /"answers.0" to be text, got null/);
  await bad({ answers: ["a"] }, /:2: expected "question" or "query" .*, got "answers"; rename/);
  await bad({ answers: ["a"], Query: " " }, /"Query" to be text that is not blank, got ' '/);
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
    /train: expected a JSON array or object, got .*JSON/,
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
  const about = (...ids: string[]) => readQuestionsAbout({ ...textsOf(), ids }, file);
  assert.is((await about("p2", "y", "p1", "x", "z")).length, 5);
  await refused(
    about("p1", "p2", "p3"),
    /train, question '3': expected its passage_id to be in the corpus, got 'x', one of 2 of 4 that are not; /,
  );
});

const OIL = "The crisis began in October 1973.";
const AREA = "Its area is 4 km².";
const inOne = (questions: readonly TrainingQuestion[]) =>
  questions.map(({ question, answers, passageId, contexts }) => [
    question,
    ...[answers, passageId, contexts],
  ]);
/** Reads questions about two passages, `oil` and `area`. */
const aboutTwo = async (content: string, name = "train") => {
  writeFileSync(file.replace(/train$/, name), content);
  const passages = [
    { id: "oil", title: "Oil crisis", text: OIL },
    { id: "area", title: "", text: AREA.replaceAll(" ", "\n") },
  ];
  const corpus = { ids: ["oil", "area"], ...passagesOf(passages) };
  return inOne(await readQuestionsAbout(corpus, file.replace(/train$/, name)));
};
const WHEN = ["When?", ["October 1973", "1973"], "oil", ["oil"]];

test("SQuAD: the official file, indented or not, and the rows of Hugging Face", async () => {
  const answers = ["October 1973", "1973"].map((text) => ({ text, answer_start: 20 }));
  const qas = [
    { id: "a", question: "When?", answers, is_impossible: false },
    { id: "b", question: "Why?", answers: [], plausible_answers: answers, is_impossible: true },
  ];
  const official = { version: "v2.0", data: [{ title: "", paragraphs: [{ context: OIL, qas }] }] };
  assert.equal(await aboutTwo(JSON.stringify(official)), [WHEN]);
  assert.equal(await aboutTwo(JSON.stringify(official, null, 2)), [WHEN]);
  const row = { id: "a", title: "Oil", context: OIL, question: "When?" };
  const of = (text: string[]) => ({ ...row, answers: { text, answer_start: [20] } });
  const rows = lines(of(["October 1973", "1973"]), { ...of([]), id: "b" });
  assert.equal(await aboutTwo(rows), [WHEN]);
  await refused(
    aboutTwo(JSON.stringify({ data: [{ paragraphs: [{ qas: [{ id: 1, answers }] }] }] })),
    /train:1, data\[0\].paragraphs\[0\].qas\[0\]: expected "question" or "query"/,
  );
});

test("triplets and pairs of sentence-transformers, PyLate and Tevatron", async () => {
  const triplet = [["When?", [], "oil", ["oil", "area"]]];
  for (const record of [
    { anchor: "When?", positive: OIL, negative: AREA },
    { query: "When?", positive: OIL, negative_1: AREA, negative_2: "of no passage" },
    { query: "When?", pos: [OIL], neg: [AREA] },
    {
      ...{ query_id: "7", query: "When?", negative_passages: [{ docid: "2", text: AREA }] },
      positive_passages: [{ docid: "1", title: "Oil crisis", text: OIL }],
    },
  ])
    assert.equal(await aboutTwo(lines(record)), triplet);
  assert.equal(await aboutTwo(lines({ anchor: "When?", positive: OIL })), [
    ["When?", [], "oil", ["oil"]],
  ]);
  await refused(
    aboutTwo(lines({ anchor: "When?", positive: "another text" })),
    /train: expected passages of the corpus, got none in 1 questions; name the corpus/,
  );
});

test("MS MARCO: questions with passages, as rows and as columns, and triples without names", async () => {
  const passages = [
    { is_selected: 0, passage_text: AREA, url: "" },
    { is_selected: 1, passage_text: OIL, url: "" },
  ];
  const columns = { is_selected: [0, 1], passage_text: [AREA, OIL], url: ["", ""] };
  const expected = [["when", ["October 1973"], "oil", ["oil", "area"]]];
  for (const of of [passages, columns]) {
    const record = { query_id: 3, query: "when", answers: ["October 1973"], passages: of };
    const none = { query: "why", answers: ["No Answer Present."], passages: [passages[0]] };
    assert.equal(await aboutTwo(lines(record, none)), expected);
  }
  const triples = [
    ["when did it begin", OIL, AREA],
    ["how large is it", AREA, OIL],
  ];
  const rows = triples.map((row) => row.join("\t")).join("\n");
  assert.equal(await aboutTwo(rows, "triples.tsv"), [
    ["when did it begin", [], "oil", ["oil", "area"]],
    ["how large is it", [], "area", ["area", "oil"]],
  ]);
});

test("tables with the usual names, whatever their case", async () => {
  const rows = `Query,Response,Document-ID\nWhen?,1973,oil\nHow large?,,area\n`;
  assert.equal(await aboutTwo(rows, "questions.csv"), [
    ["When?", ["1973"], "oil", undefined],
    ["How large?", [], "area", undefined],
  ]);
  await refused(
    aboutTwo("Frage,Antwort\nWann?,1973\n", "questions.csv"),
    /questions.csv:2: expected "question" or "query" or "anchor" or "prompt", got "Frage", "Antwort"; /,
  );
});

const FILES = "test/fixtures/training-files";
const readFixture = async (name: string) =>
  (await readTrainingFile(`${FILES}/${name}`)).map(({ id, question, answers }) => [
    id,
    question,
    answers,
  ]);

test("DPR's questions: two columns without names, the answers as Python writes them", async () => {
  const expected: [string, string[]][] = [
    ["who sings does he love me with reba", ["Linda Davis"]],
    ["how many pages is invisible man by ralph ellison", ["581 ( second edition )"]],
    ["what is the name of the dwarf, in lord of the rings", ["Gimli", "Gloin, son of Groin"]],
    ["who wrote to kill a mockingbird", ["Harper Lee", "Nelle 'Harper' Lee"]],
    ['what is the street with the "best" café', ['rue d\'Ulm, "5e"', "Ulm\u00a0street"]],
    ["when did the us join the league", ["never"]],
    ["what is 1,000 in roman numerals", ["M"]],
    ["who is in charge, then", ["it's me"]],
  ];
  assert.equal(
    await readFixture("nq-sample.qa.csv"),
    expected.map(([question, answers], i) => [`${i + 1}`, question, answers]),
  );
});

test("KILT: the answers of the outputs that have one", async () => {
  assert.equal(await readFixture("kilt.jsonl"), [
    ["k1", "who sings does he love me with reba", ["Linda Davis", "Davis"]],
    ["k2", "The Rhine is a river. [SEP] where", ["Europe"]],
    ["k3", "Rivers [START_ENT] Rhine [END_ENT] flow", ["Rhine"]],
  ]);
});

test("TriviaQA: the official file and the rows, the value before its aliases", async () => {
  assert.equal(await readFixture("trivia-qa.json"), [
    [
      "tc_33",
      "Which Lloyd Webber musical premiered in the US on 10th December 1993?",
      ["Sunset Boulevard", "Sunset Blvd", "West Sunset Boulevard"],
    ],
    ["tc_34", "Which city was Christiania?", ["Oslo"]],
  ]);
  assert.equal(await readFixture("trivia-qa-rows.jsonl"), [
    ["tc_34", "Which city was Christiania?", ["Oslo", "Kristiania"]],
  ]);
});

test("WebQuestions: the descriptions of the official file", async () => {
  assert.equal(await readFixture("web-questions.json"), [
    ["1", "what is the name of justin bieber brother?", ["Jazmyn Bieber", 'Jaxon "J" Bieber']],
    ["2", "what character did natalie portman play?", ["Padme"]],
  ]);
});

test("DPR's questions know the passages of psgs_w100.tsv by their ids", async () => {
  const passages = [];
  for await (const one of readDocuments(`${FILES}/psgs_w100.tsv`)) passages.push(one);
  const about = { ...passagesOf(passages), ids: passages.map(({ id }) => id) };
  const positive_ctxs = [{ passage_id: "21015324", title: "Other" }];
  const hard_negative_ctxs = [{ passage_id: "2" }];
  await write(lines({ question: "q?", answers: ["a"], positive_ctxs, hard_negative_ctxs }));
  const [{ passageId, contexts }] = (await readQuestionsAbout(about, file)) as [TrainingQuestion];
  const named = (row: string): string => `${FILES}/psgs_w100.tsv#${row}`;
  assert.equal([passageId, contexts], [named("21015324"), [named("21015324"), named("2")]]);
});

test("rows of a table are known by the ids that the table has", async () => {
  const corpus = passagesOf(
    ["psgs_w100.tsv#1", "psgs_w100.tsv#2", "a.csv#7", "b.csv#7"].map((id) => ({
      ...{ id, title: "", text: "a text" },
    })),
  );
  const about = { ...corpus, ids: ["psgs_w100.tsv#1", "psgs_w100.tsv#2", "a.csv#7", "b.csv#7"] };
  const positive_ctxs = [{ passage_id: "2" }];
  const dpr = { question: "q?", answers: ["a"], positive_ctxs, hard_negative_ctxs: [{ id: 1 }] };
  await write(lines(dpr));
  const [question] = await readQuestionsAbout(about, file);
  assert.is(question!.passageId, "psgs_w100.tsv#2");
  assert.equal(question!.contexts, ["psgs_w100.tsv#2", "psgs_w100.tsv#1"]);
  await write(lines({ question: "q?", answers: ["a"], passage_id: 7 }));
  await refused(readQuestionsAbout(about, file), /expected its passage_id to be in the corpus/);
});

test("what is left out is counted and named, once", async () => {
  const told: string[] = [];
  const corpus = { ...textsOf("the owl hunts", "the fox sleeps"), ids: ["p0", "p1"] };
  const impossible = { question: "who?", answers: { text: [], answer_start: [] } };
  await write(
    lines(
      { anchor: "what hunts?", positive: "the owl hunts", negative: "not in the corpus" },
      { anchor: "what sleeps?", positive: "the fox sleeps", negative: "the owl hunts" },
      impossible,
      impossible,
    ),
  );
  const questions = await readQuestionsAbout(corpus, file, undefined, (what) => told.push(what));
  assert.equal(
    questions.map(({ contexts }) => contexts),
    [["p0"], ["p1", "p0"]],
  );
  assert.equal(told, [
    `2 questions without an answer in ${file}`,
    "1 of 3 given texts that the corpus does not have",
  ]);
});

test("a question that is too long is cut, and counted", async () => {
  const long = `What hunts ${"in the dark ".repeat(300)}?`;
  await write(lines({ question: "Who?", answers: "owl" }, { question: long, answers: "owl" }));
  const told: string[] = [];
  const model = "models/reatt-mini";
  const all = await readTrainingFile(file);
  const [short, cut] = await fittingQuestions(model, all, (what) => told.push(what));
  assert.equal(short, all[0]);
  assert.ok(long.startsWith(cut!.question) && cut!.question.length < long.length);
  const tokenizer = await loadTokenizer(`${model}/spiece.model`);
  assert.ok(retrievalQuestionIds(tokenizer, cut!.question).length <= MAX_QUESTION_TOKENS);
  assert.equal(told, ["the ends of 1 question of more than 512 tokens, such as question '2'"]);
});

test.run();
