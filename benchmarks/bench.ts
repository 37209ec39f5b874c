/**
 * Measures the quick start: loading, building the index, answering, searching compressed indexes,
 * how close the encoder comes to the speed of its matrix products, and other engines and encoders
 * beside them.
 *
 *     npm run bench -- [--corpus FILE,...] [--passages N] [--read-top-k K] [--repetitions N]
 *         [--questions FILE] [--large]
 *         [--json]
 *
 * `--questions` are those of the searches, 200 spread over the file. `benchmarks/peers/install`
 * installs the engines and encoders that are compared; those that are missing are named.
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
import { type AnswerTimes, timeAnswers } from "./bench/answer-stages.ts";
import { type Comparison, compareLower, compareUpper } from "./bench/matmul.ts";
import { compareEncoders, type EncoderRows, encoderLines } from "./bench/peer-encoders.ts";
import { compareEngines, type EngineRows, engineLines } from "./bench/peers.ts";
import { compareSearches, type SearchRow, searchLines } from "./bench/searches.ts";
import { median, Stopwatch } from "./bench/timing.ts";
import { RANDOM_MODELS, randomModel } from "./bench-memory/random-model.ts";
import { type TaskReport, taskReports } from "./bench-memory/reports.ts";

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

const { values } = parseArgs({
  options: {
    corpus: { type: "string", default: "data/squad/corpus.jsonl" },
    passages: { type: "string", default: "1000000" }, // all
    "read-top-k": { type: "string", default: "5" },
    repetitions: { type: "string", default: "10" },
    questions: { type: "string", default: "../shared/data/squad/dev.jsonl" },
    large: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

interface Report {
  readonly processor: string;
  readonly cores: number;
  /** Load average of the last minute, before and after. */
  readonly load: readonly number[];
  /** Seconds. */
  readonly loading: number;
  readonly build: BuildTimes;
  readonly lower: Comparison;
  readonly upper: Comparison;
  readonly answers: AnswerTimes & { readonly readTopK: number };
  /** One thread. Absent without a file of questions. */
  readonly searches?: readonly SearchRow[];
  readonly engines?: EngineRows;
  readonly encoders: EncoderRows;
  /** Of a T5-large, 64 passages indexed and 10 read. */
  readonly large?: readonly TaskReport[];
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

async function measure(folder: string): Promise<Report> {
  const say = (what: string): boolean => process.stderr.write(`${what} ...\n`);
  const before = loadavg()[0]!;
  say("loading");
  const loading = await timeLoading();
  const passages: Passage[] = [];
  for (const path of values.corpus.split(","))
    for await (const passage of readPassages(path))
      if (passages.length < Number(values.passages)) passages.push(passage);
  await using model = await ReAtt.load(MODEL);
  const { config, tokenizer } = model;
  await using files = await openStored(MODEL, config);
  const stored = await findWeights(files, config);
  say("building the index");
  const build = await timeBuild(model, stored, passages, join(folder, "exact"));
  say("comparing with plain products");
  const lengths = passages.map(
    (passage) => passageIds(tokenizer, passage, MAX_PASSAGE_TOKENS).length,
  );
  const [batch, length] = middleBatch(lengths);
  const weights = await loadWeights(MODEL, config); // the products beside them are of float32
  const lower = await compareLower(config, weights, batch, length);
  const upper = await compareUpper(config, weights, batch, length);
  say("answering");
  const exact = join(folder, "exact");
  await using index = await model.openIndex(exact);
  const readTopK = Number(values["read-top-k"]);
  const answers = await timeAnswers(
    model,
    index,
    stored,
    QUESTIONS,
    readTopK,
    Number(values.repetitions),
  );
  const searches = await measureSearches(model, folder);
  const encoders = await compareEncoders(
    MODEL,
    folder,
    passages.slice(0, ENCODED).map(({ text }) => text),
  );
  return {
    processor: cpus()[0]!.model,
    cores: cpus().length,
    load: [before, loadavg()[0]!],
    loading,
    build,
    lower,
    upper,
    answers: { readTopK, ...answers },
    ...searches,
    encoders,
    ...(values.large && { large: await measureLarge() }),
  };
}

