/** Training steps on TensorFlow.js, where parameters and all that the optimiser keeps of them are variables. */

import type { Variable } from "@tensorflow/tfjs-core";
import type { ModelConfig } from "../../model/config.ts";
import type { TensorFlow } from "../../tensor/tensorflow/load.ts";
import { tensorFlowOps } from "../../tensor/tensorflow/ops.ts";
import { trainedOf } from "../loss/trained-parameters.ts";
import type { Backend, BackendOptions } from "./backend.ts";
import {
  adamW,
  decayOf,
  type Optimizer,
  type OptimizerOptions,
  type ParameterState,
  STATE_PARTS,
  type StatePart,
  stepScalars,
  sumOfSquares,
} from "./optimizer.ts";
import { tensorFlowSteps } from "./tensorflow-steps.ts";

/** The parts of a `ParameterState` as variables. */
type StateVariables = Readonly<Record<StatePart, Variable>>;

/** Begins with the numbers in `parameters`, which change when they are read. */
export function openTensorFlowBackend(
  tf: TensorFlow,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: BackendOptions,
): Backend {
  const variables = new Map(
    [...parameters].map(([name, state]) => [name, stateVariables(tf, state)] as const),
  );
  const all = [...variables.values()].flatMap((state) => STATE_PARTS.map((part) => state[part]));
  return {
    steps: tensorFlowSteps(tf, config, variables, options),
    optimizer: tensorFlowOptimizer(tf, trainedOf(config, options, variables), options),
    clearGradients() {
      for (const { gradient } of variables.values())
        tf.tidy(() => gradient.assign(tf.zerosLike(gradient)));
    },
    async read(names) {
      for (const name of names)
        for (const part of STATE_PARTS)
          parameters.get(name)![part].set(await variables.get(name)![part].data());
    },
    async [Symbol.asyncDispose]() {
      tf.dispose(all);
    },
  };
}

function stateVariables(tf: TensorFlow, state: ParameterState): StateVariables {
  const variables = STATE_PARTS.map((part) => {
    const variable = tf.tidy(() => tf.variable(tf.tensor(state[part].slice(), [...state.shape])));
    return [part, variable] as const;
  });
  return Object.fromEntries(variables) as Record<StatePart, Variable>;
}

function tensorFlowOptimizer(
  tf: TensorFlow,
  parameters: ReadonlyMap<string, StateVariables>,
  options: OptimizerOptions,
): Optimizer {
  const ops = tensorFlowOps(tf);
  return {
    async norm() {
      const gradients = [...parameters.values()].map(({ gradient }) => gradient);
      const total = tf.tidy(() => sumOfSquares(ops, gradients));
      const [sum] = await total.data();
      total.dispose();
      return Math.sqrt(sum!);
    },
    async update(move) {
      for (const state of parameters.values())
        tf.tidy(() => {
          const scalars = stepScalars(move, options, ops.scalar);
          const moved = adamW(ops, state, scalars, decayOf(state.value.shape, options));
          state.value.assign(moved.value);
          state.mean.assign(moved.mean);
          state.square.assign(moved.square);
        });
    },
  };
}
