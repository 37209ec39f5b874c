/**
 * The greatest products of vectors with groups of rows of a table, in integers: a third of the time
 * of products in float32. `Ops` has no integers, so the graph is written in the operators of
 * onnxruntime.
 */

import { Tensor } from "onnxruntime-node";
import { ElementType, encodeModel } from "./onnx-model.ts";
import { CONTRIBUTED, MIDDLE } from "./onnx-weights.ts";
import { Writer } from "./onnx-writer.ts";
import { openModel } from "./open-model.ts";

/** A table of `count` rows of `size` values, rounded: row c is `scales[c] * integers[:, c]`. */
export interface RoundedTable {
  /** [size, count], from -63 to 63: the sums are exact on every processor (checkpoints/int8.ts). */
  readonly integers: Int8Array;
  /** [count] */
  readonly scales: Float32Array;
  /** What is added to the product with each row: [count] */
  readonly added: Float32Array;
  /** The step that the values of the vectors are rounded to. Values above 127 of it are cut. */
  readonly unit: number;
}

export interface GroupMaxima extends AsyncDisposable {
  /** Writes the maxima of each vector, [n, count / group], to `into`: of `vector . row + added`. */
  maxima(vectors: Float32Array, table: RoundedTable, into: Float32Array): Promise<void>;
}

/** Opens maxima over groups of `group` rows, for vectors of `size` values. */
export async function openGroupMaxima(size: number, group: number): Promise<GroupMaxima> {
  const session = await openModel(encodeMaxima(size, group));
  return {
    async maxima(vectors, { integers, scales, added, unit }, into) {
      const [rows, count] = [vectors.length / size, scales.length];
      const feeds = {
        vectors: new Tensor("float32", vectors, [rows, size]),
        unit: new Tensor("float32", Float32Array.of(unit), []),
        integers: new Tensor("int8", integers, [size, count]),
        scales: new Tensor("float32", scales, [count]),
        added: new Tensor("float32", added, [count]),
      };
      await session.run(feeds, { maxima: new Tensor("float32", into, [rows, count / group]) });
    },
    [Symbol.asyncDispose]: () => session.release(),
  };
}

function encodeMaxima(size: number, group: number): Uint8Array {
  const { FLOAT, INT8, UINT8 } = ElementType;
  const writer = new Writer([]);
  writer.constants.push({ name: "middle", type: UINT8, shape: [], values: Uint8Array.of(MIDDLE) });
  const rounded = writer.emit("QuantizeLinear", ["vectors", "unit", "middle"]);
  const products = writer.emit(
    "MatMulIntegerToFloat",
    [rounded, "integers", "unit", "scales", "middle", "", "added"],
    {},
    undefined,
    CONTRIBUTED,
  );
  const groups = writer.emit("Reshape", [products, writer.integers([0, -1, group])]);
  writer.emit("ReduceMax", [groups, writer.integers([2])], { keepdims: 0 }, ["maxima"]);
  return encodeModel({
    nodes: writer.nodes,
    constants: writer.constants,
    inputs: [
      { name: "vectors", type: FLOAT, shape: ["vector", size] },
      { name: "unit", type: FLOAT, shape: [] },
      { name: "integers", type: INT8, shape: [size, "row"] },
      { name: "scales", type: FLOAT, shape: ["row"] },
      { name: "added", type: FLOAT, shape: ["row"] },
    ],
    outputs: [{ name: "maxima", type: FLOAT, shape: ["vector", "group"] }],
  });
}
