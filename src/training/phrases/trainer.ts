/** Computes and updates phrase queries from the states of questions, on onnxruntime. */

import { phraseQueries } from "../../encoder/phrase-queries.ts";
import { type ModelConfig, retrievalWidth, vectorSize } from "../../model/config.ts";
import { inferenceContext } from "../../model/layers/context.ts";
import { buildParameters } from "../../model/parameter-names.ts";
import { gradients } from "../../tensor/gradients.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { type CompileOptions, compile } from "../../tensor/session.ts";
import { type Graph, type Signature, type Tracer, trace, type Value } from "../../tensor/trace.ts";
import type { StepLosses } from "../engine/engine.ts";
import { openOnnxOptimizer } from "../engine/onnx-backend.ts";
import type { OptimizerUpdate, ParameterState } from "../engine/optimizer.ts";
import {
  type PassageLossInput,
  passageLoss,
  type SearchLossInput,
  searchLoss,
} from "../objectives/phrases.ts";

type Parameters = ReadonlyMap<string, ParameterState>;

/** The input of each loss of objectives/phrases.ts. */
interface LossInputs<T> {
  readonly passage: PassageLossInput<T>;
  readonly search: SearchLossInput<T>;
}

export interface PhraseTrainer extends AsyncDisposable {
  /** The phrase queries of questions, [2, vectorSize], from their states at layer B. */
  vectors(states: readonly Float32Array[]): Promise<Float32Array[]>;
  /** Updates the parameters by one step. Returns the loss before it, as the term `phrases`. */
  update<Name extends keyof LossInputs<Tensor>>(
    loss: Name,
    states: readonly Float32Array[],
    input: LossInputs<Tensor>[Name],
    step: Pick<OptimizerUpdate, "step" | "learningRate">,
  ): Promise<StepLosses>;
}

/**
 * @param parameters the weights of the phrase queries, which are updated in place
 * @param options with the other weights of the model
 */
export async function openPhraseTrainer(
  config: ModelConfig,
  parameters: Parameters,
  options: CompileOptions,
): Promise<PhraseTrainer> {
  const sessions = {
    vectors: await compile(traceVectors(config), options),
    passage: await compile(tracePassageLoss(config, parameters), options),
    search: await compile(traceSearchLoss(config, parameters), options),
  };
  const optimizer = await openOnnxOptimizer(parameters, {}, options);
  const feeds = (states: readonly Float32Array[]): Record<string, Tensor> => {
    const weights = [...parameters].map(([name, { value: data, shape }]) => [
      name,
      { data, shape },
    ]);
    return { ...padStates(states, retrievalWidth(config)), ...Object.fromEntries(weights) };
  };
  return {
    async vectors(states) {
      const { vectors } = await sessions.vectors.run(feeds(states));
      const size = 2 * vectorSize(config);
      return states.map((_, i) => (vectors!.data as Float32Array).slice(i * size, (i + 1) * size));
    },
    async update(name, states, input, step) {
      const results = await sessions[name].run({ ...feeds(states), ...input });
      for (const [parameter, { gradient }] of parameters)
        gradient.set(results[gradientOf(parameter)]!.data as Float32Array);
      const norms = await optimizer.gradientNorms();
      await optimizer.update({ ...step, norms });
      const loss = results.loss!.data[0]!;
      return { loss, terms: { phrases: loss }, gradientNorm: norms.main };
    },
    async [Symbol.asyncDispose]() {
      for (const session of [...Object.values(sessions), optimizer])
        await session[Symbol.asyncDispose]();
    },
  };
}

const gradientOf = (name: string): string => `gradient:${name}`;

const stateInputs = (config: ModelConfig): Record<"states" | "mask", Signature> => ({
  states: ["float32", "question", "length", retrievalWidth(config)],
  mask: ["float32", "question", "length"],
});

/** -> `vectors` */
const traceVectors = (config: ModelConfig): Graph =>
  trace(stateInputs(config), (tracer, { states, mask }) => ({
    vectors: vectorsOf(tracer, config, states, mask),
  }));

/** The inputs of `passageLoss` -> `loss`, `gradient:NAME` */
export const tracePassageLoss = (config: ModelConfig, parameters: Parameters): Graph =>
  trace(
    {
      ...stateInputs(config),
      keys: ["float32", "token", vectorSize(config)],
      answers: ["float32", "question", 2, "token"],
      own: ["float32", "question", 1, "token"],
      weights: ["float32", "question"],
    },
    (tracer, { states, mask, ...input }) => {
      const loss = passageLoss(tracer, vectorsOf(tracer, config, states, mask), input);
      return { loss, ...gradientsOf(tracer, loss, parameters) };
    },
  );

/** The inputs of `searchLoss` -> `loss`, `gradient:NAME` */
export const traceSearchLoss = (config: ModelConfig, parameters: Parameters): Graph =>
  trace(
    {
      ...stateInputs(config),
      starts: ["float32", "question", "phrase", vectorSize(config)],
      ends: ["float32", "question", "phrase", vectorSize(config)],
      correct: ["float32", "question", "phrase"],
      present: ["float32", "question", "phrase"],
      weights: ["float32", "question"],
    },
    (tracer, { states, mask, ...input }) => {
      const loss = searchLoss(tracer, vectorsOf(tracer, config, states, mask), input);
      return { loss, ...gradientsOf(tracer, loss, parameters) };
    },
  );

function vectorsOf(tracer: Tracer, config: ModelConfig, states: Value, mask: Value): Value {
  const model = buildParameters(config, (name, shape) => tracer.parameter(name, shape));
  return phraseQueries(inferenceContext(tracer, config), model, states, mask);
}

function gradientsOf(tracer: Tracer, loss: Value, parameters: Parameters): Record<string, Value> {
  const variables = [...parameters].map(([name, { shape }]) => tracer.parameter(name, shape));
  const names = [...parameters.keys()].map(gradientOf);
  return Object.fromEntries(gradients(tracer, loss, variables).map((g, i) => [names[i]!, g]));
}

/** Pads the states of questions, [tokens, size] each, to `states` and `mask`. */
export function padStates(
  questions: readonly Float32Array[],
  size: number,
): Record<"states" | "mask", Tensor> {
  const lengths = questions.map((states) => states.length / size);
  const length = Math.max(...lengths);
  const shape = [questions.length, length];
  const states = new Float32Array(questions.length * length * size);
  const mask = new Float32Array(questions.length * length);
  for (const [i, question] of questions.entries()) {
    states.set(question, i * length * size);
    mask.fill(1, i * length, i * length + lengths[i]!);
  }
  return { states: { data: states, shape: [...shape, size] }, mask: { data: mask, shape } };
}
