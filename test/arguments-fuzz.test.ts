/**
 * Fuzzing of the arguments of the public functions: a call works or throws an `InputError` of one
 * line. FUZZ_RUNS sets the number of calls of each function.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  calibrationReport,
  crossValidatedConfidence,
  evaluateAnswers,
  evaluateRun,
  exactMatch,
  f1,
  fitCalibration,
  fitScoreCalibration,
  readPredictions,
  readQrels,
  readRun,
  storeCalibration,
} from "../src/evaluation/index.ts";
import {
  calibratedConfidence,
  compactIndex,
  convertModel,
  deletePassages,
  InputError,
  indexInfo,
  mergeShards,
  openLexicalIndex,
  parseWhere,
  ReAtt,
  readDocuments,
  readPassages,
  readQuestions,
  verifyIndex,
} from "../src/index.ts";
import { adapt } from "../src/training/adapt.ts";
import { mineNegatives } from "../src/training/negatives/mine-negatives.ts";
import { trainPhrases } from "../src/training/phrases/train-phrases.ts";
import { trainPruning } from "../src/training/pruning/train-pruning.ts";
import { train } from "../src/training/train.ts";
import { calibrationOf } from "./support/calibration.ts";

const RUNS = Number(process.env.FUZZ_RUNS ?? 60);

const folder = mkdtempSync(join(tmpdir(), "reatt-fuzz-"));
const LION = { id: "lion", title: "Lion", text: "The lion lives in Africa." };
const RHINE = { id: "rhine", title: "Rhine", text: "The Rhine flows to the North Sea." };
const model = await ReAtt.load("models/reatt-mini", { threads: 1 });
const directory = join(folder, "index");
const index = await model.index([LION, RHINE], { directory });
const documents = join(folder, "documents");
mkdirSync(documents);
writeFileSync(join(documents, "a.txt"), "The Rhine flows through six countries.");
const lexical = await openLexicalIndex(index);
const [vectors] = await model.encodeQuestions(["Where?"]);
test.after(async () => {
  await index.close();
  await model.close();
  rmSync(folder, { recursive: true });
});

// Text is no path outside of the temporary folder, and no option starts a GPU or many threads.
const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true });
const notText = anything.filter((value) => typeof value !== "string");
const bad = fc.oneof(
  anything,
  fc.constantFrom("", "\0", "5", "lion", Symbol("s"), () => {}),
);
/** Most values are of the kind that is asked for. */
const mostly = (arbitrary: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 30, arbitrary }, { weight: 1, arbitrary: bad });
const number = fc.oneof(
  fc.integer({ min: -2, max: 12 }),
  fc.double(),
  fc.constantFrom(2 ** 31, 2 ** 53, -0, Infinity),
);
const text = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom("Where?", "What is the Rhine?") },
  { weight: 1, arbitrary: fc.string() },
);
const question = fc.oneof(mostly(text), fc.array(mostly(text), { maxLength: 3 }));
const passage = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom(LION, RHINE) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        ...{ id: mostly(fc.string()), title: mostly(fc.string()), text: mostly(fc.string()) },
        ...{ document: mostly(fc.string()), metadata: mostly(fc.dictionary(fc.string(), bad)) },
      },
      { requiredKeys: [] },
    ),
  },
  { weight: 1, arbitrary: bad },
);
const passages = mostly(fc.uniqueArray(passage, { minLength: 1, maxLength: 3 }));
const place = fc.oneof(
  { weight: 30, arbitrary: fc.constant(directory) },
  { weight: 1, arbitrary: notText },
  { weight: 1, arbitrary: fc.constantFrom("", "a\0b") },
);
const signal = mostly(fc.constant(new AbortController().signal));
const small = fc.oneof(
  { weight: 60, arbitrary: fc.integer({ min: 1, max: 3 }) },
  { weight: 1, arbitrary: number },
  { weight: 1, arbitrary: bad },
);
const fraction = mostly(fc.double({ min: 0, max: 1, noNaN: true }));

/**
 * Some of these options (`required` nearly always), each with a value of its kind or any other, and
 * unknown names.
 */
const options = (
  known: Readonly<Record<string, fc.Arbitrary<unknown>>>,
  required: readonly string[] = [],
) =>
  fc.oneof(
    { weight: 20, arbitrary: fc.record(known, { requiredKeys: [...required] }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.record(known, { requiredKeys: [] }), fc.dictionary(fc.string(), bad))
        .map(([own, unknown]) => ({ ...own, ...unknown })),
    },
    { weight: 1, arbitrary: bad },
  );

