/** The tracer: the recorded graph, and shape errors at the line of the faulty operation. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Shape } from "../../src/tensor/ops.ts";
import { type Signature, type Tracer, trace, type Value } from "../../src/tensor/trace.ts";

/** The shape of the result of `program` for inputs of these shapes. */
function tracedShape(
  program: (ops: Tracer, ...inputs: Value[]) => Value,
  ...shapes: readonly Shape[]
): Shape {
  const inputs = Object.fromEntries(
    shapes.map((shape, i) => [`x${i}`, ["float32", ...shape] satisfies Signature]),
  );
  const graph = trace(inputs, (ops, given) => ({
    y: program(ops, ...shapes.map((_, i) => given[`x${i}`]!)),
  }));
  return graph.outputs.get("y")!.shape;
}

test("shapes with named axes are inferred", () => {
  const sum = (...shapes: Shape[]) => tracedShape((ops, a, b) => ops.add(a!, b!), ...shapes);
  assert.equal(sum(["batch", 1, 4], ["length", 1]), ["batch", "length", 4]);
  assert.equal(sum(["batch", 4], [3, 4]), [3, 4]);
  const concat = (...shapes: Shape[]) =>
    tracedShape((ops, ...parts) => ops.concat(parts, -1), ...shapes);
  assert.equal(concat([2, "question"], [2, "passage"]), [2, "question+passage"]);
  assert.equal(concat([2, "past"], [2, 1]), [2, "past+1"]);
  const reshape = (from: Shape, to: Shape) => tracedShape((ops, x) => ops.reshape(x!, to), from);
  assert.equal(reshape(["batch", "length", 8], ["batch", "length", 2, -1]), [
    "batch",
    "length",
    2,
    4,
  ]);
  assert.equal(reshape(["batch", 6], [-1, 3]), ["batch*2", 3]);
  assert.equal(reshape([2, 6], [4, -1]), [4, 3]);
  const slice = (end?: number) => tracedShape((ops, x) => ops.slice(x!, 0, 0, end), ["length", 2]);
  assert.equal(slice(1), [1, 2]);
  assert.equal(slice(), ["length", 2]);
});

const REFUSED: Readonly<Record<string, () => void>> = {
  "add of sizes that do not broadcast": () =>
    tracedShape((ops, a, b) => ops.add(a!, b!), [2, 3], [2, 4]),
  "matmul of inner sizes that differ": () =>
    tracedShape((ops, a, b) => ops.matmul(a!, b!), [2, 3], [4, 5]),
  "matmul of leading sizes that differ": () =>
    tracedShape((ops, a, b) => ops.matmul(a!, b!), [2, 3, 4], [3, 4, 5]),
  "a reduction over an axis that is not there": () =>
    tracedShape((ops, x) => ops.sum(x!, [2]), [2, 3]),
  "a slice of an axis that is not there": () =>
    tracedShape((ops, x) => ops.slice(x!, -3, 0), [2, 3]),
  "a slice beyond the end": () => tracedShape((ops, x) => ops.slice(x!, 1, 2, 4), [2, 3]),
  "a slice that ends before it starts": () =>
    tracedShape((ops, x) => ops.slice(x!, 1, 2, -2), [2, 3]),
  "a reshape to another count": () => tracedShape((ops, x) => ops.reshape(x!, [7]), [2, 3]),
  "a reshape to no whole count": () => tracedShape((ops, x) => ops.reshape(x!, [4, -1]), [2, 3]),
  "a reshape with two free sizes": () => tracedShape((ops, x) => ops.reshape(x!, [-1, -1]), [2, 3]),
  "an expand of a size other than 1": () => tracedShape((ops, x) => ops.expand(x!, [2, 4]), [2, 3]),
  "an expand to fewer axes": () => tracedShape((ops, x) => ops.expand(x!, [3]), [2, 3]),
  "a transpose that lacks an axis": () =>
    tracedShape((ops, x) => ops.transpose(x!, [1, 0]), [2, 3, 4]),
  "a transpose that has an axis twice": () =>
    tracedShape((ops, x) => ops.transpose(x!, [1, 1]), [2, 3]),
  "a concat of sizes that differ": () =>
    tracedShape((ops, ...x) => ops.concat(x, 0), [2, 3], [2, 4]),
  "a concat of ranks that differ": () => tracedShape((ops, ...x) => ops.concat(x, 0), [2, 3], [2]),
  "a split whose parts are not the whole": () =>
    tracedShape((ops, x) => ops.split(x!, 1, [1, 1])[0]!, [2, 3]),
  "a norm whose weight has another size": () =>
    tracedShape((ops, x, weight) => ops.rmsNorm(x!, weight!, 1e-6), [2, 3], [4]),
};

for (const [title, program] of Object.entries(REFUSED))
  test(`rejected: ${title}`, () => {
    assert.throws(program, (error: unknown) => error instanceof RangeError);
  });

test("a parameter used twice is recorded once", () => {
  const graph = trace({}, (ops) => ({
    y: ops.add(ops.parameter("weight", [2]), ops.parameter("weight", [2])),
  }));
  assert.equal([...graph.parameters.values()], [{ name: "weight", type: "float32", shape: [2] }]);
});

test("the graph omits nodes that no output depends on", () => {
  const graph = trace({ x: ["float32", 2] }, (ops, { x }) => {
    ops.exp(ops.parameter("unused", [2]));
    return { y: ops.relu(x) };
  });
  assert.equal(
    graph.nodes.map(({ operation }) => operation),
    ["relu"],
  );
  assert.equal([...graph.parameters], []);
});

test.run();
