/**
 * Matrices as 8-bit integers with one scale a row, and for an embedding also one a column:
 *
 *     w[i, j] ~ scale[i] * q[i, j] * column[j],   q from -127 to 127
 *     column[j] = max_i |w[i, j]|, or 1,          scale[i] = max_j |w[i, j] / column[j]| / 127
 *
 * The error is at most half a step, `scale[i] * column[j] / 2`. A row is an output of a linear
 * layer or a token of the embedding, so a large row does not make the steps of the others coarse.
 * The dimensions of an embedding can be of very different size: with scales of rows alone, the
 * steps are too coarse for the small ones.
 *
 * In a safetensors file, tensor `NAME` of dtype I8 [rows, columns] has its scales in `NAME_scale`,
 * F32 [rows], and in `NAME_column_scale`, F32 [columns], if it has any. The metadata of the file
 * contain the version of this format.
 */

/** `NAME_scale` holds the scales of the rows of `NAME`. */
export const scaleName = (name: string): string => `${name}_scale`;

/** `NAME_column_scale` holds the scales of the columns of `NAME`. */
export const columnScaleName = (name: string): string => `${name}_column_scale`;

/** The key of the format's version in the metadata of a safetensors file. */
export const INT8_VERSION_KEY = "reatt_int8_version";

/** Readers refuse files of a later version. */
export const INT8_VERSION = 1;

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

/** Rounds a matrix of finite values to the nearest steps, with scales of rows alone. */
export function quantiseRows(matrix: Float32Array, rows: number): Int8Matrix {
  const columns = matrix.length / rows;
  const values = new Int8Array(matrix.length);
  const scales = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    let largest = 0;
    for (let i = start; i < start + columns; i++) largest = Math.max(largest, Math.abs(matrix[i]!));
    if (largest < SMALLEST_ROW) continue;
    scales[row] = largest / LARGEST;
    const scale = scales[row]!; // rounded to float32, as the reader has it
    for (let i = start; i < start + columns; i++) values[i] = Math.round(matrix[i]! / scale);
  }
  return { values, scales };
}

/** The same with scales of rows and columns. */
export function quantiseRowsAndColumns(matrix: Float32Array, rows: number): Int8Matrix {
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

/** Each product is rounded to float32, from left to right: the same on every machine. */
export function dequantise({ values, scales, columnScales }: Int8Matrix): Float32Array {
  const columns = values.length / scales.length;
  const matrix = new Float32Array(values.length);
  for (let row = 0; row < scales.length; row++) {
    const scale = scales[row]!;
    const start = row * columns;
    for (let i = start; i < start + columns; i++) matrix[i] = scale * values[i]!;
    if (columnScales)
      for (let column = 0; column < columns; column++)
        matrix[start + column]! *= columnScales[column]!;
  }
  return matrix;
}
