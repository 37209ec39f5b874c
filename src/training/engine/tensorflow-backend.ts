/** Training steps on TensorFlow.js. The states of parameters are variables of TensorFlow.js. */

import type { Variable } from "@tensorflow/tfjs-core";
import type { ModelConfig } from "../../model/config.ts";
import type { TensorFlow } from "../../tensor/tensorflow/load.ts";
import { tensorFlowOps } from "../../tensor/tensorflow/ops.ts";
import { selectTrained } from "../loss/trained-parameters.ts";
import type { Backend, EngineOptions } from "./backend.ts";
import {
  adamW,
  decayOf,
  type Optimizer,
  type OptimizerOptions,
  type ParameterState,
  STATE_ARRAYS,
  type StateArray,
  sumOfSquares,
  updateScalars,
} from "./optimizer.ts";
import { openTensorFlowPasses } from "./tensorflow-passes.ts";

/** The arrays of a `ParameterState` as variables. */
type StateVariables = Readonly<Record<StateArray, Variable>>;

/** Copies the values of `parameters` once. `read` and `write` copy them back and again. */
export function openTensorFlowBackend(
  tf: TensorFlow,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: EngineOptions,
): Backend {
  const variables = new Map(
    [...parameters].map(([name, state]) => [name, stateVariables(tf, state)] as const),
  );
  const all = [...variables.values()].flatMap((state) => STATE_ARRAYS.map((array) => state[array]));
  return {
    passes: openTensorFlowPasses(tf, config, variables, options),
    optimizer: tensorFlowOptimizer(tf, selectTrained(config, options, variables), options),
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
    async gradientNorm() {
      const gradients = [...parameters.values()].map(({ gradient }) => gradient);
      const total = tf.tidy(() => sumOfSquares(ops, gradients));
      const [sum] = await total.data();
      total.dispose();
      return Math.sqrt(sum!);
    },
    async update(step) {
      for (const [name, state] of parameters)
        tf.tidy(() => {
          const scalars = updateScalars(step, options, ops.scalar);
          const updated = adamW(ops, state, scalars, decayOf(name, state.value.shape, options));
          state.value.assign(updated.value);
          state.firstMoment.assign(updated.firstMoment);
          state.secondMoment.assign(updated.secondMoment);
        });
    },
  };
}
