/**
 * Translates a traced graph to ONNX. The table `translate` has one entry per operation of `Ops`.
 *
 * The model refers to weights as external data, since a protobuf (onnx-model.ts) ends at 2 GB.
 *
 * onnx-weights.ts writes the operations that read a weight as its file has it.
 */

import { type Attribute, ElementType, encodeModel, type OnnxValue } from "./onnx-model.ts";
import { type Weight, WeightWriter } from "./onnx-weights.ts";
import { ELEMENT_TYPES, Writer } from "./onnx-writer.ts";
import type { Dim, Shape } from "./ops.ts";
import type { Graph, Node, Operation, Value } from "./trace.ts";

const LAST = 0x7fff_ffff_ffff_ffffn; // "to the end" of a Slice

interface EncodeOptions {
  readonly locate?: (file: string) => string;
  readonly fuse?: boolean;
}

/**
 * Encodes an ONNX model. Weights in `fixed` are external data, in memory under their own names or
 * in a file; other weights are inputs.
 *
 * @param options.locate the path of a file as the session finds it
 * @param options.fuse whether the provider computes `x W^T` in one operator. Default: true
 */
export function encodeOnnx(
  traced: Graph,
  fixed: ReadonlyMap<string, Weight>,
  { locate = (file) => file, fuse = true }: EncodeOptions = {},
): Uint8Array {
  const graph = withOutputNames(traced);
  const { nodes } = graph;
  const parameters = [...graph.parameters.values()];
  const writer = new Writer([
    ...graph.inputs.values(),
    ...parameters,
    ...nodes.flatMap((node) => node.outputs),
  ]);
  const weights = new WeightWriter(writer, graph, fixed, { locate, fuse });
  for (const node of nodes)
    if (!weights.write(node))
      translate[node.operation](
        writer,
        node,
        node.inputs.map((input) => input.name),
      );
  for (const [name, value] of graph.outputs)
    if (value.name !== outputName(name))
      writer.emit("Identity", [value.name], {}, [outputName(name)]);

  const fed = [...graph.inputs.values(), ...parameters.filter((value) => !fixed.has(value.name))];
  return encodeModel({
    nodes: writer.nodes,
    constants: writer.constants,
    inputs: fed.map((value) => valueInfo(value.name, value)),
    outputs: [...graph.outputs].map(([name, value]) => valueInfo(outputName(name), value)),
  });
}

/**
 * The graph whose computed outputs have their names in the ONNX model. An `Identity` would copy
 * each of them.
 */
function withOutputNames(graph: Graph): Graph {
  const computed = new Set(graph.nodes.flatMap(({ outputs }) => outputs));
  const named = new Map<Value, Value>();
  for (const [name, value] of graph.outputs)
    if (computed.has(value) && !named.has(value))
      named.set(value, { ...value, name: outputName(name) });
  const rename = (value: Value): Value => named.get(value) ?? value;
  const nodes = graph.nodes.map((node) => ({
    ...node,
    inputs: node.inputs.map(rename),
    outputs: node.outputs.map(rename),
  }));
  const outputs = new Map([...graph.outputs].map(([name, value]) => [name, rename(value)]));
  return { ...graph, nodes, outputs };
}

/** The name of a graph output in the ONNX model. */
export const outputName = (name: string): string => `output:${name}`;

type Translation = (writer: Writer, node: Node, inputs: readonly string[]) => void;

/** An ONNX operator with the same inputs and constant attributes. */
const operator =
  (opType: string, attributes: Record<string, Attribute> = {}): Translation =>
  (writer, node, inputs) =>
    writer.emit(opType, inputs, attributes, [node.outputs[0]!.name]);

const comparison =
  (opType: string): Translation =>
  (writer, node, inputs) =>
    writer.emit("Cast", [writer.emit(opType, inputs)], { to: ElementType.FLOAT }, [
      node.outputs[0]!.name,
    ]);

const reduction =
  (opType: string): Translation =>
  (writer, { attributes: { axes, keep }, outputs }, inputs) =>
    writer.emit(opType, [...inputs, writer.integers(axes!)], { keepdims: keep ? 1 : 0 }, [
      outputs[0]!.name,
    ]);

