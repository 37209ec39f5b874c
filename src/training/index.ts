/** What users import from `reatt/training`. */

export {
  type LossAndGradients,
  type LossOptions,
  lossAndGradients,
  type TextBatch,
} from "./loss-and-gradients.ts";
