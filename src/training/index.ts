/** The package entry `reatt/training`: training, adaptation and their types. */

export { type AdaptationEvent, type AdaptationResult, adapt } from "./adapt.ts";
export type { AdaptationPlan } from "./adaptation/plan.ts";
export {
  type LossAndGradients,
  type LossOptions,
  lossAndGradients,
  type TextBatch,
} from "./engine/loss-and-gradients.ts";
export type { AdaptOptions } from "./options/adapt-options.ts";
export type { TrainOptions } from "./options/train-options.ts";
export type { TrainingEvent, TrainingResult } from "./run/events.ts";
export { type HeadAgreement, type HeadSelectionQuestion, rankHeads } from "./run/rank-heads.ts";
export type { Span, Tagger } from "./salient-spans/index.ts";
export { train } from "./train.ts";
