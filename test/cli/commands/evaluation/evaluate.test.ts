import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { formatMeasures } from "../../../../src/cli/commands/evaluation/evaluate.ts";
import { runCaptured } from "../../support.ts";

interface Files {
  readonly folder: string;
  file(name: string, text: string): Promise<string>;
}

const test = suite<Files>("evaluate");
test.before(async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "reatt-evaluate-"));
  Object.assign(context, {
    folder,
    async file(name: string, text: string) {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    },
  });
});
test.after(({ folder }) => rm(folder, { recursive: true }));

/** What the command writes to stdout. */
async function evaluate(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCaptured(["evaluate", ...args]);
  assert.is(code, 0, stderr);
  return stdout;
}

async function fails(code: number, words: RegExp, ...args: string[]): Promise<void> {
  const outcome = await runCaptured(["evaluate", ...args]);
  assert.equal([outcome.stdout, outcome.code], ["", code], outcome.stderr);
  assert.match(outcome.stderr, words);
  assert.match(outcome.stderr, /^reatt: [^\n]+\n$/);
}

test("a run against qrels", async ({ file }) => {
  const run = await file("run.trec", "q Q0 a 1 2 t\nq Q0 b 2 1 t\nother Q0 a 1 1 t\n");
  const qrels = await file("qrels.tsv", "query-id\tcorpus-id\tscore\nq\tb\t1\nr\tb\t1\n");
  // Of q the relevant passage is second: 1/2 and 1/log2(3); r has no results.
  const json = JSON.parse(
    await evaluate("retrieval", "--run", run, "--qrels", qrels, "--k", "2,1", "--json"),
  );
  assert.equal(json, {
    queries: 2,
    unanswered: 1,
    unjudged: 1,
    "ndcg@1": 0,
    "p@1": 0,
    "recall@1": 0,
    "mrr@1": 0,
    "ndcg@2": 1 / Math.log2(3) / 2,
    "p@2": 0.25,
    "recall@2": 0.5,
    "mrr@2": 0.25,
    map: 0.25,
    mrr: 0.25,
    rprec: 0,
  });
  const table = await evaluate("retrieval", "--run", run, "--qrels", qrels, "--k", "1,2");
  assert.match(table, /^2 queries, 1 of them without results; 1 more that nobody judged\n/);
  assert.match(table, /\nndcg {4}0\.0000 @1 {4}0\.3155 @2\n/);
});

test("answers against data", async ({ file }) => {
  const data = await file("data.jsonl", '{"id": "1", "question": "Who?", "answers": ["Ada"]}\n');
  const predictions = await file(
    "p.jsonl",
    '{"id": "1", "answer": "Ada", "passages": [{"text": "by Ada"}]}\n',
  );
  const args = ["answers", "--predictions", predictions, "--data", data];
  assert.equal(JSON.parse(await evaluate(...args, "--json")), {
    questions: 1,
    unanswered: 0,
    exactMatch: 1,
    f1: 1,
    "recall@1": 1,
    "mrr@1": 1,
    "p@1": 1,
    unanswerable: 0,
  });
  assert.match(
    await evaluate(...args),
    /^1 questions, 0 of them without a prediction\nexactMatch {2}1\.0000\n/,
  );
});

test("KILT's scores of questions with provenance", async ({ file }) => {
  const question = '"question": "Who?", "answers": ["Ada"], "provenance": [["Engine"]]';
  const data = await file("data.jsonl", `{"id": "1", ${question}}\n{"id": "2", ${question}}\n`);
  const answer = (id: string, title: string) =>
    `{"id": "${id}", "answer": "Ada", "passages": [{"id": "p", "title": "${title}", "text": ""}]}`;
  const predictions = await file("p.jsonl", `${answer("1", "Engine")}\n${answer("2", "Ada")}\n`);
  const args = ["answers", "--predictions", predictions, "--data", data, "--json"];
  const { exactMatch, rprec, kiltExactMatch, kiltF1 } = JSON.parse(await evaluate(...args));
  assert.equal([exactMatch, rprec, kiltExactMatch, kiltF1], [1, 0.5, 0.5, 0.5]);
  const wrong = await file(
    "w.jsonl",
    '{"id": "1", "question": "Who?", "provenance": ["Engine"]}\n',
  );
  await fails(
    1,
    /w\.jsonl:1: expected "provenance" as a list of lists of pages, got \["Engine"\]; write/,
    ...["answers", "--predictions", predictions, "--data", wrong],
  );
});

