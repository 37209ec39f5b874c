/**
 * Trains the shipped model on questions with answers, without labels of passages, by one objective
 * after the other, and measures it on other questions before and after.
 *
 *     node --import tsx benchmarks/answer-objectives.ts [--results FILE] [--data DIR] [--work DIR]
 *         [--objectives NAME,...] [--seeds 0,1,2] [--steps 30] [--report]
 *
 * The objective `adapt` stands for `reatt adapt --data` with the first 200 questions and its
 * defaults, which holds some of them out and keeps what gains; `adapt-auto` for the same beside
 * what the documents give.
 *
 * The questions are those of `qa/reddit` in `--data`: training questions are about passages with an
 * even number, each read once; the test questions are about the others, the same for all runs. A
 * seed draws the training questions and their order. A run is a line of `--results`; one that is
 * there is not run again, so a benchmark that is stopped goes on with the same command.
 */

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { exactMatch } from "../src/evaluation/answers.ts";
import { pairedDifference } from "../src/evaluation/significance.ts";
import { mean } from "../src/math/mean.ts";
import { createRandom } from "../src/math/random.ts";
import { hitLists } from "../src/reatt/retrieving.ts";
import { ReAtt } from "../src/reatt.ts";
import { readPassages } from "../src/text/read-passages.ts";
import { adapt } from "../src/training/adapt.ts";
import {
  readTrainingFile,
  type TrainingQuestion,
} from "../src/training/examples/training-questions.ts";
import type { ObjectiveName } from "../src/training/objectives/index.ts";
import { train } from "../src/training/train.ts";

/** As `adapt` trains a model of BERT layers, but for the number of questions of a step. */
const OPTIONS = { questions: 8, candidatesPerQuestion: 4, alpha: 1, learningRate: 2e-5 } as const;
/** `--sources auto` with as many steps as 15 minutes give on two free cores. */
const BESIDE_DOCUMENTS = {
  sources: ["auto"],
  objective: "retrieval",
  steps: 120,
  questions: 32,
  candidatesPerQuestion: 2,
  maxPassageTokens: 192,
  index: false,
} as const;
/** Questions of `adapt`. */
const ADAPTED = 200;
const SEARCHED = 400;
const ANSWERED = 240;

type Objective = ObjectiveName | "adapt" | "adapt-auto";

/** Of each test question: whether the first passage is the right one, and the answer exact. */
interface Figures {
  readonly alone: readonly number[];
  readonly hybrid: readonly number[];
  readonly exactMatch: readonly number[];
}

interface Result extends Figures {
  /** "start" for the given model. */
  readonly objective: Objective | "start";
  readonly seed: number;
  readonly date: string;
  readonly commit: string;
  /** Processor time of the steps. */
  readonly seconds: number;
}

const { values } = parseArgs({
  options: {
    results: { type: "string", default: "benchmarks/answer-objectives/results.jsonl" },
    data: { type: "string", default: "../shared/data" },
    work: { type: "string", default: "runs/answer-objectives" },
    model: { type: "string", default: "models/reatt-mini" },
    objectives: { type: "string", default: "likelihood,qa,supervised,retrieval" },
    seeds: { type: "string", default: "0,1,2" },
    steps: { type: "string", default: "30" },
    report: { type: "boolean", default: false },
  },
});
const { results, data, work, model } = values;
const corpus = join(data, "qa/reddit/corpus.jsonl.gz");

if (!values.report) {
  await mkdir(dirname(results), { recursive: true });
  const all = await readTrainingFile(join(data, "qa/reddit/questions.jsonl.gz"));
  const isEven = ({ passageId }: TrainingQuestion): boolean =>
    Number(passageId!.split("/")[1]) % 2 === 0;
  const test = createRandom("test").shuffle(all.filter((one) => !isEven(one)));
  const tested = test.slice(0, SEARCHED);
  await runOnce("start", 0, [], tested);
  for (const seed of values.seeds.split(",").map(Number)) {
    const drawn = createRandom("training", seed).shuffle(all.filter(isEven));
    const questions = drawn.slice(0, Number(values.steps) * OPTIONS.questions);
    for (const objective of values.objectives.split(",") as Objective[])
      await runOnce(objective, seed, questions, tested);
  }
}
console.log(reportOf(await readResults()));

