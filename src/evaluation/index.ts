/**
 * The package entry `reatt/evaluation`: measures of retrieval and of answers, calibration, and the
 * files of evaluations.
 *
 * @module reatt/evaluation
 */

export { type FittedCalibrations, storeCalibration } from "../model/store-calibration.ts";
export { exactMatch, f1 } from "./answers.ts";
export {
  type AnswerOutcome,
  type BlockOutcome,
  crossValidatedConfidence,
  fitBlockCalibration,
  fitCalibration,
  thresholdFor,
} from "./calibration.ts";
export {
  type CalibrationReport,
  type CoveragePoint,
  calibrationReport,
  type RatedAnswer,
} from "./calibration-report.ts";
export type { Measures } from "./measures.ts";
export {
  type AnswerEvaluation,
  evaluateAnswers,
  type Prediction,
  readPredictions,
} from "./predictions.ts";
export {
  evaluateRun,
  type Qrels,
  type RankingEvaluation,
  type RetrievalRun,
  type RunOptions,
} from "./ranking.ts";
export {
  type FoundPassageOutcome,
  fitScoreCalibration,
} from "./score-calibration.ts";
export { readQrels, readRun } from "./trec.ts";
export { evaluateUtility, type UtilityEvaluation } from "./utility.ts";