const SEARCHES = 200;
/** Passages that the encoders encode, at most. */
const ENCODED = 1_000;

async function measureSearches(
  model: ReAtt,
  folder: string,
): Promise<Required<Pick<Report, "searches" | "engines">> | undefined> {
  if (!existsSync(values.questions)) {
    process.stderr.write(`no searches: ${values.questions} is missing\n`);
    return undefined;
  }
  process.stderr.write("searching ...\n");
  const all = await readQuestions(values.questions);
  const count = Math.min(SEARCHES, all.length);
  const spread = Array.from(
    { length: count },
    (_, i) => all[Math.floor((i * all.length) / count)]!.question,
  );
  const vectors = await model.encodeQuestions(spread);
  const questions = spread.map((text, i) => ({ text, vectors: vectors[i]! }));
  const exact = join(folder, "exact");
  const searches = await compareSearches(exact, folder, questions, model.config.hybrid!);
  const isAsked = (_: unknown, i: number): boolean => i % 2 === 0; // fast-plaid takes a second each
  const asked = vectors.filter(isAsked);
  const engines = await compareEngines(exact, folder, asked, searches.exact.filter(isAsked));
  return { searches: searches.rows, engines };
}

async function measureLarge(): Promise<TaskReport[]> {
  process.stderr.write("a T5-large ...\n");
  const model = await randomModel(RANDOM_MODELS, "large", "fp32");
  const reports: TaskReport[] = [];
  for await (const report of taskReports(model, { passages: 64, topK: 10 })) reports.push(report);
  return reports;
}

function format(report: Report): string {
  const {
    processor,
    cores,
    load,
    loading,
    build,
    lower,
    upper,
    answers,
    searches,
    engines,
    encoders,
    large = [],
  } = report;
  const ofProducts = ({ gigaflops, plainGigaflops, ratio }: Comparison): string =>
    `${gigaflops.toFixed(0)} GFLOP/s, ${ratio.toFixed(2)} of plain MatMul (${plainGigaflops.toFixed(0)} GFLOP/s)`;
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  const { seconds, tokenising, encoding } = build;
  const rows: [name: string, value: string][] = [
    [
      "processor",
      `${processor}, ${cores} cores, load ${load.map((value) => value.toFixed(1)).join(" to ")}`,
    ],
    ["load", `${loading.toFixed(2)} s`],
    [
      "index",
      `${build.passages} passages, ${build.tokens} tokens in ${seconds.toFixed(1)} s: ` +
        `${(build.passages / seconds).toFixed(0)} passages/s, ${(build.tokens / seconds).toFixed(0)} tokens/s`,
    ],
    ["  tokenising", `${tokenising.toFixed(1)} s`],
    ["  encoding", `${encoding.toFixed(1)} s`],
    ["  writing", `${(seconds - tokenising - encoding).toFixed(1)} s`],
    ["lower layers, float32", ofProducts(lower)],
    ["upper layers, float32", ofProducts(upper)],
    [
      "answer",
      `${ms(answers.total)}, reading ${answers.readTopK} passages, ${answers.tokens.toFixed(0)} tokens`,
    ],
    ...Object.entries(answers.stages).map(([stage, time]): [string, string] => [
      `  ${stage}`,
      ms(time),
    ]),
    ["    a step", `${ms(answers.step)}, ${answers.steps.toFixed(1)} steps an answer`],
    ...searchLines(searches ?? []),
    ...(engines ? engineLines(engines) : []),
    ...encoderLines(encoders),
    ...large.map(({ what, seconds, megabytes }): [string, string] => [
      `T5-large: ${what}`,
      [
        ...Object.entries(seconds).map(([stage, time]) => `${stage} ${time} s`),
        `${megabytes} MB`,
      ].join(", "),
    ]),
  ];
  return rows.map(([name, value]) => `${name.padEnd(24)}${value}`).join("\n");
}

const folder = await mkdtemp(join(tmpdir(), "reatt-bench-"));
try {
  const report = await measure(folder);
  process.stdout.write(`${values.json ? JSON.stringify(report) : format(report)}\n`);
} finally {
  await rm(folder, { recursive: true });
}
