/**
 * Fits what a model says about its answers and its passages, on held-out articles, and stores it:
 * `confidence`, the threshold below which the model gives no answer, and the scores of passages.
 *
 *     npx tsx recipes/reatt-mini/calibrate.ts --model DIR --held-out DIR --documents DIR --out DIR
 *
 * The questions are those of `held-out/` of make-reading-data.ts, which nothing is trained on. They
 * are asked as in asked.ts. With `--documents`, those about documents of a set with texts are asked
 * as well.
 */

import { parseArgs } from "node:util";
import { formatCalibration } from "../../src/cli/commands/evaluation/calibration-text.ts";
import {
  crossValidatedConfidence,
  fitCalibration,
  thresholdFor,
} from "../../src/evaluation/calibration.ts";
import { calibrationReport } from "../../src/evaluation/calibration-report.ts";
import { fitScoreCalibration } from "../../src/evaluation/score-calibration.ts";
import type { HybridWeights } from "../../src/model/config.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { storeCalibration } from "../../src/model/store-calibration.ts";
import { type Asked, asked } from "./asked.ts";
import { askedDocuments } from "./asked-documents.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    "held-out": { type: "string", default: "runs/reatt-mini/reading/held-out" },
    documents: { type: "string" },
    /** Where the folder of the calibrated model is written. Default: print only. */
    out: { type: "string" },
    /** Every Nth question. */
    every: { type: "string", default: "1" },
    /** Keeps the indexes and what was asked: the same command continues, or only fits. */
    work: { type: "string", default: "runs/reatt-mini/calibration" },
  },
});
const SETS = ["new-wiki", "squad"];
/** Of the right answers, those below the threshold. With 5 %, too many questions about documents
 * without an answer get one. */
const LOST_SHARE = 0.07;

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
  const threshold = Math.floor(100 * thresholdFor(rated, LOST_SHARE)) / 100;
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

const { model, documents: folder, work } = values;
const paragraphs = await asked({
  ...{ model, heldOut: values["held-out"], work },
  ...{ sets: SETS, every: Number(values.every) },
});
const all = [...paragraphs, ...(folder ? await askedDocuments({ model, folder, work }) : [])];
const config = await readConfig(values.model);
const fitted = fit(all, config.hybrid!);
process.stdout.write(`${formatCalibration(fitted)}\n${abstentions(all, fitted)}`);
if (values.out !== undefined) {
  const { calibration, scoreCalibration } = fitted;
  await storeCalibration(values.model, { calibration, scoreCalibration }, values.out);
}
