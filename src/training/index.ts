/** What users import from `reatt/training`. */

export { type AdaptationResult, adapt } from "./adapt/adapt.ts";
export type { AdaptOptions } from "./adapt/options.ts";
export type { AdaptationPlan } from "./adapt/plan.ts";
export {
  type LossAndGradients,
  type LossOptions,
  lossAndGradients,
  type TextBatch,
} from "./objective/loss-and-gradients.ts";
export { type HeadProbe, type HeadProbeQuestion, probeHeads } from "./objective/probe-heads.ts";
export type { TrainingEvent, TrainingResult } from "./run/events.ts";
export type { TrainOptions } from "./run/options.ts";
export type { Span, Tagger } from "./salient-spans.ts";
export { train } from "./train.ts";
