/**
 * Translates a traced graph to ONNX. The table `translate` has one entry per operation of `Ops`.
 *
 * Format: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto. The model refers to weights as
 * external data, since a protobuf is limited to 2 GB.
 *
 * A weight in a file becomes the product `x W^T` without a transposed copy: onnxruntime reads the
 * matrix where the file is mapped. fp16 and int8 weights are converted when the session is created.
 */

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type AttributeProtoSchema,
  AttributeProto_AttributeType as AttributeType,
  TensorProto_DataLocation as DataLocation,
  TensorProto_DataType as ElementType,
  ModelProtoSchema,
  type NodeProtoSchema,
  type TensorProtoSchema,
  type ValueInfoProtoSchema,
} from "onnx-buf";
import { DTYPE_BYTES, elementCount } from "../checkpoints/values.ts";
import type { StoredValues } from "../checkpoints/weight-file.ts";
import type { DataType, Dim, Shape, Tensor } from "./ops.ts";
import type { Graph, Node, Operation, Value } from "./trace.ts";

const OPSET = 21n; // the newest that all providers of onnxruntime 1.30 support
const IR_VERSION = 10n; // the version of opset 21
const LAST = 0x7fff_ffff_ffff_ffffn; // "to the end" of a Slice

/** A fixed weight: values given by name when the session is created, or those of a file. */
export type Weight = Float32Array | StoredValues;

export const isStored = (weight: Weight): weight is StoredValues =>
  !(weight instanceof Float32Array);

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
  graph: Graph,
  fixed: ReadonlyMap<string, Weight>,
  { locate = (file) => file, fuse = true }: EncodeOptions = {},
): Uint8Array {
  const { nodes } = graph;
  const parameters = [...graph.parameters.values()];
  const writer = new Writer([
    ...graph.inputs.values(),
    ...parameters,
    ...nodes.flatMap((node) => node.outputs),
  ]);
  for (const value of parameters) {
    const weight = fixed.get(value.name);
    if (weight) writer.weight(value, weight, locate);
  }
  const transposed = fuse ? transposedWeights(graph, fixed) : new Map<Value, Value>();
  for (const node of nodes) {
    const [first, second] = node.inputs;
    const weight = node.operation === "matmul" ? transposed.get(second!) : undefined;
    if (weight) writer.linear(first!.name, weight.name, node.outputs[0]!.name);
    else if (!transposed.has(node.outputs[0]!))
      translate[node.operation](
        writer,
        node,
        node.inputs.map((input) => input.name),
      );
  }
  for (const [name, value] of graph.outputs)
    writer.emit("Identity", [value.name], {}, [outputName(name)]);

  const fed = [...graph.inputs.values(), ...parameters.filter((value) => !fixed.has(value.name))];
  const model = create(ModelProtoSchema, {
    irVersion: IR_VERSION,
    opsetImport: [
      { domain: "", version: OPSET },
      { domain: "com.microsoft", version: 1n },
    ],
    graph: {
      name: "reatt",
      node: writer.nodes,
      initializer: writer.constants,
      input: fed.map((value) => valueInfo(value.name, value)),
      output: [...graph.outputs].map(([name, value]) => valueInfo(outputName(name), value)),
    },
  });
  return toBinary(ModelProtoSchema, model);
}

/**
 * The transposed matrices that only products `x W^T` with a stored weight W need, and W of each.
 */
function transposedWeights(
  { nodes, outputs }: Graph,
  fixed: ReadonlyMap<string, Weight>,
): Map<Value, Value> {
  const transposed = new Map<Value, Value>();
  for (const { operation, inputs, attributes, outputs } of nodes) {
    const weight = operation === "transpose" ? fixed.get(inputs[0]!.name) : undefined;
    if (weight && isStored(weight) && attributes.permutation!.join() === "1,0")
      transposed.set(outputs[0]!, inputs[0]!);
  }
  for (const { operation, inputs } of nodes)
    inputs.forEach((input, i) => {
      if (operation !== "matmul" || i !== 1) transposed.delete(input);
    });
  for (const output of outputs.values()) transposed.delete(output);
  return transposed;
}

/** The name of a graph output in the ONNX model. */
export const outputName = (name: string): string => `output:${name}`;

type Attribute = number | readonly number[] | string | { readonly float: number };

/** Collects ONNX nodes and constants. */
class Writer {
  readonly nodes: MessageInitShape<typeof NodeProtoSchema>[] = [];
  readonly constants: MessageInitShape<typeof TensorProtoSchema>[] = [];
  /** Named size -> the first tensor with such an axis, from which the model reads the size. */
  readonly #origins = new Map<string, { value: Value; axis: number }>();
  readonly #integers = new Map<string, string>();

  constructor(values: readonly Value[]) {
    for (const value of values)
      value.shape.forEach((dim, axis) => {
        if (typeof dim === "string" && !this.#origins.has(dim))
          this.#origins.set(dim, { value, axis });
      });
  }

  /** Adds a node with `outputs`, or with one new output. Returns the name of the first output. */
  emit(
    opType: string,
    inputs: readonly string[],
    attributes: Record<string, Attribute> = {},
    outputs: readonly string[] = [`n${this.nodes.length}`],
    domain = "",
  ): string {
    this.nodes.push({
      opType,
      domain,
      input: [...inputs],
      output: [...outputs],
      attribute: Object.entries(attributes).map(([name, value]) => attribute(name, value)),
    });
    return outputs[0]!;
  }

  constant(tensor: Tensor, name: string = `c${this.constants.length}`): string {
    const { data, shape } = tensor;
    this.constants.push({
      name,
      dims: shape.map(BigInt),
      dataType: data instanceof Float32Array ? ElementType.FLOAT : ElementType.INT32,
      rawData: new Uint8Array(
        data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) as ArrayBuffer,
      ),
    });
    return name;
  }