async function runOnce(
  objective: Result["objective"],
  seed: number,
  questions: readonly TrainingQuestion[],
  tested: readonly TrainingQuestion[],
): Promise<void> {
  const done = await readResults();
  if (done.some((one) => one.objective === objective && one.seed === seed)) return;
  const folder = join(work, `${objective}-${seed}`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const before = process.cpuUsage();
  if (objective === "adapt" || objective === "adapt-auto")
    await adaptTo(questions.slice(0, ADAPTED), { objective, seed, folder });
  else if (objective !== "start") await trainOn(questions, { objective, seed, folder });
  const { user, system } = process.cpuUsage(before);
  const trained = objective === "start" ? model : join(folder, "model");
  const figures = await measure(trained, tested, join(folder, "index"));
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const date = new Date().toISOString().slice(0, 10);
  const result = { objective, seed, date, commit, seconds: (user + system) / 1e6, ...figures };
  await appendFile(results, `${JSON.stringify(result)}\n`);
  await rm(folder, { recursive: true, force: true });
  console.error(new Date().toISOString(), objective, seed, summary(figures));
}

/** Trains on questions and answers alone; the state after the last step is kept. */
async function trainOn(
  questions: readonly TrainingQuestion[],
  { objective, seed, folder }: { objective: ObjectiveName; seed: number; folder: string },
): Promise<void> {
  const file = await writeQuestions(questions, folder);
  const { alpha, ...others } = OPTIONS;
  const weighted = objective === "qa" || objective === "retrieval" ? {} : { alpha };
  const out = join(folder, "model");
  const steps = Number(values.steps);
  const run = train({
    ...others,
    ...weighted,
    objective,
    seed,
    steps,
    model,
    corpus,
    out,
    data: file,
    holdOut: false,
  });
  for (let next = await run.next(); !next.done; next = await run.next())
    if (next.value.type === "step") console.error(objective, next.value.step, next.value.losses);
}

async function adaptTo(
  questions: readonly TrainingQuestion[],
  { objective, seed, folder }: { objective: Objective; seed: number; folder: string },
): Promise<void> {
  const data = await writeQuestions(questions, folder);
  const others = objective === "adapt-auto" ? BESIDE_DOCUMENTS : {};
  const run = adapt({ model, corpus, data, seed, out: join(folder, "model"), ...others });
  for (let next = await run.next(); ; next = await run.next()) {
    if (next.done) return console.error(next.value.verdict);
    if (next.value.type === "step") console.error(objective, next.value.step, next.value.losses);
  }
}

/** Without the passages that they are about. */
async function writeQuestions(
  questions: readonly TrainingQuestion[],
  folder: string,
): Promise<string> {
  const file = join(folder, "questions.jsonl");
  const lines = questions.map(({ id, question, answers }) => ({ id, question, answers }));
  await writeFile(file, lines.map((one) => `${JSON.stringify(one)}\n`).join(""));
  return file;
}

/** Exact search, and answers of hybrid search with the defaults, also if the model is not sure. */
async function measure(
  folder: string,
  tested: readonly TrainingQuestion[],
  directory: string,
): Promise<Figures> {
  await using reatt = await ReAtt.load(folder);
  const built = await reatt.index(readPassages(corpus), { directory, replace: true });
  await built[Symbol.asyncDispose]();
  await using index = await reatt.openIndex(directory, { preset: "exact" });
  const texts = tested.map(({ question }) => question);
  const firsts = async (hybrid: boolean): Promise<number[]> => {
    const found = await hitLists(reatt.retrieve(texts, index, { topK: 10, hybrid }));
    return tested.map(({ passageId }, i) => Number(found[i]![0]?.id === passageId));
  };
  const right: number[] = [];
  for (const { question, answers } of tested.slice(0, ANSWERED)) {
    const { answer } = await reatt.answer(question, index, { minimumConfidence: 0 });
    right.push(Number(exactMatch(answer ?? "", answers)));
  }
  return { alone: await firsts(false), hybrid: await firsts(true), exactMatch: right };
}

async function readResults(): Promise<Result[]> {
  if (!existsSync(results)) return [];
  const lines = (await readFile(results, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line));
}

/** The mean over the seeds with that of each seed, and the paired gain with its interval. */
function reportOf(all: readonly Result[]): string {
  const start = all.find(({ objective }) => objective === "start");
  if (!start) return "nothing is measured";
  const names = [...new Set(all.map(({ objective }) => objective))];
  const measures = ["alone", "hybrid", "exactMatch"] as const;
  const rows = names.map((name) => {
    const runs = all.filter(({ objective }) => objective === name);
    const cells = measures.map((measure) => {
      const means = runs.map((run) => points(mean(run[measure])));
      if (name === "start") return means[0]!;
      const ofQuestions = start[measure].map((_, i) => mean(runs.map((run) => run[measure][i]!)));
      const { difference, interval } = pairedDifference(start[measure], ofQuestions);
      const [low, high] = interval.map(signed);
      return `${signed(difference)} (${low} to ${high}): ${means.join(", ")}`;
    });
    const seconds = mean(runs.map((run) => run.seconds)) / Number(values.steps);
    return [name, ...cells, name.startsWith("adapt") ? "" : seconds.toFixed(1)]; // it measures, too
  });
  const heads = ["", "R@1 model", "R@1 hybrid", "exact match", "processor seconds a step"];
  return [heads, heads.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

function summary({ alone, hybrid, exactMatch: right }: Figures): string {
  return [alone, hybrid, right].map((one) => points(mean(one))).join(" / ");
}

function points(value: number): string {
  return (100 * value).toFixed(1);
}

function signed(value: number): string {
  return `${value < 0 ? "-" : "+"}${points(Math.abs(value))}`;
}
