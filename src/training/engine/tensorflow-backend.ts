/**
 * Training steps on TensorFlow.js, which runs the passes of the gradient cache eagerly and
 * differentiates them with its own tape. The states of parameters are variables of TensorFlow.js.
 */

import type { Tensor as TfTensor, Variable } from "@tensorflow/tfjs-core";
import type { ModelConfig } from "../../model/config.ts";
import type { Ops, Tensor } from "../../tensor/ops.ts";
import { outputsAndGradients } from "../../tensor/tensorflow/gradients.ts";
import type { TensorFlow } from "../../tensor/tensorflow/load.ts";
import { tensorFlowOps } from "../../tensor/tensorflow/ops.ts";
import { fedDropout } from "../objectives/dropout.ts";
import {
  batchPass,
  type ChunkInputs,
  chunkPass,
  forwardContext,
  type GradientPasses,
  keptOutputs,
  keptPass,
  lossTensors,
  lossValues,
  named,
  prefixed,
  type StepSettings,
  type Tensors,
  WATCHED,
} from "../objectives/passes.ts";
import {
  buildTrainedParameters,
  scoringParameters,
  selectLearnedScalars,
  selectTrained,
} from "../objectives/trained-parameters.ts";
import type { Backend, EngineSettings } from "./engine.ts";
import {
  adamW,
  type Optimizer,
  type OptimizerOptions,
  type ParameterState,
  ruleOf,
  STATE_ARRAYS,
  type StateArray,
  sumsOfSquares,
  updateScalars,
} from "./optimizer.ts";

/** The arrays of a `ParameterState` as variables. */
type StateVariables = Readonly<Record<StateArray, Variable>>;

/** Copies the values of `parameters` once. `read` and `write` copy them back and again. */
export function openTensorFlowBackend(
  tf: TensorFlow,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: EngineSettings,
): Backend {
  const variables = new Map(
    [...parameters].map(([name, state]) => [name, stateVariables(tf, state)] as const),
  );
  const all = [...variables.values()].flatMap((state) => STATE_ARRAYS.map((array) => state[array]));
  return {
    passes: openTensorFlowPasses(tf, config, variables, options),
    optimizer: tensorFlowOptimizer(tf, selectTrained(options.trained, variables), options),
    clearGradients() {
      for (const { gradient } of variables.values())
        tf.tidy(() => gradient.assign(tf.zerosLike(gradient)));
    },
    async read(names) {
      for (const name of names)
        for (const array of STATE_ARRAYS)
          parameters.get(name)![array].set(await variables.get(name)![array].data());
    },
    async write() {
      for (const [name, state] of parameters)
        for (const array of STATE_ARRAYS)
          tf.tidy(() => {
            const values = tf.tensor(state[array].slice(), [...state.shape]);
            variables.get(name)![array].assign(values);
          });
    },
    async [Symbol.asyncDispose]() {
      tf.dispose(all);
    },
  };
}

function stateVariables(tf: TensorFlow, state: ParameterState): StateVariables {
  const variables = STATE_ARRAYS.map((array) => {
    const variable = tf.tidy(() => tf.variable(tf.tensor(state[array].slice(), [...state.shape])));
    return [array, variable] as const;
  });
  return Object.fromEntries(variables) as Record<StateArray, Variable>;
}

function tensorFlowOptimizer(
  tf: TensorFlow,
  parameters: ReadonlyMap<string, StateVariables>,
  options: OptimizerOptions,
): Optimizer {
  const ops = tensorFlowOps(tf);
  return {
    async gradientNorms() {
      const gradients = new Map<string, TfTensor>(
        [...parameters].map(([name, { gradient }]) => [name, gradient]),
      );
      const { main, apart } = tf.tidy(() => sumsOfSquares(ops, gradients, options));
      const norms = { main: Math.sqrt((await main.data())[0]!), apart: 0 };
      norms.apart = Math.sqrt((await apart.data())[0]!);
      tf.dispose([main, apart]);
      return norms;
    },
    async update(step) {
      for (const [name, state] of parameters)
        tf.tidy(() => {
          const scalars = updateScalars(step, options, ops.scalar);
          const updated = adamW(ops, state, scalars, ruleOf(name, state.value.shape, options));
          state.value.assign(updated.value);
          state.firstMoment.assign(updated.firstMoment);
          state.secondMoment.assign(updated.secondMoment);
        });
    },
  };
}