  /** A fixed weight as a float32 tensor. */
  weight(value: Value, weight: Weight, locate: (file: string) => string): void {
    const { name } = value;
    if (!isStored(weight)) {
      this.constants.push(externalTensor(value, ELEMENT_TYPES[value.type], { location: name }));
      return;
    }
    const stored = (name: string, { file, position, dtype, shape }: StoredValues): string => {
      const length = elementCount(shape) * DTYPE_BYTES.get(dtype)!;
      const place = { location: locate(file), offset: `${position}`, length: `${length}` };
      this.constants.push(externalTensor({ name, shape }, STORED_TYPES[dtype]!, place));
      return name;
    };
    if (weight.dtype === "F32") {
      stored(name, weight);
      return;
    }
    const scaled = weight.scales !== undefined;
    const numbers = this.emit(
      "Cast",
      [stored(`${name}:stored`, weight)],
      { to: ElementType.FLOAT },
      [scaled ? `${name}:numbers` : name],
    );
    if (!weight.scales) return;
    // In the order of `dequantise`, so that the values are the same
    const { scales, columnScales, shape } = weight;
    const rows = stored(`${name}:scales`, { ...scales, shape: [shape[0]!, 1] });
    const scaledRows = columnScales ? `${name}:rows` : name;
    this.emit("Mul", [numbers, rows], {}, [scaledRows]);
    if (columnScales)
      this.emit("Mul", [scaledRows, stored(`${name}:columns`, columnScales)], {}, [name]);
  }

  /** `x W^T` */
  linear(x: string, weight: string, output: string): void {
    this.emit("FusedMatMul", [x, weight], { transB: 1 }, [output], "com.microsoft");
  }

  /** An int64 constant: ONNX's type for axes, positions and sizes. */
  integers(
    values: readonly (number | bigint)[],
    shape: readonly number[] = [values.length],
  ): string {
    const key = `${values.join()};${shape.join()}`;
    const known = this.#integers.get(key);
    if (known) return known;
    const name = `i${this.#integers.size}`;
    const data = BigInt64Array.from(values, BigInt);
    this.constants.push({
      name,
      dims: shape.map(BigInt),
      dataType: ElementType.INT64,
      rawData: new Uint8Array(data.buffer),
    });
    this.#integers.set(key, name);
    return name;
  }

  /** A shape as an int64 tensor. The model reads named sizes from tensors that have them. */
  shape(shape: Shape): string {
    if (shape.every((dim) => typeof dim === "number")) return this.integers(shape);
    return this.emit(
      "Concat",
      shape.map((dim) => (typeof dim === "number" ? this.integers([dim]) : this.#size(dim))),
      {
        axis: 0,
      },
    );
  }

  #size(name: string): string {
    const origin = this.#origins.get(name);
    if (!origin) throw new Error(`no tensor of the graph has an axis "${name}"`);
    return this.emit("Shape", [origin.value.name], { start: origin.axis, end: origin.axis + 1 });
  }
}

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

function attribute(name: string, value: Attribute): MessageInitShape<typeof AttributeProtoSchema> {
  if (typeof value === "number") return { name, type: AttributeType.INT, i: BigInt(value) };
  if (typeof value === "string")
    return { name, type: AttributeType.STRING, s: new TextEncoder().encode(value) };
  if ("float" in value) return { name, type: AttributeType.FLOAT, f: value.float };
  return { name, type: AttributeType.INTS, ints: value.map(BigInt) };
}

const ELEMENT_TYPES: Record<DataType, ElementType> = {
  float32: ElementType.FLOAT,
  int32: ElementType.INT32,
};

/** Types in weight files. */
const STORED_TYPES: Readonly<Record<string, ElementType>> = {
  F32: ElementType.FLOAT,
  F16: ElementType.FLOAT16,
  BF16: ElementType.BFLOAT16,
  I8: ElementType.INT8,
};

function externalTensor(
  { name, shape }: Pick<Value, "name" | "shape">,
  dataType: ElementType,
  place: Readonly<Record<string, string>>,
): MessageInitShape<typeof TensorProtoSchema> {
  return {
    name,
    dims: shape.map(BigInt),
    dataType,
    dataLocation: DataLocation.EXTERNAL,
    externalData: Object.entries(place).map(([key, value]) => ({ key, value })),
  };
}

function valueInfo(
  name: string,
  { type, shape }: Value,
): MessageInitShape<typeof ValueInfoProtoSchema> {
  const dim = shape.map((size) =>
    typeof size === "number"
      ? ({ value: { case: "dimValue", value: BigInt(size) } } as const)
      : ({ value: { case: "dimParam", value: size } } as const),
  );
  return {
    name,
    type: {
      value: { case: "tensorType", value: { elemType: ELEMENT_TYPES[type], shape: { dim } } },
    },
  };
}
