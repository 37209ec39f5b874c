/**
 * The package entry `reatt/training`: training, adaptation and their types.
 *
 * @module reatt/training
 */

export type { Measures } from "../evaluation/measures.ts";
export type { ProgressEvent } from "../io/progress.ts";
export type { Dim, Ops, Shape, Tensor } from "../tensor/ops.ts";
export type { Extent } from "../text/sentences.ts";
export { type AdaptationEvent, type AdaptationResult, adapt } from "./adapt.ts";
export type { DocumentsEvent } from "./adaptation/passages.ts";
export type { StepLosses } from "./engine/engine.ts";
export type { EngineEvent } from "./engine/open-engine.ts";
export type { TextBatch, TrainingBatch } from "./engine/text-batch.ts";
export type { AnsweredCount } from "./examples/corpus-answers.ts";
export type { Example, Passages, Removal } from "./examples/example.ts";
export type { Masked } from "./examples/sources/copies.ts";
export type { Sample } from "./examples/sources/sampling.ts";
export { defineSource, type Source } from "./examples/sources/source.ts";
export type { Survey } from "./examples/sources/survey.ts";
export { defineMeasure, type Measure, type MeasuredReply } from "./measures/measure.ts";
export {
  type MinedNegatives,
  mineNegatives,
  type NegativesOptions,
} from "./negatives/mine-negatives.ts";
export { copyAttention } from "./objectives/copy-attention.ts";
export { type DistillationSettings, distillation } from "./objectives/distillation.ts";
export { type GivenScoresSettings, givenScores } from "./objectives/given-scores.ts";
export type { ObjectiveName } from "./objectives/index.ts";
export { type LabelSettings, labels } from "./objectives/labels.ts";
export { type LikelihoodSettings, likelihood } from "./objectives/likelihood.ts";
export { marginal } from "./objectives/marginal.ts";
export type { Negatives } from "./objectives/negatives.ts";
export {
  type CommonInput,
  defineObjective,
  type Objective,
  type Term,
} from "./objectives/objective.ts";
export type { ModelOutputs, OutputName, RetrievalOutputs } from "./objectives/outputs.ts";
export { answerPhrases, type PhraseSettings } from "./objectives/phrases.ts";
export { reading } from "./objectives/reading.ts";
export type { AnswerPhrase, TokenExample } from "./objectives/token-batch.ts";
export {
  type Axis,
  type NamedTensor,
  perQuestion,
  type TokenBatch,
} from "./objectives/token-batch.ts";
export type { AdaptOptions, SourceChoice } from "./options/adapt-options.ts";
export type { TrainOptions } from "./options/train-options.ts";
export type { PhraseTrainingOptions } from "./phrases/train-phrases.ts";
export { type PhraseTrainingResult, trainPhrases } from "./phrases/train-phrases.ts";
export type { PlannedMeasurement } from "./plan/pace.ts";
export type { PlanEvent, TrainingPlan } from "./plan/plan.ts";
export type { PruningTrainingOptions } from "./pruning/train-pruning.ts";
export { type PruningTrainingResult, trainPruning } from "./pruning/train-pruning.ts";
export type { ReportSample, SampleReply } from "./report/samples.ts";
export type { RunEvent, TrainingResult } from "./run/events.ts";
export type { HybridMeasures } from "./run/run-log.ts";
export type { WrittenModel } from "./run/written-model.ts";
export type { SalientSpan, Tagger } from "./salient-spans/index.ts";
export { type SweepOptions, type SweepResult, sweep, type Trial } from "./sweep.ts";
export { type TrainingEvent, type TrainResult, train } from "./train.ts";
export { openTrainer, type TrainedWeight, type Trainer, type TrainerOptions } from "./trainer.ts";
export type { Gain, RefusedModel } from "./verdict/decision.ts";
export type { ModelKind } from "./verdict/measurements.ts";
export type { ReadingOutcome, RunOutcome } from "./verdict/verdict.ts";