const translate: Record<Operation, Translation> = {
  constant: (writer, { attributes, outputs }) =>
    writer.constant(attributes.tensor!, outputs[0]!.name),
  add: operator("Add"),
  subtract: operator("Sub"),
  multiply: operator("Mul"),
  divide: operator("Div"),
  exp: operator("Exp"),
  log: operator("Log"),
  sqrt: operator("Sqrt"),
  sigmoid: operator("Sigmoid"),
  relu: operator("Relu"),
  erf: operator("Erf"),
  geluTanh: operator("Gelu", { approximate: "tanh" }),
  greater: comparison("Greater"),
  equal: comparison("Equal"),
  matmul: operator("MatMul"),
  transpose: (writer, { attributes, outputs }, inputs) =>
    writer.emit("Transpose", inputs, { perm: attributes.permutation! }, [outputs[0]!.name]),
  reshape: (writer, { inputs: [x], attributes, outputs }, inputs) =>
    writer.emit("Reshape", [...inputs, reshapeTarget(writer, x!.shape, attributes.shape!)], {}, [
      outputs[0]!.name,
    ]),
  expand: (writer, { attributes, outputs }, inputs) =>
    writer.emit("Expand", [...inputs, writer.shape(attributes.shape!)], {}, [outputs[0]!.name]),
  concat: (writer, { attributes, outputs }, inputs) =>
    writer.emit("Concat", inputs, { axis: attributes.axis! }, [outputs[0]!.name]),
  split: (writer, { attributes: { axis, shape }, outputs }, inputs) =>
    writer.emit(
      "Split",
      [...inputs, writer.shape(shape!)],
      { axis: axis! },
      outputs.map((output) => output.name),
    ),
  slice: (writer, { attributes: { start, end, axis }, outputs }, inputs) => {
    const bounds = [[start!], [end ?? LAST], [axis!]].map((values) => writer.integers(values));
    writer.emit("Slice", [...inputs, ...bounds], {}, [outputs[0]!.name]);
  },
  gather: operator("Gather", { axis: 0 }),
  // onnxruntime's CPU provider has a data race in ScatterND with repeated indices; ScatterElements
  // has none.
  scatterAdd: (writer, { inputs: [, , places], outputs }, [table, updates, indices]) => {
    // [indices, width]
    const rows = writer.emit("Flatten", [updates!], { axis: places!.shape.length });
    const column = writer.emit("Reshape", [indices!, writer.integers([-1, 1])]);
    const everywhere = writer.emit("Expand", [column, writer.emit("Shape", [rows])]);
    const flat = writer.emit("Flatten", [table!], { axis: 1 });
    const sums = writer.emit("ScatterElements", [flat, everywhere, rows], {
      axis: 0,
      reduction: "add",
    });
    writer.emit("Reshape", [sums, writer.shape(outputs[0]!.shape)], {}, [outputs[0]!.name]);
  },
  oneHot: (writer, { attributes, outputs }, inputs) => {
    const depth = writer.constant({ data: Int32Array.of(attributes.size!), shape: [] });
    const offOn = writer.constant({ data: Float32Array.of(0, 1), shape: [2] });
    writer.emit("OneHot", [...inputs, depth, offOn], { axis: -1 }, [outputs[0]!.name]);
  },
  sumBefore: (writer, { outputs }, [x]) => {
    const axis = writer.constant({ data: Int32Array.of(-1), shape: [] });
    const sums = writer.emit("CumSum", [x!, axis], { exclusive: 1 });
    writer.emit("Cast", [sums], { to: ElementType.INT32 }, [outputs[0]!.name]);
  },
  sum: reduction("ReduceSum"),
  mean: reduction("ReduceMean"),
  max: reduction("ReduceMax"),
  softmax: operator("Softmax", { axis: -1 }),
  logSoftmax: operator("LogSoftmax", { axis: -1 }),
  rmsNorm: (writer, { attributes, outputs }, inputs) =>
    writer.emit(
      "SimplifiedLayerNormalization",
      inputs,
      { axis: -1, epsilon: { float: attributes.epsilon! } },
      [outputs[0]!.name],
    ),
  stopGradient: operator("Identity"),
};

/**
 * In ONNX's Reshape, 0 copies an axis of the input and -1 infers a size, so few named sizes must be
 * read.
 */
function reshapeTarget(writer: Writer, from: Shape, to: Shape): string {
  const target: Dim[] = to.map((dim, axis) =>
    typeof dim === "string" && from[axis] === dim ? 0 : dim,
  );
  const named = target.filter((dim) => typeof dim === "string");
  const inferred = named.length === 1 && !target.includes(-1);
  return writer.shape(
    inferred ? target.map((dim) => (typeof dim === "string" ? -1 : dim)) : target,
  );
}

const valueInfo = (name: string, { type, shape }: Value): OnnxValue => ({
  name,
  type: ELEMENT_TYPES[type],
  shape,
});
