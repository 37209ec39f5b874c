/** The loss of one batch and its gradients: for checks from outside, and for those who write their own training loop. */

import { join } from "node:path";
import { readConfig } from "../../model/config.ts";
import { loadWeights } from "../../model/load-weights.ts";
import { parameterShapes } from "../../model/parameter-names.ts";
import type { Passage } from "../../text/passage.ts";
import { passageIds, retrievalQuestionIds } from "../../text/prompts.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";
import { gradientAccumulator } from "../gradient-cache/gradient-accumulator.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../loss/trained-parameters.ts";
import { openOnnxSteps } from "./onnx-steps.ts";
import { type ParameterState, parameterState } from "./optimizer.ts";

/** Questions, the answer of each, and the close passages of each, equally many. */
export interface TextBatch {
  readonly questions: readonly string[];
  readonly answers: readonly string[];
  readonly passages: readonly (readonly Passage[])[];
}

export interface LossOptions {
  /** Weight of the distillation loss. Default 8, as in the paper. */
  readonly alpha?: number | undefined;
  /** Temperature of the softmax over head weights. Default: the configuration's `distillation_tau`. */
  readonly tau?: number | undefined;
  /** One for each head of the retrieval layer. Default: the configured head alone. */
  readonly headWeights?: readonly number[] | undefined;
  /** Logarithm of the factor of retrieval scores. Default 0. */
  readonly logScale?: number | undefined;
  /** Default 512. */
  readonly maxPassageTokens?: number | undefined;
  /** Default 0; the random numbers are always the same. */
  readonly dropout?: number | undefined;
  /** Questions that are computed together; the result does not depend on it. Default: all. */
  readonly chunkQuestions?: number | undefined;
}

export interface LossAndGradients {
  /** Negative log likelihood, averaged over the answers' tokens. */
  readonly nll: number;
  /** KL divergence of the retrieval distribution from the target attention, averaged over questions. */
  readonly kl: number;
  /** `nll + alpha kl` */
  readonly loss: number;
  /** [questions][passages of a question]: the target attention */
  readonly target: readonly (readonly number[])[];
  /** [questions][passages of all questions of a chunk]: retrieval scores, before `exp(logScale)` */
  readonly scores: readonly (readonly number[])[];
  /** By the names of the checkpoint, and `head_weights` and `log_scale`. */
  readonly gradients: Map<string, Float32Array>;
}

/**
 * The loss of a batch under the objective of ReAtt (section 3) and its gradients.
 *
 * `model` is a model's folder, or something that was loaded from one. Throws `InputError` where the folder is not whole.
 */
export async function lossAndGradients(
  model: string | { readonly folder: string },
  batch: TextBatch,
  options: LossOptions = {},
): Promise<LossAndGradients> {
  const { alpha = 8, headWeights, logScale = 0, maxPassageTokens = 512, dropout = 0 } = options;
  const folder = typeof model === "string" ? model : model.folder;
  const config = await readConfig(folder);
  const tokenizer = await loadTokenizer(join(folder, "spiece.model"), config.vocabularySize);
  const parameters = new Map<string, ParameterState>();
  const weights = await loadWeights(folder, config);
  for (const [name, shape] of parameterShapes(config))
    parameters.set(name, parameterState(shape, weights.get(name)!));
  parameters.set(LOG_SCALE, parameterState([], Float32Array.of(logScale)));
  if (headWeights)
    parameters.set(HEAD_WEIGHTS, parameterState([config.heads], Float32Array.from(headWeights)));

  const examples = batch.questions.map((question, i) => ({
    question: retrievalQuestionIds(tokenizer, question),
    answer: [...tokenizer.encode(batch.answers[i]!), tokenizer.eosId],
    passages: batch.passages[i]!.map((passage) => passageIds(tokenizer, passage, maxPassageTokens)),
  }));
  const tau = headWeights && (options.tau ?? config.distillationTau);
  const stepOptions = { alpha, tau, dropout, inBatchNegatives: true } as const;
  await using steps = openOnnxSteps(config, parameters, stepOptions, {});
  const { nll, loss, retrieval, distillation } = await gradientAccumulator(
    config,
    steps,
    stepOptions,
  )({
    examples,
    chunkQuestions: options.chunkQuestions ?? examples.length,
    objective: alpha === 0 ? "qa" : "distillation",
    key: [0],
  });
  const gradients = new Map([...parameters].map(([name, { gradient }]) => [name, gradient]));
  return {
    nll,
    kl: distillation?.kl ?? 0,
    loss,
    target: distillation?.target ?? [],
    scores: retrieval?.scores ?? [],
    gradients,
  };
}
