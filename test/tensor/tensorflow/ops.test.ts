/** `Ops` with TensorFlow.js, and the gradients of every operation. */

import type { Tensor as TfTensor } from "@tensorflow/tfjs-core";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Tensor } from "../../../src/tensor/ops.ts";
import { outputsAndGradients } from "../../../src/tensor/tensorflow/gradients.ts";
import { loadTensorFlow } from "../../../src/tensor/tensorflow/load.ts";
import { tensorFlowOps } from "../../../src/tensor/tensorflow/ops.ts";
import { conformGradients } from "../conform-gradients.ts";
import { conformOps } from "../conform-ops.ts";

const { tf, name } = await loadTensorFlow();
const ops = tensorFlowOps(tf);

const read = async (x: TfTensor): Promise<Tensor> => ({
  data: (await x.data()) as Float32Array | Int32Array,
  shape: x.shape,
});

conformOps(name, async (program, inputs) => {
  const result = tf.tidy(() =>
    program<TfTensor>(ops, ...inputs.map((input) => ops.constant(input))),
  );
  return read(result);
});

conformGradients(name, async (program, inputs) => {
  const tensors = inputs.map((input) => ops.constant(input));
  const values = tensors.map((tensor) =>
    tensor.dtype === "float32" ? tf.variable(tensor) : tensor,
  );
  const variables = values.filter((value) => value instanceof tf.Variable);
  const { gradients } = outputsAndGradients(
    tf,
    new Map(variables.map((variable, i) => [`${i}`, variable])),
    "loss",
    () => ({ loss: program<TfTensor>(ops, ...values) }),
  );
  return Promise.all([...gradients.values()].map(read));
});

test("only returned tensors stay in memory", () => {
  const x = tf.variable(
    tf.tensor([
      [1, 2],
      [3, 4],
    ]),
  );
  const before = tf.memory().numTensors;
  const { outputs, gradients } = outputsAndGradients(tf, new Map([["x", x]]), "loss", () => {
    const rows = ops.gather(x, ops.constant({ data: Int32Array.of(1, 1, 0), shape: [3] }));
    const best = ops.max(ops.stopGradient(rows), 1);
    return { loss: ops.sum(ops.multiply(best, ops.max(rows, 1)), [0]), best };
  });
  assert.equal([...outputs.best.dataSync()], [4, 4, 2]);
  assert.equal([...gradients.get("x")!.dataSync()], [0, 2, 0, 8]);
  assert.is(tf.memory().numTensors, before + 3);
  tf.dispose([outputs.loss, outputs.best, gradients.get("x")!, x]);
});

test.run();
