import type { Ops, Tensor } from "../../src/tensor/ops.ts";
import { type NaiveTensor, naiveOps } from "./naive-ops.ts";

/**
 * How far a number is moved to each side. In float64, where numbers are around 1, rounding then costs 1e-11 and the
 * curvature that differences pass over 1e-10.
 */
const STEP = 1e-5;

/** The gradients of `loss`, of no axes, with respect to each float input; undefined for those of whole numbers. */
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
