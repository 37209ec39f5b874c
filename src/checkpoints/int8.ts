/**
 * Matrices as 8-bit integers with one scale a row, and for a table (an embedding) one a column:
 *
 *     w[i, j] ~ scale[i] * q[i, j] * column[j],   q from -127 to 127
 *     column[j] = max_i |w[i, j]|, or 1,          scale[i] = max_j |w[i, j] / column[j]| / 127
 *
 * A linear layer computes with the integers. Processors without VNNI add the products of two
 * neighbours, weights q times activations up to 255, in 16 bits, and cut off larger sums. The scale
 * of a row is therefore at least that of its largest pair, and sums are exact on every processor:
 *
 *     scale[i] >= max_j (|w[i, 2 j]| + |w[i, 2 j + 1]|) / 127,   then |q| + |q'| <= 128
 *
 * The error is at most half a step, `scale[i] * column[j] / 2`. A row is an output of a linear
 * layer or a token of the embedding, so a large row does not make the steps of the others coarse.
 * The dimensions of an embedding can be of very different size: with scales of rows alone, the
 * steps are too coarse for the small ones.
 *
 * In a safetensors file, tensor `NAME` of dtype I8 has its scales in `NAME_scale`, F32 [rows], and
 * those of a table also in `NAME_column_scale`, F32 [columns]. A table is stored by rows, as
 * [rows, columns], since its rows are looked up. A matrix of a linear layer is stored transposed,
 * as [columns, rows]: the order in which a product of integers reads it. The metadata of the file
 * contain the version of this format. Version 1 had all matrices by rows.
 */

/** `NAME_scale` holds the scales of the rows of `NAME`. */
export const scaleName = (name: string): string => `${name}_scale`;

/** `NAME_column_scale` holds the scales of the columns of `NAME`. */
export const columnScaleName = (name: string): string => `${name}_column_scale`;

/** The key of the format's version in the metadata of a safetensors file. */
export const INT8_VERSION_KEY = "reatt_int8_version";

/** Readers refuse files of other versions. */
export const INT8_VERSION = 2;

const LARGEST = 127; // -128 is not used, so that the steps are symmetric
/** Smaller rows become 0: their scale would not be a normal float32. */
const SMALLEST_ROW = LARGEST * 2 ** -126;

export interface Int8Matrix {
  /** [rows, columns] */
  readonly values: Int8Array;
  /** [rows] */
  readonly scales: Float32Array;
  /** [columns] */
  readonly columnScales?: Float32Array | undefined;
}

/** Rounds the matrix of a linear layer, of finite values, to the nearest steps. */
export function quantiseLayer(matrix: Float32Array, rows: number): Int8Matrix {
  return quantiseRows(matrix, rows, largestPair);
}

/** The same for a table, with scales of rows and columns. */
export function quantiseTable(matrix: Float32Array, rows: number): Int8Matrix {
  const columns = matrix.length / rows;
  const columnScales = new Float32Array(columns);
  matrix.forEach((value, i) => {
    const column = i % columns;
    columnScales[column] = Math.max(columnScales[column]!, Math.abs(value));
  });
  for (const [column, scale] of columnScales.entries())
    if (scale < SMALLEST_ROW) columnScales[column] = 1;
  const even = matrix.map((value, i) => value / columnScales[i % columns]!);
  return { ...quantiseRows(even, rows), columnScales };
}

/**
 * Rounds a matrix that was trained from one of 8-bit integers, at random. A short training moves
 * most weights by less than half a step, so the nearest step is the one where they began, and takes
 * back what was learned. Here, with w / scale = n + f, 0 <= f < 1,
 *
 *     q = n + 1 with probability f, else n
 *
 * so that the mean of the rounded weights is that of the trained ones, and one that did not change
 * keeps its step. A row keeps its scale as long as it fits in it and fills half of it.
 *
 * Source: Gupta et al. 2015, "Deep Learning with Limited Numerical Precision", section 3
 * (stochastic rounding).
 *
 * @param matrix [rows, columns], of finite values
 * @param before the matrix that training began with, of a linear layer or a table
 * @param random uniform in [0, 1)
 */
export function roundAtRandom(
  matrix: Float32Array,
  before: Int8Matrix,
  random: () => number,
): Int8Matrix {
  const { columnScales } = before;
  const rows = before.scales.length;
  const columns = matrix.length / rows;
  const values = new Int8Array(matrix.length);
  const scales = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const [start, end] = [row * columns, (row + 1) * columns];
    const own = matrix.subarray(start, end);
    const even = columnScales ? own.map((value, i) => value / columnScales[i]!) : own;
    const scale = trainedScale(
      even,
      before.scales[row]!,
      columnScales ? largestValue : largestPair,
    );
    if (scale === 0) continue;
    scales[row] = scale;
    const steps = values.subarray(start, end);
    const old = scale === before.scales[row] ? before.values.subarray(start, end) : undefined;
    for (let j = 0; j < columns; j++) steps[j] = stepOf(even[j]! / scale, old?.[j], random);
    if (!columnScales) limitPairs(steps);
  }
  return { values, scales, columnScales };
}

