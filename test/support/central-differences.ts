/** Gradients by finite differences, the independent check of derived gradients. */

import type { Ops, Tensor } from "../../src/tensor/ops.ts";
import { type NaiveTensor, naiveOps } from "./naive-ops.ts";

/**
 * The change of a value to each side. For float64 values around 1, the rounding error is then about
 * 1e-11 and the truncation error about 1e-10.
 */
const STEP = 1e-5;

/** The gradients of the scalar `loss` for each float input; undefined for int32 inputs. */
export function centralDifferences(
  loss: (ops: Ops<NaiveTensor>, ...inputs: NaiveTensor[]) => NaiveTensor,
  inputs: readonly Tensor[],
): (Float64Array | undefined)[] {
  const doubles = inputs.map(({ data, shape }) => ({
    data: data instanceof Int32Array ? data : Float64Array.from(data),
    shape,
  }));
  const lossAt = (data: Float64Array, i: number, value: number): number => {
    const before = data[i]!;
    data[i] = value;
    const { data: result } = loss(naiveOps, ...doubles);
    data[i] = before;
    return result[0]!;
  };
  return doubles.map(({ data }) =>
    data instanceof Int32Array
      ? undefined
      : data.map((x, i) => (lossAt(data, i, x + STEP) - lossAt(data, i, x - STEP)) / (2 * STEP)),
  );
}
