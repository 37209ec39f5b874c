/** Mined negatives on a tiny corpus, beside a loop over all scores. */

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { finished } from "../../../src/io/progress.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { readTrainingFile } from "../../../src/training/examples/training-questions.ts";
import { mineNegatives } from "../../../src/training/negatives/mine-negatives.ts";
import { runCaptured } from "../../cli/support.ts";
import { rejects } from "../../retrieval/support.ts";
import { temporaryFolder, writeLines, writeTinyModel } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const at = (name: string): string => join(folder.path, name);
const MODEL = at("model");
mkdirSync(MODEL);
await writeTinyModel(MODEL, { modelSize: 32, headSize: 16 });
const towns = "London Paris Berlin Rome Boston Dallas Chicago Toronto Houston Atlanta".split(" ");
const PASSAGES = [
  ...towns.map((title, i) => ({ id: `${i}`, title, text: `The town of ${title} has ${10 + i}.` })),
  { id: "copy", title: "Rome again", text: "The town of  Rome has 13." },
];
const QUESTIONS = [
  ...towns.slice(0, 6).map((town, i) => ({
    ...{ id: `q${i}`, question: `What is the number of ${town}?`, passage_id: `${i}` },
    answers: [`${10 + i}`],
  })),
  { id: "found", question: "What is the number of Atlanta?", answers: ["regex:1[9]"] },
  { id: "none", question: "Who?", answers: ["Napoleon"] },
];
const data = writeLines(at("train.jsonl"), QUESTIONS);
const corpus = writeLines(at("corpus.jsonl"), PASSAGES);
const FILES = { model: MODEL, corpus, data };

interface Asked {
  readonly question: string;
  readonly answers: readonly string[];
  readonly passage_id?: string;
}

interface Mined {
  readonly id: string;
  readonly positive_ctxs: readonly { passage_id: string; score: number }[];
  readonly hard_negative_ctxs: readonly { passage_id: string; score: number }[];
}
const mined = (file: string): Mined[] =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/** The negatives of a question, by scores of all passages. */
async function naively(model: ReAtt, i: number, wanted: number, margin: number) {
  const directory = at("index");
  await using index = await model.index(PASSAGES, { directory, bits: 32, replace: true });
  const { question, answers, passage_id = "9" } = QUESTIONS[i] as Asked;
  const [vectors] = await model.encodeQuestions([question]);
  const ranked = [];
  for (const { id, text } of PASSAGES) {
    const [score] = await index.score(vectors!, [(await index.find(id))!]);
    ranked.push({ id, text, score: score! });
  }
  const limit = ranked.find(({ id }) => id === passage_id)!.score - margin;
  const answer = answers[0]!.replace("regex:1[9]", "19");
  return ranked
    .filter(({ text, score }) => score <= limit && !text.includes(answer))
    .sort((a, b) => b.score - a.score)
    .slice(0, wanted);
}

for (const margin of [0, 0.02])
  test(`the best passages that are not relevant, ${margin} below the relevant one`, async () => {
    const out = at(`mined-${margin}.jsonl`);
    const result = await finished(mineNegatives({ ...FILES, out, negatives: 4, margin }));
    await using model = await ReAtt.load(MODEL);
    const expected = new Map<string, readonly { id: string; score: number }[]>();
    for (let i = 0; i < 7; i++) expected.set(QUESTIONS[i]!.id, await naively(model, i, 4, margin));
    const found = new Map(mined(out).map((record) => [record.id, record]));
    for (const [id, negatives] of expected) {
      const own = found.get(id)?.hard_negative_ctxs ?? [];
      assert.equal(
        own.map(({ passage_id }) => passage_id),
        negatives.map((one) => one.id),
        id,
      );
      for (const [k, { score }] of own.entries())
        assert.ok(Math.abs(score - negatives[k]!.score) < 1e-6);
    }
    const lists = [...expected.values()];
    assert.equal(result, {
      file: out,
      questions: 8,
      written: lists.filter(({ length }) => length > 0).length,
      complete: lists.filter(({ length }) => length === 4).length,
      negatives: lists.flat().length,
      withoutPositive: 1,
      withoutNegative: lists.filter(({ length }) => length === 0).length,
    });
  });

test("training reads the file: the relevant passage, then the negatives", async () => {
  const [record] = mined(at("mined-0.jsonl"));
  const read = await readTrainingFile(at("mined-0.jsonl"));
  const first = read.find(({ id }) => id === record!.id)!;
  assert.is(first.passageId, record!.positive_ctxs[0]!.passage_id);
  assert.equal(
    first.contexts,
    [...record!.positive_ctxs, ...record!.hard_negative_ctxs].map((one) => one.passage_id),
  );
});

test("a stopped run writes nothing, and data of another corpus is named", async () => {
  const out = at("stopped.jsonl");
  const stopped = finished(mineNegatives({ ...FILES, out, signal: AbortSignal.abort() }));
  assert.ok(
    await stopped.then(
      () => false,
      () => true,
    ),
  );
  assert.not(existsSync(out));
  const other = writeLines(at("other.jsonl"), [{ question: "Who?", answers: ["Napoleon"] }]);
  await rejects(
    finished(mineNegatives({ ...FILES, data: other, out })),
    /other\.jsonl: expected questions with a relevant passage/,
  );
  const wrong = mineNegatives({ ...FILES, out, negatives: 0 });
  await rejects(finished(wrong), /negatives/);
});

test("the command says how many, and why others got none", async () => {
  const files = ["--model", MODEL, "--corpus", corpus, "--data", data, "--out", at("cli.jsonl")];
  const shown = await runCaptured([
    "train",
    "negatives",
    ...files,
    "--negatives",
    "2",
    "--margin",
    "0",
  ]);
  assert.match(shown.stdout, /\d+ negatives of \d questions, \d of them with as many as asked/);
  assert.match(shown.stdout, /Left out of 8: 1 without a known relevant passage, \d with no other/);
  assert.ok(mined(at("cli.jsonl")).every(({ hard_negative_ctxs: own }) => own.length <= 2));
});

test.run();
