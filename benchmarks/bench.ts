/**
 * Measures the quick start, other engines and encoders beside it, and whole commands. Each table is
 * printed as soon as it is measured.
 *
 *     npm run bench -- [--only PART,...] [--corpus FILE,...] [--passages N] [--read-top-k K]
 *         [--repetitions N] [--questions FILE] [--large] [--json]
 *
 * | part | measures |
 * |---|---|
 * | `answers` | loading, building the index, plain matrix products beside the layers, answering |
 * | `engines` | searches of compressed indexes, and other engines |
 * | `encoders` | the encoder, and others |
 * | `commands` | `reatt retrieve` and `reatt answer` from start to end, after `npm run build` |
 *
 * `--questions` are those of the searches, 200 spread over the file. `benchmarks/peers/install`
 * installs the engines and encoders that are compared. What is missing is named and left out.
 *
 * `--large` also measures a T5-large with random weights, the size of the authors' checkpoints:
 * load, index, search, answer, and the memory of each. It is made at the first run (3.2 GB).
 *
 * Ratios compare times measured alternately in one run. Times are meaningful only on an idle
 * machine: the load is printed with them. Progress goes to stderr.
 */

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { batchesByLength, TOKENS_PER_BATCH } from "../src/encoder/batching.ts";
import { encodeSequences, openRetrieverSession } from "../src/encoder/retriever-session.ts";
import { vectorSize } from "../src/model/config.ts";
import { findWeights, loadWeights, openStored } from "../src/model/load-weights.ts";
import { ReAtt } from "../src/reatt.ts";
import { buildIndex } from "../src/retrieval/index/write/build.ts";
import type { Weight } from "../src/tensor/onnx-weights.ts";
import type { Passage } from "../src/text/passage.ts";
import { readPassages, readQuestions } from "../src/text/read-passages.ts";
import { passageIds } from "../src/text/tokens/prompts.ts";
import { timeAnswers } from "./bench/answer-stages.ts";
import { commandLines, timeCommands } from "./bench/commands.ts";
import { type Comparison, compareLower, compareUpper } from "./bench/matmul.ts";
import { compareEncoders, encoderLines } from "./bench/peer-encoders.ts";
import { compareEngines, engineLines } from "./bench/peers.ts";
import { compareSearches, searchLines } from "./bench/searches.ts";
import { median, Stopwatch } from "./bench/timing.ts";
import { RANDOM_MODELS, randomModel } from "./bench-memory/random-model.ts";
import { taskReports } from "./bench-memory/reports.ts";

const MODEL = "models/reatt-mini";
const MAX_PASSAGE_TOKENS = 512;
const QUESTIONS = [
  "Who patented a steam engine in 1781?",
  "What is civil disobedience?",
  "When did the Normans come to England?",
  "Which city is the capital of Poland?",
  "What do plants use to make sugar?",
  "Where does the Rhine begin?",
];
const SEARCHES = 200;
/** Passages that the encoders encode, at most. */
const ENCODED = 1_000;

const PARTS = ["answers", "engines", "encoders", "commands"] as const;
type Part = (typeof PARTS)[number];