/** Steps that the largest sum of a pair can have: see the top of the file. */
const LARGEST_PAIR = 128;

/** The scale that the row had, if the row still fits in it; else its own. 0 for a row of zeros. */
function trainedScale(
  row: Float32Array,
  before: number,
  largest: (row: Float32Array) => number,
): number {
  const range = largest(row);
  if (range < SMALLEST_ROW) return 0;
  const steps = range / before;
  return steps <= LARGEST_PAIR && steps > LARGEST_PAIR / 2 ? before : Math.fround(range / LARGEST);
}

/** Weights are products in float32: one that is this near to its step did not change. */
const SAME_STEP = 1e-4;

/** @param old the step that the weight had in this scale */
function stepOf(steps: number, old: number | undefined, random: () => number): number {
  if (old !== undefined && Math.abs(steps - old) < SAME_STEP) return old;
  return Math.max(-LARGEST, Math.min(LARGEST, Math.floor(steps + random())));
}

/** Takes a step from the larger one of a pair whose sum is too large. */
function limitPairs(steps: Int8Array): void {
  for (let i = 0; i + 1 < steps.length; i += 2) {
    while (Math.abs(steps[i]!) + Math.abs(steps[i + 1]!) > LARGEST_PAIR) {
      const larger = Math.abs(steps[i]!) >= Math.abs(steps[i + 1]!) ? i : i + 1;
      steps[larger]! -= Math.sign(steps[larger]!);
    }
  }
}

/** What 127 steps are, of a row of a linear layer: the sum of its largest pair of neighbours. */
function largestPair(row: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < row.length; i += 2)
    largest = Math.max(largest, Math.abs(row[i]!) + Math.abs(row[i + 1] ?? 0));
  return largest;
}

/** What 127 steps are, of a row of a table: its largest value. */
function largestValue(row: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < row.length; i++) largest = Math.max(largest, Math.abs(row[i]!));
  return largest;
}

/**
 * Rounds rows of finite values to the nearest steps.
 *
 * @param largest what 127 steps are, of a row. Default: its largest value
 */
export function quantiseRows(
  matrix: Float32Array,
  rows: number,
  largest: (row: Float32Array) => number = largestValue,
): Int8Matrix {
  const columns = matrix.length / rows;
  const values = new Int8Array(matrix.length);
  const scales = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    const own = matrix.subarray(start, start + columns);
    const range = largest(own);
    if (range < SMALLEST_ROW) continue;
    scales[row] = range / LARGEST;
    const scale = scales[row]!; // rounded to float32, as the reader has it
    for (let j = 0; j < columns; j++) values[start + j] = Math.round(own[j]! / scale);
  }
  return { values, scales };
}

/**
 * The values of a matrix, in `matrix` if it is given. Each product is rounded to float32, from left
 * to right: the same on every machine.
 */
export function dequantise(
  { values, scales, columnScales }: Int8Matrix,
  matrix: Float32Array = new Float32Array(values.length),
): Float32Array {
  const columns = values.length / scales.length;
  const ofColumns = columnScales ?? new Float32Array(columns).fill(1);
  for (let row = 0; row < scales.length; row++)
    dequantiseRow(values, row * columns, scales[row]!, ofColumns, matrix);
  return matrix;
}

/** A function of its own, because V8 optimises it within the first rows of a table. */
function dequantiseRow(
  values: Int8Array,
  start: number,
  scale: number,
  columnScales: Float32Array,
  matrix: Float32Array,
): void {
  for (let column = 0; column < columnScales.length; column++)
    matrix[start + column] = Math.fround(scale * values[start + column]!) * columnScales[column]!;
}

/** Rows of a stored matrix that are read together: the bytes of a column that are in one place. */
const BLOCK_ROWS = 16;

/**
 * The rows of the matrix of a linear layer from `first` on, as many as fit in `matrix`, from its
 * stored form, [columns, rows].
 */
export function dequantiseStored(
  stored: Int8Array,
  scales: Float32Array,
  first: number,
  matrix: Float32Array,
): void {
  const columns = stored.length / scales.length;
  const end = first + matrix.length / columns;
  for (let row = first; row < end; row += BLOCK_ROWS) {
    const ofRows = scales.subarray(row, Math.min(row + BLOCK_ROWS, end));
    const rows = matrix.subarray((row - first) * columns);
    for (let column = 0; column < columns; column++)
      dequantiseColumn(stored, column * scales.length + row, ofRows, rows, column, columns);
  }
}

function dequantiseColumn(
  stored: Int8Array,
  start: number,
  scales: Float32Array,
  rows: Float32Array,
  column: number,
  columns: number,
): void {
  for (let i = 0; i < scales.length; i++)
    rows[i * columns + column] = scales[i]! * stored[start + i]!;
}

/** [rows, columns] -> [columns, rows], row-major. */
export function transpose(values: Int8Array, rows: number): Int8Array {
  const columns = values.length / rows;
  const result = new Int8Array(values.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      result[column * rows + row] = values[row * columns + column]!;
  return result;
}
