/**
 * Asks the questions of `document-questions/` with the defaults of `answer`, one index a genre, and
 * prints tables by genre and by kind, each row as soon as it is measured:
 *
 *     npm run bench:questions -- [FOLDER] [--genres NAME,...] [--model DIR]
 *
 * FOLDER has a set in the form with texts (default `runs/document-questions/dev`):
 *
 *     python3 benchmarks/document-questions/unpack.py benchmarks/document-questions/dev FOLDER
 *
 * Percentages: R@1, R@3, R@5 of passages that have an evidence; the answer is inside an accepted
 * one or has it inside, with F1 of a half; the quoted sentence is right; the first, or one of
 * three, blocks of evidence is right; no answer is given where there is one, and where there is
 * none; a confidence of 0.5 or more with a wrong answer; the expected calibration error of the
 * first block's probability.
 */

import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ReAtt } from "../src/reatt.ts";
import { asksForText, type Judged, judge, type Question } from "./document-questions/judge.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { genres: { type: "string" }, model: { type: "string" } },
});
const folder = positionals[0] ?? "runs/document-questions/dev";
const ECE_BINS = 10;

const COLUMNS: Readonly<Record<string, (all: readonly Judged[]) => string>> = {
  questions: (all) => String(all.length),
  "R@1": (all) => percentage(answerable(all), ({ passage }) => passage <= 1),
  "R@3": (all) => percentage(answerable(all), ({ passage }) => passage <= 3),
  "R@5": (all) => percentage(answerable(all), ({ passage }) => passage <= 5),
  inside: (all) =>
    percentage(
      all.filter(({ kind }) => asksForText(kind)),
      ({ inside }) => inside,
    ),
  sentence: (all) => percentage(answerable(all), ({ source }) => source),
  "first block": (all) => percentage(answerable(all), ({ block }) => block <= 1),
  "of three": (all) => percentage(answerable(all), ({ block }) => block <= 3),
  "no answer": (all) => percentage(answerable(all), ({ abstained }) => abstained),
  "none: no answer": (all) => percentage(unanswerable(all), ({ abstained }) => abstained),
  "sure and wrong": (all) => percentage(all, ({ sureAndWrong }) => sureAndWrong),
  ECE: calibrationError,
};

const unanswerable = (all: readonly Judged[]) => all.filter(({ kind }) => kind === "none");
const answerable = (all: readonly Judged[]) => all.filter(({ kind }) => kind !== "none");

function percentage(all: readonly Judged[], is: (one: Judged) => boolean): string {
  return all.length === 0 ? "" : ((100 * all.filter(is).length) / all.length).toFixed(1);
}

/** Of the probability that the first block has an evidence, over bins of equal width. */
function calibrationError(all: readonly Judged[]): string {
  const differences = new Array<number>(ECE_BINS).fill(0); // right blocks - sum of probabilities
  const shown = all.filter(({ probability }) => probability !== undefined);
  for (const { probability, block } of shown) {
    const bin = Math.min(ECE_BINS - 1, Math.floor(probability! * ECE_BINS));
    differences[bin]! += Number(block <= 1) - probability!;
  }
  const sum = differences.reduce((total, one) => total + Math.abs(one), 0);
  return shown.length === 0 ? "" : ((100 * sum) / shown.length).toFixed(1);
}

function printHead(name: string): void {
  const names = Object.keys(COLUMNS);
  console.log(`\n| ${[name, ...names].join(" | ")} |\n|${"---|".repeat(names.length + 1)}`);
}

function printRow(name: string, all: readonly Judged[]): void {
  const cells = Object.values(COLUMNS).map((column) => column(all));
  console.log(`| ${[name, ...cells].join(" | ")} |`);
}

async function measured(model: ReAtt, genre: string, asked: Question[]): Promise<Judged[]> {
  const directory = await mkdtemp(join(tmpdir(), "document-questions-"));
  try {
    const documents = join(folder, "documents", genre);
    await using index = await model.openOrIndex(documents, { directory });
    const judged: Judged[] = [];
    for (const question of asked)
      judged.push(judge(question, await model.answer(question.question, index)));
    return judged;
  } finally {
    await rm(directory, { recursive: true });
  }
}

const file = join(folder, "questions.jsonl");
if (!existsSync(file)) {
  const unpack =
    "python3 benchmarks/document-questions/unpack.py benchmarks/document-questions/dev";
  console.error(`${file} is missing: make it with ${unpack} ${folder}`);
  process.exit(1);
}
const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
const questions = lines.map((line): Question => JSON.parse(line));
const genres = values.genres?.split(",") ?? [...new Set(questions.map(({ genre }) => genre))];
await using model = await ReAtt.load(values.model);
const all: Judged[] = [];
printHead("genre");
for (const genre of genres) {
  const asked = questions.filter((question) => question.genre === genre);
  const judged = await measured(model, genre, asked);
  printRow(genre, judged);
  all.push(...judged);
}
printHead("kind");
for (const kind of new Set(all.map((one) => one.kind)))
  printRow(
    kind,
    all.filter((one) => one.kind === kind),
  );
printRow("all", all);
