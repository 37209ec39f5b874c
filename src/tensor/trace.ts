/**
 * The tracer: an implementation of `Ops` that computes nothing and records the operations as a
 * graph. onnx.ts translates the graph for onnxruntime; gradients.ts extends it by gradients.
 */

import type { DataType, Dim, Ops, Shape, Tensor } from "./ops.ts";
import {
  axisOf,
  broadcast,
  concatShape,
  expandedShape,
  matmulShape,
  reducedShape,
  resolveReshape,
  slicedShape,
  splitShapes,
  transposedShape,
} from "./shapes.ts";

/** A symbolic tensor of the graph. It has values only when the graph runs. */
export interface Value {
  readonly name: string;
  readonly type: DataType;
  readonly shape: Shape;
}

export type Operation = Exclude<keyof Ops<Value>, "shape" | "scalar">;

/**
 * The arguments of an operation that are not tensors. Each operation sets those of its method in
 * `Ops`.
 */
export interface Attributes {
  readonly axes?: readonly number[];
  readonly axis?: number;
  readonly keep?: boolean;
  readonly permutation?: readonly number[];
  readonly shape?: Shape;
  readonly start?: number;
  readonly end?: number | undefined;
  readonly size?: number;
  readonly epsilon?: number;
  readonly tensor?: Tensor;
}

export interface Node {
  readonly operation: Operation;
  readonly inputs: readonly Value[];
  readonly attributes: Attributes;
  readonly outputs: readonly Value[];
}

export interface Graph {
  /** The inputs of every run. Excludes inputs whose values and named sizes no output depends on. */
  readonly inputs: ReadonlyMap<string, Value>;
  /**
   * The weights that the outputs depend on. They are fixed when the graph is compiled, or else fed
   * at every run.
   */
  readonly parameters: ReadonlyMap<string, Value>;
  readonly nodes: readonly Node[];
  readonly outputs: ReadonlyMap<string, Value>;
}

/** Type and shape of a graph input: `["float32", "batch", 64]`. */
export type Signature = readonly [DataType, ...Dim[]];

/**
 * Runs `build` once on symbolic inputs and returns the recorded graph.
 *
 * `build` returns the outputs by name. A size that can differ between runs is a name, for example
 * `"batch"`.
 */
export function trace<Name extends string>(
  inputs: Record<Name, Signature>,
  build: (ops: Tracer, inputs: Record<Name, Value>) => Record<string, Value>,
): Graph {
  const tracer = new Tracer();
  const given = {} as Record<Name, Value>;
  for (const [name, signature] of Object.entries<Signature>(inputs))
    given[name as Name] = tracer.input(name, signature);
  const outputs = build(tracer, given);
  const needed = new Set(Object.values(outputs));
  const nodes = neededNodes(tracer.nodes, needed);
  return {
    inputs: new Map(
      [...tracer.inputs].filter(([, value]) => needed.has(value) || hasNamedAxis(value)),
    ),
    parameters: new Map([...tracer.parameters].filter(([, value]) => needed.has(value))),
    nodes,
    outputs: new Map(Object.entries(outputs)),
  };
}

const hasNamedAxis = ({ shape }: Value): boolean => shape.some((dim) => typeof dim === "string");

/**
 * The nodes that `needed` depends on, in order. Adds their inputs to `needed`. The graph omits all
 * other nodes.
 */
function neededNodes(nodes: readonly Node[], needed: Set<Value>): Node[] {
  return nodes
    .toReversed()
    .filter((node) => {
      const used = node.outputs.some((output) => needed.has(output));
      if (used) for (const input of node.inputs) needed.add(input);
      return used;
    })
    .toReversed();
}

export class Tracer implements Ops<Value> {
  readonly nodes: Node[] = [];
  readonly inputs: Map<string, Value> = new Map();
  readonly parameters: Map<string, Value> = new Map();

  /** An input that every run feeds under this name. */
  input(name: string, [type, ...shape]: Signature): Value {
    const value: Value = { name, type, shape };
    this.inputs.set(name, value);
    return value;
  }

  /** A float32 weight with this name in the checkpoint. */
  parameter(name: string, shape: readonly number[]): Value {
    const known = this.parameters.get(name);
    if (known) return known;
    const value: Value = { name, type: "float32", shape };
    this.parameters.set(name, value);
    return value;
  }

  shape(x: Value): Shape {
    return x.shape;
  }

  constant(tensor: Tensor): Value {
    const type = tensor.data instanceof Float32Array ? "float32" : "int32";
    return this.#record("constant", [], tensor.shape, { tensor }, type);
  }

  scalar(value: number): Value {
    return this.constant({ data: Float32Array.of(value), shape: [] });
  }

  add(a: Value, b: Value): Value {
    return this.#record("add", [a, b], broadcast(a.shape, b.shape));
  }

  subtract(a: Value, b: Value): Value {
    return this.#record("subtract", [a, b], broadcast(a.shape, b.shape));
  }

  multiply(a: Value, b: Value): Value {
    return this.#record("multiply", [a, b], broadcast(a.shape, b.shape));
  }

