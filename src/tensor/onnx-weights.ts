/**
 * Writes the fixed weights of a graph, and the operations that read them as they are stored. The
 * storage of a weight W decides how a product `x W^T` and a lookup of rows are computed:
 *
 * | W | product | rows |
 * |---|---|---|
 * | F32 | `FusedMatMul`: onnxruntime reads W where the file is mapped | mapped |
 * | F16, BF16 | W becomes float32 when the session is created | the same |
 * | I8 of a linear layer | of integers, mapped; the rows of x are rounded, too | as F16 |
 * | I8 of a table | W is fed to each run as float32 | mapped; rows are scaled when they are read |
 *
 * Mapped weights that are small are packed for products when the session is created (session.ts).
 * A reshaped W of F32 is mapped as well: it has the same values. All other operations read W as
 * float32, which is computed when the session is created.
 *
 * A product of integers (dynamic quantisation, with a scale for each row of x):
 *
 *     a[r] = max_k |x[r, k]| / 127,   p[r, k] = round(x[r, k] / a[r])
 *     y[r, n] = a[r] * scale[n] * sum_k p[r, k] * q[n, k]
 *
 * The sum is exact on every processor, since q is small enough (checkpoints/int8.ts).
 * A row is a token, so its result does not depend on the other passages of a batch, as it would
 * with `DynamicQuantizeMatMul` of onnxruntime, which has one scale for all rows.
 */

import { DTYPE_BYTES, elementCount } from "../checkpoints/values.ts";
import type { StoredValues } from "../checkpoints/weight-file.ts";
import { ElementType } from "./onnx-model.ts";
import { ELEMENT_TYPES, type Writer } from "./onnx-writer.ts";
import type { Graph, Node, Value } from "./trace.ts";

/** A fixed weight: values given by name when the session is created, or those of a file. */
export type Weight = Float32Array | StoredValues;

export const isStored = (weight: Weight): weight is StoredValues =>
  !(weight instanceof Float32Array);

/** A matrix of 8-bit integers. */
type Int8Weight = StoredValues & { readonly scales: StoredValues };

export const isInt8 = (weight: Weight): weight is Int8Weight =>
  isStored(weight) && weight.scales !== undefined;

const isTable = (weight: Weight): boolean => isInt8(weight) && weight.columnScales !== undefined;

const isLayer = (weight: Weight): boolean => isInt8(weight) && weight.columnScales === undefined;

/**
 * The names of the tables of integers that a node needs as float32, and not only some rows of them.
 */
export const wholeTables = ({ nodes }: Graph, fixed: ReadonlyMap<string, Weight>): string[] =>
  [...fixed]
    .filter(([, weight]) => isTable(weight))
    .map(([name]) => name)
    .filter((name) =>
      nodes.some(
        ({ operation, inputs }) =>
          operation !== "gather" && inputs.some((input) => input.name === name),
      ),
    );

/** Whether a session reads a stored weight where the file is mapped. */
export const isMapped = (weight: StoredValues): boolean => weight.dtype === "F32" || isInt8(weight);

export interface WeightOptions {
  /** The path of a file as the session finds it. */
  readonly locate: (file: string) => string;
  /** Whether the provider has the operators of the table. Otherwise all weights are float32. */
  readonly fuse: boolean;
}

/** Types in weight files. */
const STORED_TYPES: Readonly<Record<string, ElementType>> = {
  F32: ElementType.FLOAT,
  F16: ElementType.FLOAT16,
  BF16: ElementType.BFLOAT16,
  I8: ElementType.INT8,
};

/** The domain of onnxruntime's own operators. */
export const CONTRIBUTED = "com.microsoft";

/** The largest integer of an activation. */
const LARGEST = 127;

/**
 * Activations are uint8 around this value: with int8, onnxruntime computes products of integers
 * 20 times slower on x86.
 */
export const MIDDLE = 128;

export class WeightWriter {
  readonly #writer: Writer;
  readonly #fixed: ReadonlyMap<string, Weight>;
  readonly #options: WeightOptions;
  /** The reshaped weights that are mapped. */
  readonly #reshaped: ReadonlyMap<Value, StoredValues>;
  /** The transposed matrices that only products need, and the weight of each. */
  readonly #transposed: ReadonlyMap<Value, Value>;
  /** What several operations share. */
  readonly #written = new Set<string>();

