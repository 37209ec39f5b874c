/**
 * Matrices as 8-bit integers with one scale a row:
 *
 *     w[i, j] ~ scale[i] * q[i, j],   scale[i] = max_j |w[i, j]| / 127,   q from -127 to 127
 *
 * The error is at most half a step, `scale[i] / 2`. A row is an output of a linear layer, or a
 * token of the embedding, so a large row does not make the steps of the others coarse.
 *
 * In a safetensors file, tensor `NAME` of dtype I8 [rows, columns] has its scales in `NAME_scale`,
 * F32 [rows], and the metadata of the file contain the version of this format.
 */

/** `NAME_scale` holds the scales of `NAME`. */
export const scaleName = (name: string): string => `${name}_scale`;

/** The key of the format's version in the metadata of a safetensors file. */
export const INT8_VERSION_KEY = "reatt_int8_version";

/** Readers refuse files of a later version. */
export const INT8_VERSION = 1;

const LARGEST = 127; // -128 is not used, so that the steps are symmetric
/** Smaller rows become 0: their scale would not be a normal float32. */
const SMALLEST_ROW = LARGEST * 2 ** -126;

export interface Int8Rows {
  /** [rows, columns] */
  readonly values: Int8Array;
  /** [rows] */
  readonly scales: Float32Array;
}

/** Rounds a matrix of finite values to the nearest steps. */
export function quantiseRows(matrix: Float32Array, rows: number): Int8Rows {
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

/** `scale[i] * q[i, j]`, rounded once to float32: the same on every machine. */
export function dequantiseRows({ values, scales }: Int8Rows): Float32Array {
  const columns = values.length / scales.length;
  const matrix = new Float32Array(values.length);
  for (let row = 0; row < scales.length; row++) {
    const scale = scales[row]!;
    const start = row * columns;
    for (let i = start; i < start + columns; i++) matrix[i] = scale * values[i]!;
  }
  return matrix;
}