test("wrong usage and files that do not belong together", async ({ file }) => {
  await fails(2, /a command is missing; reatt help evaluate shows/);
  await fails(2, /unknown command 'evaluate everything'/, "everything");
  await fails(2, /--qrels FILE is missing/, "retrieval", "--run", "x");
  for (const k of ["0", "1,,2", "a", "1.5"])
    await fails(2, /--k: expected/, "retrieval", "--run", "x", "--qrels", "y", "--k", k);
  const run = await file("run.trec", "q Q0 a 1 2 t\n");
  const qrels = await file("qrels.txt", "other 0 a 1\n");
  await fails(1, /none of them/, "retrieval", "--run", run, "--qrels", qrels);
  const data = await file("data.jsonl", '{"id": "1", "question": "Who?"}\n');
  const predictions = await file("p.jsonl", '{"id": "2", "answer": "Ada"}\n');
  const args = ["answers", "--predictions", predictions, "--data"];
  await fails(1, /expected "answers" of the questions, got none/, ...args, data);
  const answered = await file(
    "answered.jsonl",
    '{"id": "1", "question": "Who?", "answers": ["Ada"]}\n',
  );
  await fails(1, /none of them/, ...args, answered);
});

test("damaged, empty and strange files: one line each", async ({ file }) => {
  const data = await file("data.jsonl", '{"id": "1", "question": "Who?", "answers": ["Ada"]}\n');
  const right = await file("right.jsonl", '{"id": "1", "answer": "Ada"}\n');
  const levels = "[".repeat(100_000) + "]".repeat(100_000);
  const predictions: readonly [string, RegExp][] = [
    ["", /: expected at least one prediction, got none; write what/],
    ["\n \n", /: expected at least one prediction, got none; write what/],
    ["[1]\n", /:1: expected an object with id and answer, got \[ 1 \]; write what/],
    ["null\n", /:1: expected an object with id and answer, got null; write what/],
    ['{"id": "1"}\n', /:1: expected "answer" as text, got nothing; write what/],
    ['{"id": {}, "answer": "x"}\n', /:1: expected "id" as text or a number, got \{\}; write what/],
    ['{"id": 1, "answer": "x", "passages": [5]}\n', /"passages\.0" as an object with text, got 5;/],
    ['{"id": "1", "answer": "x"', /:1: expected one JSON object, got/],
    [levels, /:1: expected JSON with at most 100 levels of nesting, got more/],
    ['{"id": "1", "answer": "x"}\n'.repeat(2), /:2: expected one prediction for each .* again/],
  ];
  for (const [text, message] of predictions) {
    const given = await file("p.jsonl", text);
    await fails(1, message, "answers", "--predictions", given, "--data", data);
  }
  const questions: readonly [string, RegExp][] = [
    ["", /: expected at least one question, got none/],
    [levels, /:1: expected JSON with at most 100 levels/],
    [
      '{"id": "1", "question": "x", "answers": [5]}\n',
      /"answers" as a text or a list of texts, got \[5\]/,
    ],
  ];
  for (const [text, message] of questions) {
    const given = await file("q.jsonl", text);
    await fails(1, message, "answers", "--predictions", right, "--data", given);
  }
  await fails(1, /missing: .* ENOENT/, "answers", "--predictions", "missing", "--data", data);
  const run = await file("r.trec", "q Q0 a 1 0.5 t\n");
  const qrels = await file("q.txt", "q 0 a 1\n");
  for (const [text, message] of [
    ["", /: expected a TREC run, got no line/],
    ["q a 0.5\n", /:1: expected "query Q0 passage rank score tag", got 3 columns/],
    ["q Q0 a 1 NaN t\n", /:1: expected a number as score, got "NaN"/],
  ] as const)
    await fails(1, message, "retrieval", "--run", await file("x.trec", text), "--qrels", qrels);
  for (const [text, message] of [
    ["", /: expected relevance qrels, got none/],
    ["q 0 a 1e400\n", /:1: expected a number as label, got "1e400"/],
    ["q 0 a 1\nq 0 a 0\n", /:2: expected label 1 for q and a, as above, got 0/],
  ] as const)
    await fails(1, message, "retrieval", "--run", run, "--qrels", await file("x.txt", text));
  const [rank, ranks] = ["9".repeat(20), /--k: expected whole numbers from 1 on .*, got "9+"/];
  await fails(2, ranks, "retrieval", "--run", run, "--qrels", qrels, "--k", rank);
});

test("a line for each measure", () => {
  assert.is(
    formatMeasures({ "ndcg@1": 0.5, "ndcg@10": 1, map: 0.25 }),
    "ndcg  0.5000 @1    1.0000 @10\nmap   0.2500",
  );
});

test.run();