  constructor(
    writer: Writer,
    graph: Graph,
    fixed: ReadonlyMap<string, Weight>,
    options: WeightOptions,
  ) {
    this.#writer = writer;
    this.#fixed = fixed;
    this.#options = options;
    this.#reshaped = options.fuse ? reshapedWeights(graph, fixed) : new Map();
    this.#transposed = options.fuse
      ? transposedWeights(graph, (value) => fixed.get(value.name) ?? this.#reshaped.get(value))
      : new Map();
    const others = graph.nodes.filter((node) => !this.#readsStored(node));
    const factors = [...this.#transposed.values()].filter(({ name }) => !this.#is(isLayer, name));
    const read = others.flatMap(({ inputs }) => inputs);
    const whole = new Set([...read, ...factors, ...graph.outputs.values()]);
    for (const value of graph.parameters.values()) {
      const weight = fixed.get(value.name);
      if (weight) this.#declare(value, weight, whole.has(value));
    }
  }

  /** Writes a node that reads a weight as it is stored. Returns false for any other node. */
  write(node: Node): boolean {
    if (!this.#readsStored(node)) return false;
    const [first, second] = node.inputs;
    const output = node.outputs[0]!.name;
    if (node.operation === "gather") this.#lookup(first!.name, second!.name, output);
    if (node.operation === "reshape") this.#place(output, this.#reshaped.get(node.outputs[0]!)!);
    if (node.operation === "matmul")
      this.#product(first!.name, this.#transposed.get(second!)!.name, output);
    return true; // a transposition is part of its products
  }

  #readsStored({ operation, inputs, outputs }: Node): boolean {
    if (operation === "matmul") return this.#transposed.has(inputs[1]!);
    if (operation === "transpose") return this.#transposed.has(outputs[0]!);
    if (operation === "reshape") return this.#reshaped.has(outputs[0]!);
    return operation === "gather" && this.#options.fuse && this.#is(isTable, inputs[0]!.name);
  }

  #is(kind: (weight: Weight) => boolean, name: string): boolean {
    const weight = this.#fixed.get(name);
    return weight !== undefined && kind(weight);
  }

  /** @param whole whether a node reads the weight as a float32 tensor */
  #declare(value: Value, weight: Weight, whole: boolean): void {
    const { name } = value;
    const writer = this.#writer;
    if (!isStored(weight)) {
      const shape = value.shape as readonly number[];
      writer.external({ name, shape }, ELEMENT_TYPES[value.type], { location: name });
    } else if (weight.dtype === "F32") {
      if (whole) this.#place(name, weight);
    } else if (isInt8(weight)) this.#declareInt8(name, weight, whole);
    else {
      const stored = this.#place(`${name}:stored`, weight);
      writer.emit("Cast", [stored], { to: ElementType.FLOAT }, [name]);
    }
  }

  /** A constant whose values are in a file. */
  #place(name: string, { file, position, dtype, shape }: StoredValues): string {
    const length = elementCount(shape) * DTYPE_BYTES.get(dtype)!;
    const location = this.#options.locate(file);
    const place = { location, offset: `${position}`, length: `${length}` };
    return this.#writer.external({ name, shape }, STORED_TYPES[dtype]!, place);
  }

