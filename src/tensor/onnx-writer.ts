/** Collects the nodes and constants of an ONNX graph. */

import { type Attribute, ElementType, type OnnxConstant, type OnnxNode } from "./onnx-model.ts";
import type { DataType, Shape, Tensor } from "./ops.ts";
import type { Value } from "./trace.ts";

export const ELEMENT_TYPES: Record<DataType, ElementType> = {
  float32: ElementType.FLOAT,
  int32: ElementType.INT32,
};

/** Collects ONNX nodes and constants. */
export class Writer {
  readonly nodes: OnnxNode[] = [];
  readonly constants: OnnxConstant[] = [];
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
    this.nodes.push({ opType, domain, inputs, outputs, attributes });
    return outputs[0]!;
  }

  constant(tensor: Tensor, name: string = `c${this.constants.length}`): string {
    const { data, shape } = tensor;
    this.constants.push({
      name,
      type: data instanceof Float32Array ? ElementType.FLOAT : ElementType.INT32,
      shape,
      values: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
    });
    return name;
  }

  /** A constant whose values the session finds outside of the model. */
  external(
    { name, shape }: Pick<OnnxConstant, "name" | "shape">,
    type: ElementType,
    place: Readonly<Record<string, string>>,
  ): string {
    this.constants.push({ name, type, shape, values: place });
    return name;
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
      type: ElementType.INT64,
      shape,
      values: new Uint8Array(data.buffer),
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