  divide(a: Value, b: Value): Value {
    return this.#record("divide", [a, b], broadcast(a.shape, b.shape));
  }

  exp(x: Value): Value {
    return this.#record("exp", [x], x.shape);
  }

  log(x: Value): Value {
    return this.#record("log", [x], x.shape);
  }

  sqrt(x: Value): Value {
    return this.#record("sqrt", [x], x.shape);
  }

  sigmoid(x: Value): Value {
    return this.#record("sigmoid", [x], x.shape);
  }

  relu(x: Value): Value {
    return this.#record("relu", [x], x.shape);
  }

  erf(x: Value): Value {
    return this.#record("erf", [x], x.shape);
  }

  geluTanh(x: Value): Value {
    return this.#record("geluTanh", [x], x.shape);
  }

  greater(a: Value, b: Value): Value {
    return this.#record("greater", [a, b], broadcast(a.shape, b.shape), {}, "float32");
  }

  equal(a: Value, b: Value): Value {
    return this.#record("equal", [a, b], broadcast(a.shape, b.shape), {}, "float32");
  }

  matmul(a: Value, b: Value): Value {
    return this.#record("matmul", [a, b], matmulShape(a.shape, b.shape));
  }

  transpose(x: Value, permutation: readonly number[]): Value {
    return this.#record("transpose", [x], transposedShape(x.shape, permutation), { permutation });
  }

  reshape(x: Value, shape: Shape): Value {
    return this.#record("reshape", [x], resolveReshape(x.shape, shape), { shape });
  }

  expand(x: Value, shape: Shape): Value {
    return this.#record("expand", [x], expandedShape(x.shape, shape), { shape });
  }

  concat(parts: readonly Value[], axis: number): Value {
    const along = axisOf(axis, parts[0]!.shape.length);
    const shape = concatShape(
      parts.map((part) => part.shape),
      along,
    );
    return this.#record("concat", parts, shape, { axis: along });
  }

  split(x: Value, axis: number, sizes: readonly Dim[]): Value[] {
    const along = axisOf(axis, x.shape.length);
    const outputs = splitShapes(x.shape, along, sizes).map((shape) => this.#value(x.type, shape));
    this.nodes.push({
      operation: "split",
      inputs: [x],
      attributes: { axis: along, shape: sizes },
      outputs,
    });
    return outputs;
  }

  slice(x: Value, axis: number, start: number, end?: number): Value {
    const along = axisOf(axis, x.shape.length);
    const shape = slicedShape(x.shape, along, start, end);
    return this.#record("slice", [x], shape, { axis: along, start, end });
  }

  gather(table: Value, indices: Value): Value {
    return this.#record(
      "gather",
      [table, indices],
      [...indices.shape, ...table.shape.slice(1)],
      {},
      table.type,
    );
  }

  scatterAdd(table: Value, updates: Value, indices: Value): Value {
    return this.#record("scatterAdd", [table, updates, indices], table.shape);
  }

  oneHot(indices: Value, depth: number): Value {
    return this.#record("oneHot", [indices], [...indices.shape, depth], { size: depth }, "float32");
  }

  sumBefore(x: Value): Value {
    return this.#record("sumBefore", [x], x.shape, {}, "int32");
  }

  sum(x: Value, axes: readonly number[], { keep = false }: { keep?: boolean } = {}): Value {
    return this.#reduce("sum", x, axes, keep);
  }

  mean(x: Value, axes: readonly number[], { keep = false }: { keep?: boolean } = {}): Value {
    return this.#reduce("mean", x, axes, keep);
  }

  max(x: Value, axis: number, { keep = false }: { keep?: boolean } = {}): Value {
    return this.#reduce("max", x, [axis], keep);
  }

  softmax(x: Value): Value {
    return this.#record("softmax", [x], x.shape);
  }

  logSoftmax(x: Value): Value {
    return this.#record("logSoftmax", [x], x.shape);
  }

  rmsNorm(x: Value, weight: Value, epsilon: number): Value {
    return this.#record("rmsNorm", [x, weight], broadcast(x.shape, weight.shape), { epsilon });
  }

  stopGradient(x: Value): Value {
    return this.#record("stopGradient", [x], x.shape);
  }

  #reduce(
    operation: "sum" | "mean" | "max",
    x: Value,
    axes: readonly number[],
    keep: boolean,
  ): Value {
    const positive = axes.map((axis) => axisOf(axis, x.shape.length));
    return this.#record(operation, [x], reducedShape(x.shape, positive, keep), {
      axes: positive,
      keep,
    });
  }

  #record(
    operation: Operation,
    inputs: readonly Value[],
    shape: Shape,
    attributes: Attributes = {},
    type?: DataType,
  ): Value {
    const output = this.#value(type ?? inputs[0]!.type, shape);
    this.nodes.push({ operation, inputs, attributes, outputs: [output] });
    return output;
  }

  #created = 0;

  #value(type: DataType, shape: Shape): Value {
    return { name: `t${this.#created++}`, type, shape };
  }
}