  #declareInt8(name: string, weight: Int8Weight, whole: boolean): void {
    const writer = this.#writer;
    const { integers, scales, columns } = namesOf(name);
    const { shape, columnScales } = weight;
    const shapeInFile = columnScales ? shape : shape.toReversed();
    this.#place(integers, { ...weight, shape: shapeInFile });
    this.#place(scales, weight.scales);
    if (columnScales) this.#place(columns, columnScales);
    if (!whole) return;
    const byRows = columnScales ? integers : writer.emit("Transpose", [integers], { perm: [1, 0] });
    this.#scaleRows(byRows, scales, columnScales && columns, name);
  }

  /**
   * `scale * integer * column`, in the order of `dequantise`, so that the values are the same:
   * [..., columns], [...], [columns].
   */
  #scaleRows(integers: string, scales: string, columns: string | undefined, output: string): void {
    const writer = this.#writer;
    const numbers = writer.emit("Cast", [integers], { to: ElementType.FLOAT });
    const factors = [numbers, writer.emit("Unsqueeze", [scales, writer.integers([-1])])];
    if (columns) writer.emit("Mul", [writer.emit("Mul", factors), columns], {}, [output]);
    else writer.emit("Mul", factors, {}, [output]);
  }

  #lookup(table: string, ids: string, output: string): void {
    const { integers, scales, columns } = namesOf(table);
    const rows = this.#writer.emit("Gather", [integers, ids]);
    this.#scaleRows(rows, this.#writer.emit("Gather", [scales, ids]), columns, output);
  }

  #product(x: string, weight: string, output: string): void {
    if (this.#is(isLayer, weight)) this.#integerProduct(x, weight, output);
    else this.#writer.emit("FusedMatMul", [x, weight], { transB: 1 }, [output], CONTRIBUTED);
  }

  #integerProduct(x: string, weight: string, output: string): void {
    const writer = this.#writer;
    const { integers, scales } = namesOf(weight);
    const rounded = this.#roundRows(x);
    const inputs = [rounded.integers, integers, this.#float(1), scales, this.#middle()];
    const sums = writer.emit("MatMulIntegerToFloat", inputs, {}, undefined, CONTRIBUTED);
    writer.emit("Mul", [sums, rounded.scales], {}, [output]);
  }

  /** Rounds x [..., size] to integers around {@link MIDDLE}, with scales [..., 1]. */
  #roundRows(x: string): { readonly integers: string; readonly scales: string } {
    const writer = this.#writer;
    const { integers, scales } = namesOf(x);
    this.#once(scales, () => {
      const largest = writer.emit("ReduceMax", [writer.emit("Abs", [x]), writer.integers([-1])]);
      writer.emit("Mul", [largest, this.#float(1 / LARGEST)], {}, [scales]);
      const list = writer.emit("Reshape", [scales, writer.integers([-1])]);
      const middles = writer.emit("Expand", [this.#middle(), writer.emit("Shape", [list])]);
      const rows = writer.emit("Flatten", [x], { axis: -1 });
      const rounded = writer.emit("QuantizeLinear", [rows, list, middles], { axis: 0 });
      writer.emit("Reshape", [rounded, writer.emit("Shape", [x])], {}, [integers]);
    });
    return { integers, scales };
  }

  #float(value: number): string {
    return this.#once(`float:${value}`, (name) =>
      this.#writer.constant({ data: Float32Array.of(value), shape: [] }, name),
    );
  }

  #middle(): string {
    return this.#once("middle", (name) =>
      this.#writer.constants.push({
        name,
        type: ElementType.UINT8,
        shape: [],
        values: Uint8Array.of(MIDDLE),
      }),
    );
  }

  /** Writes what several operations share, when the first of them needs it. */
  #once(name: string, write: (name: string) => void): string {
    if (!this.#written.has(name)) write(name);
    this.#written.add(name);
    return name;
  }
}

/** Names of 8-bit integers and their scales: of a weight, or of an activation. */
const namesOf = (value: string) => ({
  integers: `${value}:integers`,
  scales: `${value}:scales`,
  columns: `${value}:columns`,
});

/** The reshaped weights of F32 files: the place of the weight with the new shape. */
function reshapedWeights(
  { nodes }: Graph,
  fixed: ReadonlyMap<string, Weight>,
): Map<Value, StoredValues> {
  const reshaped = new Map<Value, StoredValues>();
  for (const { operation, inputs, outputs } of nodes) {
    const weight = operation === "reshape" ? fixed.get(inputs[0]!.name) : undefined;
    const shape = outputs[0]!.shape.filter((dim) => typeof dim === "number");
    if (weight && isStored(weight) && weight.dtype === "F32")
      reshaped.set(outputs[0]!, { ...weight, shape });
  }
  return reshaped;
}

/**
 * The transposed matrices that only products `x W^T` with a stored weight W need.
 *
 * @param weightOf the weight whose values a value of the graph has, if it is fixed
 */
function transposedWeights(
  { nodes, outputs }: Graph,
  weightOf: (value: Value) => Weight | undefined,
): Map<Value, Value> {
  const transposed = new Map<Value, Value>();
  for (const { operation, inputs, attributes, outputs } of nodes) {
    const weight = operation === "transpose" ? weightOf(inputs[0]!) : undefined;
    if (weight && isStored(weight) && swapsLastAxes(attributes.permutation!))
      transposed.set(outputs[0]!, inputs[0]!);
  }
  for (const { operation, inputs } of nodes)
    inputs.forEach((input, i) => {
      if (operation !== "matmul" || i !== 1) transposed.delete(input);
    });
  for (const output of outputs.values()) transposed.delete(output);
  return transposed;
}

function swapsLastAxes(permutation: readonly number[]): boolean {
  const axes = permutation.map((_, axis) => axis);
  return permutation.join() === [...axes.slice(0, -2), axes.at(-1), axes.at(-2)].join();
}
