/** Training steps on TensorFlow.js. The states of parameters are variables of TensorFlow.js. */

import type { Tensor, Variable } from "@tensorflow/tfjs-core";
import type { ModelConfig } from "../../model/config.ts";
import type { TensorFlow } from "../../tensor/tensorflow/load.ts";
import { tensorFlowOps } from "../../tensor/tensorflow/ops.ts";
import { selectTrained } from "../objectives/trained-parameters.ts";
import type { Backend, EngineSettings } from "./backend.ts";
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
import { openTensorFlowPasses } from "./tensorflow-passes.ts";

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
      const gradients = new Map<string, Tensor>(
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
