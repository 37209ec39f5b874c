/** What users import from `reatt/training`. */

export { type AdaptationResult, adapt } from "./adapt.ts";
export type { AdaptOptions } from "./adapt-options.ts";
export type { AdaptationPlan } from "./adapt-plan.ts";
export type { TrainingEvent, TrainingResult } from "./events.ts";
export {
  type LossAndGradients,
  type LossOptions,
  lossAndGradients,
  type TextBatch,
} from "./loss-and-gradients.ts";
export type { TrainOptions } from "./options.ts";
export { type HeadProbe, type HeadProbeQuestion, probeHeads } from "./probe-heads.ts";
export { train } from "./train.ts";
