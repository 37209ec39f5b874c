/**
 * Fits what a model says about its answers and its passages, on held-out articles, and stores it:
 * `confidence`, the threshold below which the model gives no answer, and the scores of passages.
 *
 *     npx tsx recipes/reatt-mini/calibrate.ts --model DIR --held-out DIR --out DIR
 *
 * The questions are those of `held-out/` of make-reading-data.ts, which nothing is trained on. They
 * are asked in an index of the passages of their collection:
 *
 * - every question as it is
 * - every second one without the article that it is about: other subjects
 * - the others without the passages that contain an accepted answer: near passages without one
 */

import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { formatCalibration } from "../../src/cli/calibration-text.ts";
import { startProgress } from "../../src/cli/progress.ts";
import { containsAnswer, exactMatch } from "../../src/evaluation/answers.ts";
import {
  crossValidatedConfidence,
  fitCalibration,
  thresholdFor,
} from "../../src/evaluation/calibration.ts";
import { calibrationReport } from "../../src/evaluation/calibration-report.ts";
import { fitScoreCalibration } from "../../src/evaluation/score-calibration.ts";
import { openAppendFile } from "../../src/io/append-file.ts";
import { replaceFile } from "../../src/io/replace-file.ts";
import type { AnswerSignals } from "../../src/model/answer-calibration.ts";
import type { HybridWeights } from "../../src/model/config.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { storeCalibration } from "../../src/model/store-calibration.ts";
import { ReAtt } from "../../src/reatt.ts";
import { type LexicalIndex, openLexicalIndex } from "../../src/retrieval/bm25/lexical-index.ts";
import { combineScores, hybridScores, MIN_CANDIDATES } from "../../src/retrieval/hybrid.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import {
  readTrainingFile,
  type TrainingQuestion,
} from "../../src/training/examples/training-questions.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    "held-out": { type: "string", default: "runs/reatt-mini/reading/held-out" },
    /** Where the folder of the calibrated model is written. Default: print only. */
    out: { type: "string" },
    /** Every Nth question. */
    every: { type: "string", default: "1" },
    /** Keeps the indexes and what was asked: the same command continues, or only fits. */
    work: { type: "string", default: "runs/reatt-mini/calibration" },
  },
});
const SETS = ["new-wiki", "squad"];
/** Hits of a question: as many as a person sees. */
const HITS = 10;

type Condition = "answerable" | "other subject" | "near passages";

interface Asked {
  readonly set: string;
  readonly group: string;
  readonly condition: Condition;
  readonly signals: AnswerSignals;
  readonly confidence: number;
  readonly correct: boolean;
  readonly hits: readonly {
    readonly relevant: boolean;
    readonly lexical: number;
    readonly dense: number;
  }[];
}

/** A collection: its passages with an index, and the cases to ask. */
async function openSet(model: ReAtt, set: string) {
  const passages: Passage[] = [];
  for await (const passage of readPassages(join(values["held-out"], `${set}-corpus.jsonl`)))
    passages.push(passage);
  const directory = join(values.work, `index-${set}`);
  const index = await (existsSync(directory)
    ? model.openIndex(directory)
    : model.index(passages, { directory, bits: 32 }));
  const { k1, b } = model.config.hybrid!;
  const lexical = await openLexicalIndex(index, { k1, b });
  const questions = await readTrainingFile(join(values["held-out"], `${set}.jsonl`));
  const cases = questions
    .filter((_, i) => i % Number(values.every) === 0)
    .flatMap((question, i): Case[] => [
      { set, question, condition: "answerable" },
      { set, question, condition: i % 2 === 0 ? "other subject" : "near passages" },
    ]);
  return { passages, searched: { model, index, lexical }, cases };
}

/** Which passages a case is asked over. */
function acceptedBy({ condition, question }: Case, passages: readonly Passage[]) {
  if (condition === "answerable") return () => true;
  const { passageId, answers = [] } = question;
  const subject = passages.find(({ id }) => id === passageId)!.title;
  const allowed = passages.map(({ id, title, text }) =>
    condition === "other subject"
      ? title !== subject
      : id !== passageId && !containsAnswer(text, answers),
  );
  return (ordinal: number) => allowed[ordinal]!;
}

interface Case {
  readonly set: string;
  readonly question: TrainingQuestion;
  readonly condition: Condition;
}

interface Searched {
  readonly model: ReAtt;
  readonly index: TokenIndex;
  readonly lexical: LexicalIndex;
}

