/** Gradients of traced graphs with onnxruntime: every rule, with known and named sizes. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { gradients } from "../../src/tensor/gradients.ts";
import type { Dim, Tensor } from "../../src/tensor/ops.ts";
import { compile } from "../../src/tensor/session.ts";
import { type Graph, trace } from "../../src/tensor/trace.ts";
import { conformGradients, type Differentiate, KNOWN_SIZE } from "./conform-gradients.ts";
import type { Program } from "./conform-ops.ts";
import { knownSize, namedSize, signature } from "./evaluate.ts";

/** -> `0`, `1`, ...: the gradients with respect to each float32 input, `x0`, `x1`, ... */
function traceGradients(
  program: Program,
  inputs: readonly Tensor[],
  dim: (size: number) => Dim,
): Graph {
  const signatures = Object.fromEntries(inputs.map((input, i) => [`x${i}`, signature(input, dim)]));
  return trace(signatures, (ops, given) => {
    const values = inputs.map((_, i) => given[`x${i}`]!);
    const variables = values.filter(({ type }) => type === "float32");
    const results = gradients(ops, program(ops, ...values), variables);
    return Object.fromEntries(results.map((gradient, i) => [i, gradient]));
  });
}

const onOnnxruntime =
  (dim: (size: number) => Dim): Differentiate =>
  async (program, inputs) => {
    const graph = traceGradients(program, inputs, dim);
    await using session = await compile(graph, { threads: 1 });
    const feeds = Object.fromEntries(inputs.map((input, i) => [`x${i}`, input]));
    const results = await session.run(
      Object.fromEntries(Object.entries(feeds).filter(([name]) => graph.inputs.has(name))),
    );
    return Object.values(results);
  };

conformGradients("sizes known", onOnnxruntime(knownSize));
conformGradients(
  "sizes named",
  onOnnxruntime((size) => (size === KNOWN_SIZE ? size : namedSize(size))),
);

const x: Tensor = { data: Float32Array.of(1, 2), shape: [2] };

test("the gradient of a comparison is an error", () => {
  for (const operation of ["greater", "equal"] as const)
    assert.throws(
      () =>
        traceGradients((ops, a) => ops.sum(ops[operation](a, ops.scalar(0)), [0]), [x], knownSize),
      new RegExp(`"${operation}" has no gradient`),
    );
});

test("the gradient of a mean over an axis of unknown size is an error", () => {
  assert.throws(
    () =>
      traceGradients(
        (ops, a) => ops.mean(a, [0]),
        [x],
        () => "length",
      ),
    /needs a known size of axis "length"/,
  );
});

test("the graph omits unused gradients", () => {
  const graph = trace({ a: ["float32", 2, 2], b: ["float32", 2, 2] }, (ops, { a, b }) => {
    const loss = ops.sum(ops.matmul(a, ops.exp(b)), [0, 1]);
    return { gradient: gradients(ops, loss, [a])[0]! };
  });
  const operations = graph.nodes.map(({ operation }) => operation);
  assert.is(operations.filter((operation) => operation === "matmul").length, 1);
});

test.run();
