/**
 * Fits what a model says about its answers and its passages, on held-out articles, and stores it:
 * `confidence`, the threshold below which the model gives no answer, and the scores of passages.
 *
 *     npx tsx recipes/reatt-mini/calibrate.ts --model DIR --held-out DIR --out DIR
 *
 * The questions are those of `held-out/` of make-reading-data.ts, which nothing is trained on. They
 * are asked as in asked.ts.
 */

import { parseArgs } from "node:util";
import { formatCalibration } from "../../src/cli/commands/evaluation/calibration-text.ts";
import { type CalibratedBlocks, calibrateBlocks } from "../../src/evaluation/calibrate-blocks.ts";
import {
  crossValidatedConfidence,
  fitCalibration,
  thresholdFor,
} from "../../src/evaluation/calibration.ts";
import { calibrationReport } from "../../src/evaluation/calibration-report.ts";
import { fitScoreCalibration } from "../../src/evaluation/score-calibration.ts";
import type { AnswerCalibration } from "../../src/model/answer-calibration.ts";
import type { BlockCalibration } from "../../src/model/block-calibration.ts";
import type { HybridWeights } from "../../src/model/config.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { storeCalibration } from "../../src/model/store-calibration.ts";
import { type Asked, asked, askedOfDocuments } from "./asked.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    "held-out": { type: "string", default: "runs/reatt-mini/reading/held-out" },
    /** Questions about documents in the form with texts (benchmarks/document-questions). */
    documents: { type: "string", default: "runs/document-questions/dev" },
    /** Where the folder of the calibrated model is written. Default: print only. */
    out: { type: "string" },
    /** Every Nth question. */
    every: { type: "string", default: "1" },
    /** Keeps the indexes and what was asked: the same command continues, or only fits. */
    work: { type: "string", default: "runs/reatt-mini/calibration" },
  },
});
const SETS = ["new-wiki", "squad"];
/**
 * What a name or number counts that stands nowhere in the index. It is not fitted: too few of the
 * questions here have one. Of 1,892 questions about documents with an answer 1.0 % have one, of 808
 * without an answer 23.9 %, which would be -3.2 log odds if no other signal said the same.
 */
const UNKNOWN = { weight: -2, curvature: 0, mean: 0, deviation: 1 };

const withUnknown = <Calibration extends AnswerCalibration | BlockCalibration>(
  calibration: Calibration,
): Calibration => ({
  ...calibration,
  signals: { ...calibration.signals, unknown: UNKNOWN },
});

const withoutUnknown = ({ signals, blocks, ...one }: Asked): Asked => ({
  ...one,
  signals: { ...signals, unknown: undefined },
  blocks: blocks.map((block) => ({
    ...block,
    signals: { ...block.signals, unknown: undefined },
  })),
});

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
  const found = all
    .filter(({ hits }) => hits.length > 0)
    .map(({ hits }) =>
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

/** What first blocks say of themselves, for each collection and condition. */
function blockReport(all: readonly Asked[], { calibration, first }: CalibratedBlocks): string {
  const { threshold = 0 } = calibration;
  const nameOf = ({ set, condition }: Asked): string => `${set}, ${condition}`;
  const lines = [...new Set(all.map(nameOf))].map((name) => {
    const own = first.flatMap((block, i) => (block && nameOf(all[i]!) === name ? block : []));
    const right = own.filter(({ correct }) => correct).length;
    const below = own.filter(({ confidence }) => confidence < threshold).length;
    const ece = (100 * calibrationReport(own).ece).toFixed(1);
    return `${name}: ${right} of ${own.length} first blocks answer, ${below} not shown, ECE ${ece}\n`;
  });
  return `blocks, threshold ${threshold}\n${lines.join("")}`;
}

const ofArticles = await asked({
  ...{ model: values.model, heldOut: values["held-out"], work: values.work },
  ...{ sets: SETS, every: Number(values.every) },
});
const ofDocuments = await askedOfDocuments(values.documents, values.model);
const all = [...ofArticles, ...ofDocuments].map(withoutUnknown);
const config = await readConfig(values.model);
const fitted = fit(all, config.hybrid!);
const ofBlocks = calibrateBlocks(
  all.map(({ set, group, blocks }) => ({ group: `${set} ${group}`, blocks })),
)!;
const shown = { ...fitted, firstBlocks: [] };
process.stdout.write(`${formatCalibration(shown)}\n${abstentions(all, fitted)}`);
process.stdout.write(blockReport(all, ofBlocks));
if (values.out !== undefined) {
  const { calibration, scoreCalibration } = fitted;
  const { calibration: blockCalibration } = ofBlocks;
  await storeCalibration(
    values.model,
    {
      ...{ calibration: withUnknown(calibration), scoreCalibration },
      blockCalibration: withUnknown(blockCalibration),
    },
    values.out,
  );
}