/** A parameter and the sum of its gradients. The caller disposes of them. */
interface TensorFlowParameter {
  readonly value: Variable;
  readonly gradient: Variable;
}

/** Adds gradients to those of `parameters`, which include the learned scalars. */
function openTensorFlowPasses(
  tf: TensorFlow,
  config: ModelConfig,
  parameters: ReadonlyMap<string, TensorFlowParameter>,
  settings: StepSettings,
): GradientPasses {
  const ops = tensorFlowOps(tf);
  const leaf = (name: string): TfTensor => parameters.get(name)!.value;
  const trained = new Map(
    [...selectTrained(settings.trained, parameters)].map(([name, { value }]) => [name, value]),
  );
  const modelOf = (dropout: Tensors) => {
    const random = constants(ops, dropout);
    const drop = fedDropout<TfTensor>(ops, settings.dropout, (name) => random[name]!);
    return {
      contexts: forwardContext(ops, config, settings, drop),
      parameters: buildTrainedParameters<TfTensor>(ops, config, settings, leaf),
    };
  };
  const addGradient = (name: string, gradient: TfTensor): void => {
    const sum = parameters.get(name)!.gradient;
    tf.tidy(() => sum.assign(tf.add(sum, gradient)));
    gradient.dispose();
  };
  return {
    async keep(plan, chunk, dropout) {
      const computed = tf.tidy(() => {
        const { contexts, parameters } = modelOf(dropout);
        return keptPass(contexts, parameters, chunkInputs(ops, chunk), plan);
      });
      return readAndDispose(computed);
    },
    async batch(plan, batch) {
      const kept = keptOutputs(plan).map((name) => {
        const value = tf.tidy(() => tf.variable(ops.constant(batch[name]!)));
        return [name, value] as const;
      });
      const scalars = selectLearnedScalars(trained);
      const variables = new Map<string, Variable>([...scalars, ...kept]);
      const { outputs, gradients } = outputsAndGradients(tf, variables, "loss", () => {
        const input = { ...constants(ops, batch), ...Object.fromEntries(kept) };
        const scoring = scoringParameters<TfTensor>(config, plan.tau, leaf);
        return lossTensors(batchPass(ops, scoring, input, plan));
      });
      for (const name of scalars.keys()) addGradient(name, gradients.get(name)!);
      tf.dispose(kept.map(([, value]) => value));
      const ofKept = kept.map(([name]) => [name, gradients.get(name)!]);
      return {
        ...lossValues(await readAndDispose(outputs)),
        gradients: await readAndDispose(Object.fromEntries(ofKept)),
      };
    },
    async chunk(plan, chunk, dropout, cache) {
      const { outputs, gradients } = outputsAndGradients(tf, trained, "minimised", () => {
        const { contexts, parameters } = modelOf(dropout);
        const input = chunkInputs(ops, chunk);
        const computed = chunkPass(
          contexts,
          parameters,
          input,
          plan,
          cache && constants(ops, cache),
        );
        const { minimised, watched } = computed;
        return { minimised, ...lossTensors(computed), ...prefixed(WATCHED, watched) };
      });
      for (const [name, gradient] of gradients) addGradient(name, gradient);
      const read = await readAndDispose(outputs);
      return { ...lossValues(read), watched: named(read, WATCHED) };
    },
  };
}

const constants = (ops: Ops<TfTensor>, tensors: Tensors): Record<string, TfTensor> =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, ops.constant(tensor)]));

const chunkInputs = (ops: Ops<TfTensor>, chunk: Tensors): ChunkInputs<TfTensor> =>
  constants(ops, chunk) as ChunkInputs<TfTensor>;

async function readAndDispose(tensors: Readonly<Record<string, TfTensor>>): Promise<Tensors> {
  const read: Record<string, Tensor> = {};
  for (const [name, tensor] of Object.entries(tensors))
    read[name] = { data: (await tensor.data()) as Float32Array | Int32Array, shape: tensor.shape };
  for (const tensor of Object.values(tensors)) tensor.dispose();
  return read;
}