const { values } = parseArgs({
  options: {
    only: { type: "string", default: PARTS.join() },
    corpus: { type: "string", default: "data/squad/corpus.jsonl" },
    passages: { type: "string", default: "1000000" }, // all
    "read-top-k": { type: "string", default: "5" },
    repetitions: { type: "string", default: "10" },
    questions: { type: "string", default: "../shared/data/squad/dev.jsonl" },
    large: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const only = values.only.split(",");
const unknown = only.find((name) => !PARTS.includes(name as Part));
if (unknown !== undefined) throw new Error(`--only ${unknown}: not one of ${PARTS.join(", ")}`);
const isAsked = (...parts: readonly Part[]): boolean => parts.some((part) => only.includes(part));

/** What is printed when it is measured: with `--json`, a line with the figures. */
interface Table {
  readonly table: string;
  readonly figures: unknown;
  readonly rows: readonly (readonly [name: string, value: string])[];
}

interface BuildTimes {
  readonly passages: number;
  readonly tokens: number;
  /** Seconds, of which `tokenising` and `encoding`; the rest is writing. */
  readonly seconds: number;
  readonly tokenising: number;
  readonly encoding: number;
}

async function timeLoading(): Promise<number> {
  const watch = new Stopwatch();
  for (let i = 0; i < 3; i++) {
    const model = await watch.time("load", () => ReAtt.load(MODEL));
    await model[Symbol.asyncDispose]();
  }
  return median(watch.times.get("load")!) / 1000;
}

async function timeBuild(
  model: ReAtt,
  weights: ReadonlyMap<string, Weight>,
  passages: readonly Passage[],
  directory: string,
): Promise<BuildTimes> {
  const { config, tokenizer } = model;
  await using encoder = await openRetrieverSession(config, { weights });
  const watch = new Stopwatch();
  const header = {
    fingerprint: model.fingerprint,
    dimension: vectorSize(config),
    maxPassageTokens: MAX_PASSAGE_TOKENS,
    prompts: {},
  };
  let tokens = 0;
  const encode = async (window: readonly Passage[]): Promise<Float32Array[]> => {
    const ids = await watch.time("tokenising", async () =>
      window.map((passage) => passageIds(tokenizer, passage, MAX_PASSAGE_TOKENS)),
    );
    tokens += ids.reduce((sum, { length }) => sum + length, 0);
    return watch.time("encoding", () => encodeSequences(encoder, config, ids, "keys"));
  };
  await watch.time("build", () => buildIndex(passages, { directory, header, encode }));
  const seconds = (name: string): number => watch.total(name) / 1000;
  return {
    passages: passages.length,
    tokens,
    seconds: seconds("build"),
    tokenising: seconds("tokenising"),
    encoding: seconds("encoding"),
  };
}

/** Size and length of the middle batch of the encoder. */
function middleBatch(lengths: readonly number[]): [batch: number, length: number] {
  const batches = batchesByLength(lengths, TOKENS_PER_BATCH);
  const batch = batches[batches.length >> 1]!;
  return [batch.length, lengths[batch[0]!]!];
}

const say = (what: string): boolean => process.stderr.write(`${what} ...\n`);
const ms = (value: number): string => `${value.toFixed(1)} ms`;

async function readCorpus(): Promise<Passage[]> {
  const passages: Passage[] = [];
  for (const path of values.corpus.split(","))
    for await (const passage of readPassages(path))
      if (passages.length < Number(values.passages)) passages.push(passage);
  return passages;
}

async function* measure(folder: string): AsyncGenerator<Table> {
  yield machine();
  const passages = await readCorpus();
  if (isAsked("answers", "engines", "commands")) yield* measureIndex(passages, folder);
  if (isAsked("encoders")) {
    const texts = passages.slice(0, ENCODED).map(({ text }) => text);
    const figures = await compareEncoders(MODEL, folder, texts);
    yield { table: "encoders", figures, rows: encoderLines(figures) };
  }
  if (values.large) yield* measureLarge();
  yield machine();
}

function machine(): Table {
  const figures = { processor: cpus()[0]!.model, cores: cpus().length, load: loadavg()[0]! };
  const { processor, cores, load } = figures;
  const value = `${processor}, ${cores} cores, load ${load.toFixed(1)}`;
  return { table: "machine", figures, rows: [["processor", value]] };
}

/** What needs the index of the passages. */
async function* measureIndex(
  passages: readonly Passage[],
  folder: string,
): AsyncGenerator<Table, void> {
  if (isAsked("answers")) yield await measureLoading();
  await using model = await ReAtt.load(MODEL);
  await using files = await openStored(MODEL, model.config);
  const stored = await findWeights(files, model.config);
  const exact = join(folder, "exact");
  yield await measureBuild(model, stored, passages, exact);
  if (isAsked("answers")) {
    yield await measureProducts(model, passages);
    yield await measureAnswers(model, stored, exact);
  }
  if (isAsked("engines")) yield* measureSearches(model, exact, folder);
  if (isAsked("commands")) {
    const figures = await timeCommands(exact, QUESTIONS[0]!, Number(values.repetitions));
    yield { table: "commands", figures, rows: commandLines(figures) };
  }
}

async function measureLoading(): Promise<Table> {
  say("loading");
  const seconds = await timeLoading();
  return { table: "load", figures: { seconds }, rows: [["load", `${seconds.toFixed(2)} s`]] };
}

async function measureBuild(
  model: ReAtt,
  stored: ReadonlyMap<string, Weight>,
  all: readonly Passage[],
  directory: string,
): Promise<Table> {
  say("building the index");
  const figures = await timeBuild(model, stored, all, directory);
  const { passages, tokens, seconds, tokenising, encoding } = figures;
  const speed = (count: number, what: string) => `${(count / seconds).toFixed(0)} ${what}/s`;
  const rows = [
    [
      "index",
      `${passages} passages, ${tokens} tokens in ${seconds.toFixed(1)} s: ` +
        `${speed(passages, "passages")}, ${speed(tokens, "tokens")}`,
    ],
    ["  tokenising", `${tokenising.toFixed(1)} s`],
    ["  encoding", `${encoding.toFixed(1)} s`],
    ["  writing", `${(seconds - tokenising - encoding).toFixed(1)} s`],
  ] as const;
  return { table: "index", figures, rows };
}

async function measureProducts(
  { config, tokenizer }: ReAtt,
  passages: readonly Passage[],
): Promise<Table> {
  say("comparing with plain products");
  const lengths = passages.map(
    (passage) => passageIds(tokenizer, passage, MAX_PASSAGE_TOKENS).length,
  );
  const [batch, length] = middleBatch(lengths);
  const weights = await loadWeights(MODEL, config); // the products beside them are of float32
  const lower = await compareLower(config, weights, batch, length);
  const upper = await compareUpper(config, weights, batch, length);
  const line = ({ gigaflops, plainGigaflops, ratio }: Comparison): string =>
    `${gigaflops.toFixed(0)} GFLOP/s, ${ratio.toFixed(2)} of plain MatMul ` +
    `(${plainGigaflops.toFixed(0)} GFLOP/s)`;
  const rows = [
    ["lower layers, float32", line(lower)],
    ["upper layers, float32", line(upper)],
  ] as const;
  return { table: "products", figures: { lower, upper }, rows };
}

async function measureAnswers(
  model: ReAtt,
  stored: ReadonlyMap<string, Weight>,
  exact: string,
): Promise<Table> {
  say("answering");
  await using index = await model.openIndex(exact);
  const readTopK = Number(values["read-top-k"]);
  const repetitions = Number(values.repetitions);
  const answers = await timeAnswers(model, index, stored, QUESTIONS, readTopK, repetitions);
  const { total, tokens, stages, step, steps } = answers;
  const rows = [
    ["answer", `${ms(total)}, reading ${readTopK} passages, ${tokens.toFixed(0)} tokens`],
    ...Object.entries(stages).map(([stage, time]) => [`  ${stage}`, ms(time)] as const),
    ["    a step", `${ms(step)}, ${steps.toFixed(1)} steps an answer`],
  ] as const;
  return { table: "answers", figures: { readTopK, ...answers }, rows };
}

async function* measureSearches(
  model: ReAtt,
  exact: string,
  folder: string,
): AsyncGenerator<Table, void> {
  if (!existsSync(values.questions)) {
    const reason = `${values.questions} is missing`;
    yield {
      table: "searches",
      figures: { skipped: reason },
      rows: [["engines", `skipped: ${reason}`]],
    };
    return;
  }
  say("searching");
  const all = await readQuestions(values.questions);
  const count = Math.min(SEARCHES, all.length);
  const spread = Array.from(
    { length: count },
    (_, i) => all[Math.floor((i * all.length) / count)]!.question,
  );
  const vectors = await model.encodeQuestions(spread);
  const questions = spread.map((text, i) => ({ text, vectors: vectors[i]! }));
  const searches = await compareSearches(exact, folder, questions, model.config.hybrid!);
  yield { table: "searches", figures: searches.rows, rows: searchLines(searches.rows) };
  // fast-plaid takes a second for each
  const isOfHalf = (_: unknown, i: number): boolean => i % 2 === 0;
  const best = searches.exact.filter(isOfHalf);
  const engines = await compareEngines(exact, folder, vectors.filter(isOfHalf), best);
  yield { table: "engines", figures: engines, rows: engineLines(engines) };
}

async function* measureLarge(): AsyncGenerator<Table, void> {
  say("a T5-large");
  const model = await randomModel(RANDOM_MODELS, "large", "fp32");
  for await (const report of taskReports(model, { passages: 64, topK: 10 })) {
    const { what, seconds, megabytes } = report;
    const times = Object.entries(seconds).map(([stage, time]) => `${stage} ${time} s`);
    const value = [...times, `${megabytes} MB`].join(", ");
    yield { table: "T5-large", figures: report, rows: [[`T5-large: ${what}`, value]] };
  }
}

const folder = await mkdtemp(join(tmpdir(), "reatt-bench-"));
try {
  for await (const { rows, ...table } of measure(folder)) {
    const lines = rows.map(([name, value]) => `${name.padEnd(24)}${value}`);
    process.stdout.write(`${values.json ? JSON.stringify(table) : lines.join("\n")}\n`);
  }
} finally {
  await rm(folder, { recursive: true });
}
