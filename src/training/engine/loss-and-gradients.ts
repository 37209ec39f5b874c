/** The loss of one batch of texts and its gradients, for checks and for custom training loops. */

import { join } from "node:path";
import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import { headLayer, type ModelConfig } from "../../model/config.ts";
import { readConfig } from "../../model/config-file.ts";
import { loadWeights } from "../../model/load-weights.ts";
import { parameterShapes } from "../../model/parameter-names.ts";
import { choice, type Given, integer, number, type Resolved } from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { loadTokenizer } from "../../text/tokens/tokenizer.ts";
import { gradientAccumulator } from "../gradient-cache/gradient-cache.ts";
import { distillation } from "../objectives/distillation.ts";
import { reading } from "../objectives/reading.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../objectives/trained-parameters.ts";
import { onnxPasses, openGraphRunner } from "./onnx-passes.ts";
import { type ParameterState, parameterState } from "./optimizer.ts";
import { checkBatch, folderOf, TEXT_BATCH, type TextBatch, tokenExamples } from "./text-batch.ts";

/** The options of `lossAndGradients`. */
const LOSS_OPTIONS = {
  /** Weight of the cross-document adjustment loss. Default 8, as in the paper. */
  alpha: number({ from: 0 }).default(8),
  /** Temperature of `headWeights`. Default: `distillation_tau` of the configuration. */
  tau: number({ above: 0 }).optional(),
  /** One for each head of the retrieval layer. Default: the configured head alone retrieves. */
  headWeights: z.array(z.number("a number"), "a list of numbers").readonly().optional(),
  /** Natural logarithm of the factor of retrieval scores. Default 0. */
  logScale: z.number("a number").default(0),
  /** Longer passages are cut. Default 512. */
  maxPassageTokens: integer(2).default(512),
  /**
   * How often a passage counts in the retrieval distribution: `once`, or `each` time that a
   * question of the batch has it. Default `once`.
   */
  copies: choice("once", "each").default("once"),
  /** Dropout rate. Repeated calls draw the same random values. Default 0. */
  dropout: number({ from: 0, below: 1 }).default(0),
  /**
   * Questions that are computed together by the gradient cache. The result does not depend on it,
   * apart from rounding. Default: all.
   */
  chunkQuestions: integer(1).optional(),
};

export interface LossOptions extends Given<typeof LOSS_OPTIONS> {}

export interface LossAndGradients {
  /** Negative log likelihood, averaged over answer tokens, in nats. */
  readonly nll: number;
  /** KL(target attention || retrieval distribution), averaged over questions, in nats. */
  readonly kl: number;
  /** `nll + alpha kl` */
  readonly loss: number;
  /**
   * [questions][passages of the question]: the target attention; 0 where a question has fewer
   * passages than another. Empty if `alpha` is 0.
   */
  readonly target: readonly (readonly number[])[];
  /**
   * [questions][different passages of the chunk, in the order of the batch]: retrieval scores,
   * before the factor `exp(logScale)`. Empty if `alpha` is 0.
   */
  readonly scores: readonly (readonly number[])[];
  /** By the names of `model/parameter-names.ts`, and `log_scale` and `head_weights`. */
  readonly gradients: Map<string, Float32Array>;
}

/**
 * The training loss of a batch, and its gradient with respect to every parameter.
 *
 *     loss = nll + alpha KL(target attention || retrieval distribution)
 *
 * The retrieval distribution of a question is a softmax over the different passages of all
 * questions: passages with equal token ids are one. The target attention is 0 for the passages of
 * other questions. Nothing is written or updated.
 *
 * Source: ReAtt, section 3.2, Eq. 2 and 3. The factor `exp(logScale)` of the scores is an addition
 * of this project.
 *
 * @param model - a model folder, or an object loaded from one, such as a `ReAtt`.
 * @throws {InputError} if the folder has no complete model, a question is empty or too long, the
 *   batch has another number of answers or of lists of passages than questions, or an option is
 *   out of range.
 *
 * @example
 * ```ts
 * import { lossAndGradients } from "reatt/training";
 *
 * const paris = { id: "1", title: "Paris", text: "Paris is the capital of France." };
 * const rome = { id: "2", title: "Rome", text: "Rome is the capital of Italy." };
 * const { nll, kl, gradients } = await lossAndGradients("models/reatt-mini", {
 *   questions: ["What is the capital of France?"],
 *   answers: ["Paris"],
 *   passages: [[paris, rome]],
 * });
 * console.log(nll.toFixed(3), kl.toFixed(3), gradients.get("embedding.weight")?.length);
 * ```
 */
