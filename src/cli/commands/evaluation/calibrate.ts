/** `reatt evaluate calibrate`: fits and measures the probability that an answer is right. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { containsAnswer, exactMatch } from "../../../evaluation/answers.ts";
import { calibrateBlocks } from "../../../evaluation/calibrate-blocks.ts";
import {
  type AnswerOutcome,
  crossValidatedConfidence,
  fitCalibration,
  thresholdFor,
} from "../../../evaluation/calibration.ts";
import { calibrationReport } from "../../../evaluation/calibration-report.ts";
import {
  type FoundPassageOutcome,
  fitScoreCalibration,
} from "../../../evaluation/score-calibration.ts";
import { storeCalibration } from "../../../model/store-calibration.ts";
import { beginModelFolder } from "../../../model/store-config.ts";
import { number, option, path, type Resolved, text, valuesOf } from "../../../options/option.ts";
import { ANSWER_OPTIONS, READ_TOP_K } from "../../../options/search-request.ts";
import { ANSWER } from "../../../reatt/options.ts";
import { hitLists } from "../../../reatt/retrieving.ts";
import type { Hit } from "../../../reatt.ts";
import { defineCommand } from "../../line/command.ts";
import { JSON_OBJECT } from "../../shared/file-options.ts";
import { type OpenSearch, searchOptions, withSearch } from "../../shared/search.ts";
import { type Calibrated, formatCalibration } from "./calibration-text.ts";
import { checkAnswers } from "./evaluate.ts";
import { answerAll } from "./recorded-answers.ts";

const { question, queries, ids, explain, linkBase, topK, ...SEARCH } = searchOptions(ANSWER.topK);
/** Every answer counts, however low its confidence is. */
const { reader, minimumConfidence, ...READING } = { ...READ_TOP_K, ...ANSWER_OPTIONS };

const OPTIONS = {
  ...SEARCH,
  distinct: ANSWER.distinct,
  data: option(text(), {
    help:
      'questions that the model was not trained on: {"id","question","answers"}; "answers": [] ' +
      "for questions that the documents do not answer",
    placeholder: "FILE.jsonl",
    own: true,
  }),
  out: option(path().optional(), {
    help: "folder for the calibrated model; the folder of the model itself is changed in place",
    placeholder: "DIR",
    defaultText: "print only",
    own: true,
  }),
  threshold: option(number({ from: 0, to: 1 }).optional(), {
    help: "store this confidence too: the model then gives no answer below it",
    defaultText: "with unanswerable questions, what loses 5 % of the right answers; else none",
    own: true,
  }),
  json: JSON_OBJECT,
  ...READING,
};

/** Passages of a question that scores are fitted on: as many as a person looks at. */
const SHOWN = 10;

/** The answers so far, in the folder `--out`. It is removed at the end. */
const RECORD = "calibration-answers.jsonl";

type Values = Resolved<typeof OPTIONS>;

export const calibrateCommand = defineCommand({
  options: OPTIONS,
  example:
    "reatt evaluate calibrate --model models/reatt-mini --index index --data held-out.jsonl " +
    "--out calibrated",
  run(values, signal) {
    return withSearch({ ...values, queries: values.data }, signal, async (open) => {
      const { data, out } = values;
      const { folder } = open.model;
      checkAnswers(open.questions, data, 0);
      if (out !== undefined) await beginModelFolder(folder, out);
      const record = out === undefined ? undefined : join(out, RECORD);
      const result = await calibrate(open, values, record);
      const { rated: _, found: __, firstBlocks: ___, ...shared } = result;
      const { calibration, blockCalibration, scoreCalibration } = shared;
      const fitted = { calibration, blockCalibration, scoreCalibration };
      if (out !== undefined) await storeCalibration(folder, fitted, out);
      if (record !== undefined) await rm(record, { force: true });
      const shown = values.json ? JSON.stringify(shared) : formatCalibration(result);
      process.stdout.write(`${shown}\n`);
    });
  },
});

async function calibrate(
  open: OpenSearch,
  { threshold, ...values }: Values,
  record: string | undefined,
): Promise<Calibrated> {
  const reading = { ...valuesOf(READING, values), minimumConfidence: 0 };
  const replies = await answerAll(open, reading, record);
  // An abstention, because nothing can be read, has its confidence 0 without a calibration.
  const answered = open.questions.flatMap(({ id, answers = [], passageId }, i) => {
    const { answer, signals, confidence } = replies[i]!;
    if (signals === undefined || answer === "") return [];
    const correct = answers.length > 0 && exactMatch(answer, answers);
    return [
      { signals, confidence, correct, answerable: answers.length > 0, group: passageId ?? id },
    ];
  });
  const outcomes = answered.map(({ signals, correct }): AnswerOutcome => ({ signals, correct }));
  const fitted = fitCalibration(outcomes);
  const crossValidated = crossValidatedConfidence(
    outcomes,
    answered.map(({ group }) => group),
  );
  const rated = answered.map(({ correct, answerable }, i) => ({
    confidence: crossValidated[i]!,
    correct,
    answerable,
  }));
  const found = await foundPassages(open);
  const blocks = calibrateBlocks(
    open.questions.map(({ id, answers = [], passageId }, i) => ({
      group: passageId ?? id,
      blocks: replies[i]!.evidence.flatMap((block) =>
        block.signals
          ? { signals: block.signals, correct: isRelevant(block, answers, passageId) }
          : [],
      ),
    })),
  );
  const unanswerable = answered.filter(({ answerable }) => !answerable).length;
  const chosen = threshold ?? (unanswerable > 0 ? rounded(thresholdFor(rated)) : undefined);
  return {
    calibration: chosen === undefined ? fitted : { ...fitted, threshold: chosen },
    now: calibrationReport(answered.map(({ confidence, correct }) => ({ confidence, correct }))),
    crossValidated: calibrationReport(rated),
    scoreCalibration: fitScoreCalibration(found, lambdaOf(open)),
    ...(blocks && { blockCalibration: blocks.calibration }),
    firstBlocks: blocks?.first.flatMap((block) => block ?? []) ?? [],
    unanswerable,
    rated,
    found,
  };
}

const lambdaOf = ({ options: { hybrid } }: OpenSearch): number | undefined =>
  typeof hybrid === "object" ? hybrid.lambda : undefined;

/** The best passages of each question, and whether they are known to answer it. */
async function foundPassages({
  model,
  index,
  questions,
  options,
}: OpenSearch): Promise<FoundPassageOutcome[][]> {
  const texts = questions.map(({ question }) => question);
  const search = { ...options, topK: SHOWN, explain: true };
  const lists = await hitLists(model.retrieve(texts, index, search));
  return lists.map((hits, i) => {
    const { answers = [], passageId } = questions[i]!;
    const relevant = (hit: Hit): boolean =>
      passageId === undefined ? isRelevant(hit, answers, undefined) : hit.id === passageId;
    return hits.map((hit) => ({
      ...hit.scores!,
      relevant: answers.length > 0 && relevant(hit),
    }));
  });
}

/** Whether a text has an answer and, if the relevant passage is known, is of it. */
const isRelevant = (
  { id, text }: { readonly id: string; readonly text: string },
  answers: readonly string[],
  passageId: string | undefined,
): boolean => (passageId === undefined || id === passageId) && containsAnswer(text, answers);

/** Down to whole percents, so that it does not lose more answers. */
const rounded = (threshold: number): number => Math.floor(100 * threshold) / 100;