async function ask(
  { model, index, lexical }: Searched,
  { set, question: { question: text, answers = [], passageId }, condition }: Case,
  accept: (ordinal: number) => boolean,
): Promise<Asked> {
  const weights = { ...model.config.hybrid!, lexical };
  const { bm25 } = lexical;
  const options = { filter: accept, minimumConfidence: 0, hybrid: weights };
  const { answer, signals, confidence } = await model.answer(text, index, options);
  const [vectors] = await model.encodeQuestions([text]);
  const [dense] = await index.rankings([vectors!], { topK: MIN_CANDIDATES, accept });
  const lists = { lexical: bm25.rank(text, MIN_CANDIDATES, { accept }), dense: dense! };
  const union = await hybridScores(index, bm25, { text, vectors: vectors! }, lists);
  const best = combineScores(union, weights.lambda, HITS);
  const hits = Array.from(best.ordinals, (ordinal) => {
    const at = union.ordinals.indexOf(ordinal);
    const relevant = bm25.ids[ordinal] === passageId;
    return { relevant, lexical: union.lexical[at]!, dense: union.dense[at]! };
  });
  const correct = condition === "answerable" && exactMatch(answer, answers);
  return { set, group: passageId!, condition, signals: signals!, confidence, correct, hits };
}

/** What was asked, also by a run that was stopped. */
async function asked(): Promise<readonly Asked[]> {
  const record = join(values.work, "asked.jsonl");
  await mkdir(values.work, { recursive: true });
  const text = existsSync(record) ? await readFile(record, "utf8") : "";
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  await replaceFile(record, (file) => file.writeFile(whole));
  const all: Asked[] = whole
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  await using model = await ReAtt.load(values.model);
  await using file = await openAppendFile(record);
  const known = all.length;
  let before = 0;
  for (const set of SETS) {
    const { passages, searched, cases } = await openSet(model, set);
    const progress = startProgress(`questions of ${set}`, cases.length);
    progress.resume(Math.max(0, Math.min(cases.length, known - before)));
    for (const [i, one] of cases.entries()) {
      if (before + i < known) continue;
      const reply = await ask(searched, one, acceptedBy(one, passages));
      await file.append(`${JSON.stringify(reply)}\n`);
      all.push(reply);
      progress.update(i + 1);
    }
    progress.stop();
    await searched.index[Symbol.asyncDispose]();
    before += cases.length;
  }
  return all;
}

/** What was asked, as a report and as what is stored. */
function fit(all: readonly Asked[], { lambda }: HybridWeights) {
  const calibration = fitCalibration(all);
  const confidences = crossValidatedConfidence(
    all,
    all.map(({ set, group }) => `${set} ${group}`),
  );
  const rated = all.map(({ condition, correct }, i) => ({
    ...{ confidence: confidences[i]!, correct, answerable: condition === "answerable" },
  }));
  const threshold = Math.floor(100 * thresholdFor(rated)) / 100;
  const found = all.map(({ hits }) =>
    hits.map(({ lexical: words, dense: similarity, relevant }) => ({
      ...{ words, similarity, relevant },
    })),
  );
  return {
    calibration: { ...calibration, threshold },
    scoreCalibration: fitScoreCalibration(found, lambda),
    now: calibrationReport(all),
    crossValidated: calibrationReport(rated),
    unanswerable: all.filter(({ condition }) => condition !== "answerable").length,
    rated,
    found,
  };
}

/** The share of the questions of each collection and condition that get no answer. */
function abstentions(all: readonly Asked[], { calibration, rated }: ReturnType<typeof fit>) {
  const nameOf = ({ set, condition }: Asked): string => `${set}, ${condition}`;
  return [...new Set(all.map(nameOf))]
    .map((name) => {
      const own = rated.filter((_, i) => nameOf(all[i]!) === name);
      const below = own.filter(({ confidence }) => confidence < calibration.threshold);
      return `${name}: ${below.length} of ${own.length} questions get no answer\n`;
    })
    .join("");
}

const all = await asked();
const config = await readConfig(values.model);
const fitted = fit(all, config.hybrid!);
process.stdout.write(`${formatCalibration(fitted)}\n${abstentions(all, fitted)}`);
if (values.out !== undefined) {
  const { calibration, scoreCalibration } = fitted;
  await storeCalibration(values.model, { calibration, scoreCalibration }, values.out);
}
