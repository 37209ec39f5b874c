/**
 * `Ops` in plain loops: the reference for all other implementations.
 *
 * Operations on float64 tensors give float64, for comparisons beyond the precision of float32.
 */

import type { DataType, Ops, Shape, Tensor } from "../../src/tensor/ops.ts";

/** A tensor that may be float64. */
export interface NaiveTensor {
  readonly data: Float32Array | Float64Array | Int32Array;
  readonly shape: readonly number[];
}

type NaiveType = DataType | "float64";
type Index = readonly number[];

const ARRAYS = { float64: Float64Array, float32: Float32Array, int32: Int32Array } as const;

export const naiveOps: Ops<NaiveTensor> = {
  shape: (x) => x.shape,
  constant: (value) => value,
  scalar: (value) => tabulate([], () => value),

  add: elementwise((a, b) => a + b),
  subtract: elementwise((a, b) => a - b),
  multiply: elementwise((a, b) => a * b),
  divide: elementwise((a, b) => a / b),
  exp: each(Math.exp),
  log: each(Math.log),
  sqrt: each(Math.sqrt),
  sigmoid: each((x) => 1 / (1 + Math.exp(-x))),
  relu: each((x) => (x > 0 ? x : 0)),
  erf: each(erf),
  geluTanh: each(
    (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  ),
  greater: elementwise((a, b) => (a > b ? 1 : 0), "float32"),
  equal: elementwise((a, b) => (a === b ? 1 : 0), "float32"),

  matmul(a, b) {
    const leading = a.shape.slice(0, -2);
    const [rows, inner, columns] = [a.shape.at(-2)!, a.shape.at(-1)!, b.shape.at(-1)!];
    return tabulate(
      [...leading, rows, columns],
      (index) => {
        const [batch, [row, column]] = [index.slice(0, -2), index.slice(-2) as [number, number]];
        const batchOfB = b.shape.length === 2 ? [] : batch;
        return total(inner, (k) => at(a, [...batch, row, k]) * at(b, [...batchOfB, k, column]));
      },
      typeOf(a, b),
    );
  },
  transpose: (x, permutation) =>
    tabulate(
      permutation.map((axis) => x.shape[axis]!),
      (index) => at(x, inverse(permutation, index)),
      typeOf(x),
    ),
  reshape(x, shape) {
    const known = sizes(shape).filter((size) => size !== -1);
    const free = x.data.length / count(known);
    return { data: x.data, shape: sizes(shape).map((size) => (size === -1 ? free : size)) };
  },
  expand: (x, shape) => tabulate(sizes(shape), (index) => at(x, stretched(x, index)), typeOf(x)),
  concat(parts, axis) {
    const along = fromStart(axis, parts[0]!);
    const shape = parts[0]!.shape.with(
      along,
      total(parts.length, (i) => parts[i]!.shape[along]!),
    );
    return tabulate(
      shape,
      (index) => {
        let position = index[along]!;
        const part = parts.find((candidate) => {
          const inside = position < candidate.shape[along]!;
          if (!inside) position -= candidate.shape[along]!;
          return inside;
        })!;
        return at(part, index.with(along, position));
      },
      typeOf(...parts),
    );
  },
  split(x, axis, parts) {
    return sizes(parts).map((size, i) => {
      const start = total(i, (before) => sizes(parts)[before]!);
      return naiveOps.slice(x, axis, start, start + size);
    });
  },
  slice(x, axis, start, end) {
    const along = fromStart(axis, x);
    const positions = Array.from({ length: x.shape[along]! }, (_, i) => i).slice(start, end);
    return tabulate(
      x.shape.with(along, positions.length),
      (index) => at(x, index.with(along, positions[index[along]!]!)),
      typeOf(x),
    );
  },
  gather: (table, indices) =>
    tabulate(
      [...indices.shape, ...table.shape.slice(1)],
      (index) => {
        const rank = indices.shape.length;
        return at(table, [at(indices, index.slice(0, rank)), ...index.slice(rank)]);
      },
      typeOf(table),
    ),
  scatterAdd: (table, updates, indices) =>
    tabulate(
      table.shape,
      ([row, ...rest]) =>
        at(table, [row!, ...rest]) +
        total(indices.data.length, (i) =>
          indices.data[i] === row ? at(updates, [...indexOf(i, indices.shape), ...rest]) : 0,
        ),
      typeOf(table),
    ),
  oneHot: (indices, depth) =>
    tabulate([...indices.shape, depth], (index) =>
      at(indices, index.slice(0, -1)) === index.at(-1) ? 1 : 0,
    ),

  sumBefore: (x) =>
    tabulate(
      x.shape,
      (index) => total(index.at(-1)!, (i) => at(x, [...index.slice(0, -1), i])),
      "int32",
    ),
  sum: reduction((numbers) => total(numbers.length, (i) => numbers[i]!)),
  mean: reduction((numbers) => total(numbers.length, (i) => numbers[i]!) / numbers.length),
  max: (x, axis, options) => reduction((numbers) => Math.max(...numbers))(x, [axis], options),
  softmax: rowwise((row) => {
    const exponentials = row.map((x) => Math.exp(x - Math.max(...row)));
    return exponentials.map((x) => x / total(row.length, (i) => exponentials[i]!));
  }),
  logSoftmax: rowwise((row) => {
    const largest = Math.max(...row);
    const normaliser = largest + Math.log(total(row.length, (i) => Math.exp(row[i]! - largest)));
    return row.map((x) => x - normaliser);
  }),
  rmsNorm: (x, weight, epsilon) =>
    rowwise((row) => {
      const meanSquare = total(row.length, (i) => row[i]! ** 2) / row.length;
      return row.map((value, i) => (value / Math.sqrt(meanSquare + epsilon)) * weight.data[i]!);
    })(x),
  stopGradient: (x) => x,
};

/** The tensor of `shape` with the value `value(index)` at every index. */
export function tabulate(
  shape: readonly number[],
  value: (index: Index) => number,
  type?: DataType,
): Tensor;
export function tabulate(
  shape: readonly number[],
  value: (index: Index) => number,
  type: NaiveType,
): NaiveTensor;
export function tabulate(
  shape: readonly number[],
  value: (index: Index) => number,
  type: NaiveType = "float32",
): NaiveTensor {
  const data = new ARRAYS[type](count(shape));
  for (let i = 0; i < data.length; i++) data[i] = value(indexOf(i, shape));
  return { data, shape };
}

/** The value of `x` at `index`. */
export function at(x: NaiveTensor, index: Index): number {
  return x.data[index.reduce((position, i, axis) => position * x.shape[axis]! + i, 0)]!;
}

/** The index of the value at `position` in a tensor of `shape`. */
function indexOf(position: number, shape: readonly number[]): number[] {
  const index: number[] = [];
  for (const size of shape.toReversed()) {
    index.unshift(position % size);
    position = Math.floor(position / size);
  }
  return index;
}

/** The index in `x` that corresponds to `index` in the broadcast of `x`. */
const stretched = (x: NaiveTensor, index: Index): number[] =>
  index.slice(index.length - x.shape.length).map((i, axis) => (x.shape[axis] === 1 ? 0 : i));

function elementwise(f: (a: number, b: number) => number, type?: DataType) {
  return (a: NaiveTensor, b: NaiveTensor): NaiveTensor => {
    const rank = Math.max(a.shape.length, b.shape.length);
    const [left, right] = [a, b].map(({ shape }) => [
      ...Array(rank - shape.length).fill(1),
      ...shape,
    ]);
    const shape = left!.map((size, axis) => (size === 1 ? right![axis]! : size));
    return tabulate(
      shape,
      (index) => f(at(a, stretched(a, index)), at(b, stretched(b, index))),
      type ?? typeOf(a, b),
    );
  };
}

function each(f: (x: number) => number) {
  return (x: NaiveTensor): NaiveTensor => tabulate(x.shape, (index) => f(at(x, index)), typeOf(x));
}

function rowwise(f: (row: number[]) => number[]) {
  return (x: NaiveTensor): NaiveTensor => {
    const size = x.shape.at(-1)!;
    const rows = Array.from({ length: x.data.length / size }, (_, i) => [
      ...x.data.slice(i * size, (i + 1) * size),
    ]);
    return { data: ARRAYS[typeOf(x)].from(rows.flatMap(f)), shape: x.shape };
  };
}

function reduction(f: (numbers: number[]) => number) {
  return (
    x: NaiveTensor,
    axes: readonly number[],
    { keep = false }: { keep?: boolean } = {},
  ): NaiveTensor => {
    const reduced = new Set(axes.map((axis) => fromStart(axis, x)));
    const kept = x.shape.map((size, axis) => (reduced.has(axis) ? 1 : size));
    const groups = new Map<string, number[]>();
    x.data.forEach((value, position) => {
      const key = indexOf(position, x.shape)
        .map((i, axis) => (reduced.has(axis) ? 0 : i))
        .join();
      groups.set(key, [...(groups.get(key) ?? []), value]);
    });
    const { data } = tabulate(kept, (index) => f(groups.get(index.join())!), typeOf(x));
    return { data, shape: keep ? kept : kept.filter((_, axis) => !reduced.has(axis)) };
  };
}

/** The widest type of some tensors. */
const typeOf = (...tensors: NaiveTensor[]): NaiveType =>
  (["float64", "float32", "int32"] as const).find((type) =>
    tensors.some(({ data }) => data instanceof ARRAYS[type]),
  )!;
const fromStart = (axis: number, { shape }: NaiveTensor): number =>
  axis < 0 ? axis + shape.length : axis;
const sizes = (shape: Shape): readonly number[] => shape as readonly number[];
const count = (shape: readonly number[]): number =>
  shape.reduce((product, size) => product * size, 1);
const inverse = (permutation: readonly number[], index: Index): number[] =>
  permutation.map((_, axis) => index[permutation.indexOf(axis)]!);

function total(length: number, term: (i: number) => number): number {
  let sum = 0;
  for (let i = 0; i < length; i++) sum += term(i);
  return sum;
}

/** The Maclaurin series, whose terms fall once they are past x^2. */
function erf(x: number): number {
  let [sum, power] = [0, x];
  for (let n = 0; n < 200; n++) {
    sum += power / (2 * n + 1);
    power *= -(x * x) / (n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}
