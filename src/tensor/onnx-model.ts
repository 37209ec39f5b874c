/**
 * The parts of an ONNX model that a graph needs, and their encoding. The whole schema would take a
 * twentieth of the time of a short command to load.
 *
 * Format: protobuf, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
 */

import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Shape } from "./ops.ts";

/** `TensorProto.DataType` */
export const ElementType = {
  FLOAT: 1,
  UINT8: 2,
  INT8: 3,
  INT32: 6,
  INT64: 7,
  FLOAT16: 10,
  BFLOAT16: 16,
} as const;

export type ElementType = (typeof ElementType)[keyof typeof ElementType];

export type Attribute = number | readonly number[] | string | { readonly float: number };

/** `NodeProto` */
export interface OnnxNode {
  readonly opType: string;
  /** Of the operator: "" for those of ONNX. */
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, Attribute>>;
}

/** `TensorProto`: its values, or the place where the session finds them. */
export interface OnnxConstant {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly values: Uint8Array | Readonly<Record<string, string>>;
}

/** `ValueInfoProto`: an input or an output. */
export interface OnnxValue {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: Shape;
}

export interface OnnxGraph {
  readonly nodes: readonly OnnxNode[];
  readonly constants: readonly OnnxConstant[];
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
}

const OPSETS = {
  "": 21, // the newest that all providers of onnxruntime 1.30 support
  "com.microsoft": 1,
};
const IR_VERSION = 10; // the version of opset 21

/** Field numbers of the schema. */
const MODEL = { irVersion: 1, graph: 7, opsetImport: 8 };
const OPSET = { domain: 1, version: 2 };
const GRAPH = { node: 1, name: 2, initializer: 5, input: 11, output: 12 };
const NODE = { input: 1, output: 2, opType: 4, attribute: 5, domain: 7 };
const ATTRIBUTE = { name: 1, f: 2, i: 3, s: 4, ints: 8, type: 20 };
const TENSOR = { dims: 1, dataType: 2, name: 8, rawData: 9, externalData: 13, dataLocation: 14 };
const ENTRY = { key: 1, value: 2 };
const VALUE_INFO = { name: 1, type: 2 };
const TYPE = { tensorType: 1 };
const TENSOR_TYPE = { elemType: 1, shape: 2 };
const SHAPE = { dim: 1 };
const DIMENSION = { dimValue: 1, dimParam: 2 };

/** `AttributeProto.AttributeType` */
const AttributeType = { FLOAT: 1, INT: 2, STRING: 3, INTS: 7 };
/** `TensorProto.DataLocation.EXTERNAL` */
const EXTERNAL = 1;

export function encodeModel(graph: OnnxGraph): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  int(writer, MODEL.irVersion, IR_VERSION);
  message(writer, MODEL.graph, () => writeGraph(writer, graph));
  for (const [domain, version] of Object.entries(OPSETS))
    message(writer, MODEL.opsetImport, () => {
      string(writer, OPSET.domain, domain);
      int(writer, OPSET.version, version);
    });
  return writer.finish();
}

function writeGraph(writer: BinaryWriter, { nodes, constants, inputs, outputs }: OnnxGraph): void {
  for (const node of nodes) message(writer, GRAPH.node, () => writeNode(writer, node));
  string(writer, GRAPH.name, "reatt");
  for (const one of constants) message(writer, GRAPH.initializer, () => writeConstant(writer, one));
  for (const value of inputs) message(writer, GRAPH.input, () => writeValue(writer, value));
  for (const value of outputs) message(writer, GRAPH.output, () => writeValue(writer, value));
}

function writeNode(writer: BinaryWriter, node: OnnxNode): void {
  for (const input of node.inputs) string(writer, NODE.input, input);
  for (const output of node.outputs) string(writer, NODE.output, output);
  string(writer, NODE.opType, node.opType);
  for (const [name, value] of Object.entries(node.attributes))
    message(writer, NODE.attribute, () => writeAttribute(writer, name, value));
  string(writer, NODE.domain, node.domain);
}

function writeAttribute(writer: BinaryWriter, name: string, value: Attribute): void {
  string(writer, ATTRIBUTE.name, name);
  if (typeof value === "number") {
    int(writer, ATTRIBUTE.i, value);
    int(writer, ATTRIBUTE.type, AttributeType.INT);
  } else if (typeof value === "string") {
    string(writer, ATTRIBUTE.s, value);
    int(writer, ATTRIBUTE.type, AttributeType.STRING);
  } else if ("float" in value) {
    writer.tag(ATTRIBUTE.f, WireType.Bit32).float(value.float);
    int(writer, ATTRIBUTE.type, AttributeType.FLOAT);
  } else {
    for (const one of value) int(writer, ATTRIBUTE.ints, one);
    int(writer, ATTRIBUTE.type, AttributeType.INTS);
  }
}

function writeConstant(writer: BinaryWriter, { name, type, shape, values }: OnnxConstant): void {
  for (const size of shape) int(writer, TENSOR.dims, size);
  int(writer, TENSOR.dataType, type);
  string(writer, TENSOR.name, name);
  if (values instanceof Uint8Array) {
    writer.tag(TENSOR.rawData, WireType.LengthDelimited).bytes(values);
    return;
  }
  for (const [key, value] of Object.entries(values))
    message(writer, TENSOR.externalData, () => {
      string(writer, ENTRY.key, key);
      string(writer, ENTRY.value, value);
    });
  int(writer, TENSOR.dataLocation, EXTERNAL);
}

function writeValue(writer: BinaryWriter, { name, type, shape }: OnnxValue): void {
  string(writer, VALUE_INFO.name, name);
  const writeShape = (): void => {
    for (const dim of shape)
      message(writer, SHAPE.dim, () => {
        if (typeof dim === "number") int(writer, DIMENSION.dimValue, dim);
        else string(writer, DIMENSION.dimParam, dim);
      });
  };
  message(writer, VALUE_INFO.type, () =>
    message(writer, TYPE.tensorType, () => {
      int(writer, TENSOR_TYPE.elemType, type);
      message(writer, TENSOR_TYPE.shape, writeShape);
    }),
  );
}

function message(writer: BinaryWriter, field: number, write: () => void): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write();
  writer.join();
}

const int = (writer: BinaryWriter, field: number, value: number): BinaryWriter =>
  writer.tag(field, WireType.Varint).int64(value);

const string = (writer: BinaryWriter, field: number, value: string): BinaryWriter =>
  writer.tag(field, WireType.LengthDelimited).string(value);