const where = mostly(
  fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom("year", "and", "or", "not", "document")),
    fc.oneof(
      fc.constantFrom("x", 3, true),
      mostly(fc.record({ gte: mostly(number), contains: mostly(fc.string()) })),
      fc.array(mostly(fc.constant({ year: 3 }))),
      bad,
    ),
  ),
);

const rankOptions = {
  topK: small,
  granularity: mostly(fc.constantFrom("passage", "document")),
  filter: mostly(fc.constant(new Set(["lion"]))),
  where,
  hybrid: mostly(
    options({ lambda: fraction, k1: fraction, b: fraction, lexical: fc.constant(lexical) }, [
      "lambda",
    ]),
  ),
  signal,
};
const readOptions = {
  maxInputTokens: mostly(fc.integer({ min: 4, max: 40 })),
  maxAnswerTokens: small,
  extractive: mostly(fc.boolean()),
  minimumConfidence: mostly(fc.double({ min: 0, max: 1 })),
  onText: mostly(fc.constant(() => {})),
  signal,
};
const indexOptions = {
  directory: place.map((given) => (given === directory ? join(folder, "built") : given)),
  bits: mostly(fc.constantFrom(1, 2, 4, 8, 32)),
  replace: mostly(fc.constant(true)),
  keepRatio: mostly(fc.constantFrom(0.25, 0.5, 1)),
  keepStates: mostly(fc.boolean()),
  maxPassageTokens: mostly(fc.integer({ min: 1, max: 600 })),
  shard: fc.option(fc.record({ index: small, count: small }), { nil: undefined, freq: 1 }),
  onProgress: mostly(fc.constant(() => {})),
  signal,
};
const openOptions = {
  preset: mostly(fc.constantFrom("fast", "exact")),
  engine: mostly(fc.constant("onnxruntime")),
  memoryLimit: mostly(fc.integer({ min: 0, max: 2 ** 30 })),
  threads: mostly(fc.integer({ min: -1, max: 2 })),
  signal,
};
const target = options({ directory: place, signal }, ["directory"]);
const opened = mostly(fc.constant(index));
const files = { model: notText, corpus: notText, data: notText, out: notText };
const trainOptions = options({
  ...files,
  ...{ steps: number, querySide: bad, tau: number, objective: bad, weights: bad, resume: bad },
});

const documentOptions = {
  passageWords: mostly(fc.integer({ min: 9, max: 40 })),
  overlapWords: mostly(fc.integer({ min: 0, max: 8 })),
  onProgress: mostly(fc.constant(() => {})),
  signal,
};
const signals = mostly(
  fc.record({
    ...{ likelihood: mostly(fc.double()), margin: fraction, attention: fraction },
    ...{ length: mostly(fc.double({ min: 0, max: 4 })), quoted: fraction },
  }),
);
const outcomes = mostly(
  fc.array(mostly(fc.record({ signals, correct: mostly(fc.boolean()) })), { maxLength: 40 }),
);
const calibration = mostly(
  fc.record({ intercept: mostly(fc.double()), signals: fc.constant(calibrationOf(0, {}).signals) }),
);
const texts = mostly(fc.array(mostly(fc.string()), { maxLength: 3 }));
const mapOf = (value: fc.Arbitrary<unknown>) =>
  mostly(fc.dictionary(fc.string(), value).map((record) => new Map(Object.entries(record))));

// biome-ignore lint/suspicious/noExplicitAny: the values have any type
type Call = (...values: any[]) => unknown;

