/** The options that `reatt train` and `reatt adapt` have in common. */

/** When close passages are found. */
export const ITERATION_OPTIONS = {
  iterations: {
    kind: "integer",
    help: "times that the learning rate rises and falls, and close passages are found anew",
    default: 1,
    minimum: 1,
  },
  refresh: {
    kind: "choice",
    choices: ["none", "iterations", "background"],
    help: "when the model finds close passages: never, between iterations, or beside training",
    default: "iterations",
  },
  "refresh-steps": {
    kind: "integer",
    help: "in the background: how many steps old they are when others are begun",
    default: 200,
    minimum: 1,
  },
} as const;

/** What a step can lower. */
export const OBJECTIVES = ["distillation", "supervised", "marginal", "qa"] as const;

/** How far a step goes, and on how much of what is read. */
export const OPTIMISER_OPTIONS = {
  "learning-rate": { kind: "number", help: "peak learning rate", default: 5e-5 },
  dropout: { kind: "number", help: "share of numbers dropped (default: as config.json says)" },
  "max-passage-tokens": {
    kind: "integer",
    help: "longer passages are cut",
    default: 512,
    minimum: 2,
  },
} as const;

/** What computes it, from which random numbers, and from where on. */
export const MACHINE_OPTIONS = {
  engine: {
    kind: "choice",
    choices: ["onnxruntime", "tensorflow"],
    help: "what computes training steps; for tensorflow a TensorFlow.js has to be installed",
    default: "onnxruntime",
  },
  provider: {
    kind: "choice",
    choices: ["cpu", "webgpu", "cuda"],
    help: "what onnxruntime computes on",
    default: "cpu",
  },
  seed: { kind: "integer", help: "of all random numbers", default: 0, minimum: 0 },
  resume: { kind: "flag", help: "go on with the run in --out, if there is one" },
} as const;