export async function lossAndGradients(
  model: string | { readonly folder: string },
  batch: TextBatch,
  given?: LossOptions,
): Promise<LossAndGradients> {
  const options = resolveOptions(LOSS_OPTIONS, given);
  const { alpha, headWeights, maxPassageTokens, copies, dropout } = options;
  const folder = folderOf(model);
  checkBatch(batch, TEXT_BATCH);
  const config = await readConfig(folder);
  const tokenizer = await loadTokenizer(join(folder, "spiece.model"), config.vocabularySize);
  const parameters = await parameterStates(folder, config, options);
  const examples = tokenExamples(tokenizer, batch, maxPassageTokens);
  checkHeadWeights(options, config);
  const tau = headWeights && (options.tau ?? config.distillationTau);
  const trained = { names: new Set(parameters.keys()), rows: new Map() };
  const settings = { trained, tau, dropout };
  await using runner = openGraphRunner(parameters, {});
  const passes = onnxPasses(config, parameters, settings, runner);
  const { loss, terms, watched } = await gradientAccumulator(
    config,
    passes,
    settings,
  )({
    examples,
    chunkQuestions: options.chunkQuestions ?? examples.length,
    objectives: [reading(), ...(alpha > 0 ? [distillation({ alpha, copies })] : [])],
    key: [0],
    watched: alpha > 0 ? ["attention", "scores"] : [],
  });
  return {
    loss,
    nll: terms.nll!,
    kl: terms.kl ?? 0,
    target: rowsOf(watched.attention),
    scores: rowsOf(watched.scores),
    gradients: new Map([...parameters].map(([name, { gradient }]) => [name, gradient])),
  };
}

/** The rows of the tensors of all chunks. */
const rowsOf = (tensors: readonly Tensor[] = []): number[][] =>
  tensors.flatMap(({ data, shape }) => {
    const [rows, columns] = shape as [number, number];
    return Array.from({ length: rows }, (_, row) => [
      ...data.subarray(row * columns, (row + 1) * columns),
    ]);
  });

/** @throws {InputError} if the weights are not those of `heads` heads, or `tau` has no effect */
function checkHeadWeights({ headWeights, tau }: LossOptions, config: ModelConfig): void {
  const { pooling } = config.retrievalAttention;
  const { heads } = headLayer(config);
  if (headWeights && pooling !== undefined)
    throw problem("headWeights", "none with pooling of all heads", "some", "leave them out");
  if (!headWeights && tau !== undefined)
    throw problem("tau", "headWeights", "none", "leave tau out, or give a weight for each head");
  if (headWeights && headWeights.length !== heads)
    throw problem(
      "headWeights",
      `${heads} numbers`,
      excerpt(headWeights),
      "give one for each head",
    );
}

const problem = (where: string, expected: string, got: string, remedy: string): InputError =>
  new InputError({ where, expected, got, remedy });

async function parameterStates(
  folder: string,
  config: ModelConfig,
  { headWeights, logScale }: Resolved<typeof LOSS_OPTIONS>,
): Promise<Map<string, ParameterState>> {
  const weights = await loadWeights(folder, config);
  const states = new Map<string, ParameterState>();
  for (const [name, shape] of parameterShapes(config))
    states.set(name, parameterState(shape, weights.get(name)!));
  states.set(LOG_SCALE, parameterState([], Float32Array.of(logScale)));
  if (headWeights)
    states.set(
      HEAD_WEIGHTS,
      parameterState([headLayer(config).heads], Float32Array.from(headWeights)),
    );
  return states;
}
