/** What users import from `reatt/training`. */

export type { TrainingEvent, TrainingResult } from "./events.ts";
export {
  type LossAndGradients,
  type LossOptions,
  lossAndGradients,
  type TextBatch,
} from "./loss-and-gradients.ts";
export type { TrainOptions } from "./options.ts";
export { train } from "./train.ts";