const CALLS: Readonly<Record<string, readonly [Call, ...fc.Arbitrary<unknown>[]]>> = {
  load: [ReAtt.load, notText, options({ provider: bad, threads: bad })],
  "load a model": [
    (given) => ReAtt.load("models/reatt-mini", { ...Object(given), thread: 1 }),
    options({ provider: bad, threads: bad }),
  ],
  convertModel: [
    convertModel,
    notText.filter((value) => value !== undefined),
    options({ out: mostly(fc.constant(join(folder, "converted"))), precision: bad }),
  ],
  index: [(...all) => model.index(all[0], all[1]), passages, options(indexOptions, ["directory"])],
  forecast: [
    (...all) => model.forecast(all[0], all[1]),
    passages,
    options(indexOptions, ["directory"]),
  ],
  add: [
    (...all) => model.add(all[0], all[1]),
    passages,
    options({ directory: place, onProgress: mostly(fc.constant(() => {})), signal }, ["directory"]),
  ],
  openIndex: [(...all) => model.openIndex(all[0], all[1]), place, options(openOptions)],
  encodeQuestions: [
    (...all) => model.encodeQuestions(all[0], all[1]),
    question,
    options({ signal }),
  ],
  retrieve: [
    (...all) => model.retrieve(all[0], all[1], all[2]),
    question,
    opened,
    options(rankOptions),
  ],
  phrases: [
    (...all) => model.phrases(all[0], all[1], all[2]),
    question,
    opened,
    options({
      ...{ topK: small, filter: rankOptions.filter, signal },
      granularity: mostly(fc.constantFrom("phrase", "sentence", "passage", "document")),
    }),
  ],
  read: [
    (...all) => model.read(all[0], all[1], all[2]),
    question,
    fc.oneof(passages, fc.array(passages, { maxLength: 3 })),
    options({ ...readOptions, maxPassageTokens: small }),
  ],
  answer: [
    (...all) => model.answer(all[0], all[1], all[2]),
    question,
    opened,
    options({ ...rankOptions, readTopK: small, ...readOptions }),
  ],
  deletePassages: [
    deletePassages,
    mostly(fc.array(mostly(fc.string()))),
    options({ directory: place }, ["directory"]),
  ],
  compactIndex: [compactIndex, target],
  mergeShards: [mergeShards, mostly(fc.array(place)), options({ directory: notText, bits: small })],
  indexInfo: [indexInfo, place],
  verifyIndex: [verifyIndex, place, options({ signal })],
  openLexicalIndex: [openLexicalIndex, opened, options({ k1: fraction, b: fraction, signal })],
  readPassages: [readPassages, notText, signal],
  readQuestions: [readQuestions, notText, signal],
  train: [train, trainOptions],
  adapt: [adapt, trainOptions],
  trainPhrases: [trainPhrases, trainOptions],
  trainPruning: [trainPruning, trainOptions],
  mineNegatives: [mineNegatives, trainOptions],
  "index.search": [
    (...all) => index.search(all[0], all[1]),
    mostly(fc.constant(vectors)),
    options({ topK: small, filter: rankOptions.filter, signal }, ["topK"]),
  ],
  "index.searchBatch": [
    (...all) => index.searchBatch(all[0], all[1]),
    mostly(fc.constant([vectors])),
    options({ topK: small, filter: rankOptions.filter, signal }, ["topK"]),
  ],
  "index.score": [
    (...all) => index.score(all[0], all[1]),
    mostly(fc.constant(vectors)),
    mostly(fc.array(fc.oneof(fc.integer({ min: 0, max: 1 }), number), { maxLength: 3 })),
  ],
  "index.passages": [
    (given) => index.passages(given),
    mostly(fc.array(fc.oneof(fc.integer({ min: 0, max: 1 }), number), { maxLength: 3 })),
  ],
  "index.states": [
    (given) => index.states(given),
    mostly(fc.array(fc.oneof(fc.integer({ min: 0, max: 1 }), number), { maxLength: 3 })),
  ],
  explain: [
    (...all) => model.explain(all[0], all[1], all[2]),
    mostly(text),
    mostly(fc.constant(LION)),
    opened,
  ],
  parseWhere: [parseWhere, fc.oneof(fc.string(), anything)],
  rerank: [
    (...all) => model.rerank(all[0], all[1], all[2]),
    mostly(text),
    passages,
    options({ topK: small, maxPassageTokens: small, signal }),
  ],
  sync: [
    (...all) => model.sync(all[0], all[1]),
    mostly(fc.constantFrom(documents, join(documents, "a.txt"), join(folder, "missing"))),
    options({ directory: mostly(fc.constant(join(folder, "synced"))), ...documentOptions }, [
      "directory",
    ]),
  ],
  readDocuments: [
    readDocuments,
    mostly(fc.constant(documents)),
    options({ ...documentOptions, tokenizer: mostly(fc.constant(model.tokenizer)) }),
  ],
  encode: [(...all) => model.tokenizer.encode(all[0], all[1]), mostly(fc.string()), small],
  decode: [
    (given) => model.tokenizer.decode(given),
    mostly(fc.array(fc.integer({ min: 0, max: 40_000 }))),
  ],
  exactMatch: [exactMatch, mostly(fc.string()), texts],
  f1: [f1, mostly(fc.string()), texts],
  evaluateAnswers: [
    evaluateAnswers,
    mapOf(mostly(fc.record({ answer: mostly(fc.string()), passages: texts }))),
    mostly(fc.array(mostly(fc.record({ id: mostly(fc.string()), answers: texts })))),
    mostly(fc.array(small, { maxLength: 3 })),
  ],
  evaluateRun: [
    evaluateRun,
    mapOf(mostly(fc.array(mostly(fc.record({ id: mostly(fc.string()), score: number }))))),
    mapOf(mapOf(mostly(fc.integer()))),
    mostly(fc.array(small, { maxLength: 3 })),
  ],
  calibrationReport: [
    calibrationReport,
    mostly(fc.array(mostly(fc.record({ confidence: fraction, correct: mostly(fc.boolean()) })))),
  ],
  fitCalibration: [fitCalibration, outcomes],
  crossValidatedConfidence: [crossValidatedConfidence, outcomes, texts],
  calibratedConfidence: [calibratedConfidence, calibration, signals],
  fitScoreCalibration: [
    fitScoreCalibration,
    mostly(
      fc.array(
        fc.array(
          mostly(
            fc.record({ similarity: fraction, words: fraction, relevant: mostly(fc.boolean()) }),
          ),
        ),
      ),
    ),
    fraction,
  ],
  storeCalibration: [storeCalibration, notText, mostly(fc.record({ calibration })), notText],
  readQrels: [readQrels, notText],
  readRun: [readRun, notText],
  readPredictions: [readPredictions, notText],
  "index.matching": [(given) => index.matching(given), where],
  "index.matches": [
    (...all) => index.matches(all[0], all[1]),
    mostly(fc.constant(vectors)),
    fc.oneof(fc.integer({ min: 0, max: 1 }), bad),
  ],
  "index.snapshot": [
    (given) => index.snapshot(given),
    anything.filter((value) => typeof value !== "function"),
  ],
  "index.products": [
    (...all) => index.products(all[0], all[1]),
    mostly(fc.constant(vectors)),
    fc.oneof(fc.integer({ min: 0, max: 1 }), bad),
  ],
  "index.keys": [
    (...all) => index.keys(all[0], all[1]),
    fc.oneof(fc.integer({ min: 0, max: 1 }), bad),
    mostly(fc.array(fc.oneof(fc.integer({ min: 0, max: 3 }), number), { maxLength: 3 })),
  ],
  "index.find": [(given) => index.find(given), mostly(fc.string())],
  "lexical.search": [
    (...all) => lexical.search(all[0], all[1]),
    mostly(fc.string()),
    options({ topK: small, filter: rankOptions.filter }, ["topK"]),
  ],
  "lexical.score": [
    (...all) => lexical.score(all[0], all[1]),
    mostly(fc.string()),
    mostly(fc.array(fc.string())),
  ],
};

/** Runs a call to its end, and closes what it opened. */
async function finish(given: unknown): Promise<void> {
  const result = (await given) as Partial<AsyncGenerator & AsyncDisposable> | undefined;
  if (typeof result?.next === "function") for (;;) if ((await result.next()).done) return;
  await result?.[Symbol.asyncDispose]?.();
}

for (const [name, [call, ...values]] of Object.entries(CALLS))
  test(`${name} works or throws an InputError`, async () => {
    const numRuns = name === "index" ? Math.ceil(RUNS / 10) : RUNS; // it compresses and writes
    const counts = { worked: 0, refused: 0 };
    const property = fc.asyncProperty(fc.tuple(...values), async (given) => {
      try {
        await finish(call(...given));
        counts.worked++;
      } catch (error) {
        assert.instance(error, InputError, `${(error as Error)?.stack ?? error}`);
        assert.match((error as Error).message, /^[^\n]+: expected [^\n]+, got [^\n]*; [^\n]+$/);
        counts.refused++;
      }
    });
    await fc.assert(property, { numRuns, seed: 24 });
    if (process.env.FUZZ_RUNS) console.log(name, counts);
  });

test.run();
