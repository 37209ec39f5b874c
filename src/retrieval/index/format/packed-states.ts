/**
 * The stored form of the states of a passage, which the reader starts from: fp16 values and a scale
 * for each token. The scales of all tokens come first, float32 [tokens], then the values, fp16
 * [tokens, size]:
 *
 *     x[i, j] ~ scale[i] * h[i, j],   scale[i] = the power of 2 from max_j |x[i, j]| on
 *
 * A value changes by at most a 2,048th of itself, or 2^-25 of the scale. The scales keep |h| up to
 * 1, because states of T5 can exceed 65,504, the largest fp16 value. With 8 bits for a value, up to
 * a tenth of the answers were others (docs/experiments/speed.md).
 */

import { narrowFloat16, widenFloat16 } from "../../../checkpoints/half.ts";
import { damagedFile } from "../blocks/storage.ts";
import { viewBytes } from "./new-files.ts";

const SCALE_BYTES = 4;
const VALUE_BYTES = 2;

/** Bytes of the states of a token. */
export const stateBytes = (size: number): number => SCALE_BYTES + VALUE_BYTES * size;

/** Packs states [tokens, size]. */
export function packStates(states: Float32Array, size: number): Uint8Array {
  const tokens = states.length / size;
  const scales = new Float32Array(tokens);
  const scaled = new Float32Array(states.length);
  for (let token = 0; token < tokens; token++) {
    const start = token * size;
    const scale = scaleOf(states.subarray(start, start + size));
    for (let i = start; i < start + size; i++) scaled[i] = states[i]! / scale; // exact
    scales[token] = scale;
  }
  const values = new Uint16Array(states.length);
  narrowFloat16(scaled, values);
  return Buffer.concat([viewBytes(scales), viewBytes(values)]);
}

/** The power of 2 from the largest value on; 1 for a row of zeros. */
function scaleOf(row: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < row.length; i++) largest = Math.max(largest, Math.abs(row[i]!));
  return largest === 0 ? 1 : 2 ** Math.ceil(Math.log2(largest));
}

/** The number of tokens of packed states. */
export const packedTokens = (packed: Uint8Array, size: number): number =>
  packed.length / stateBytes(size);

/**
 * The states of a passage: [tokens, size].
 *
 * @param path the file of the states, for the error
 * @throws {InputError} if they are no packed states
 */
export function unpackStates(packed: Uint8Array, size: number, path: string): Float32Array {
  const tokens = packedTokens(packed, size);
  if (!Number.isInteger(tokens)) throw damagedFile(path, `states of ${size} values`);
  const scales = new Float32Array(tokens);
  const values = new Uint16Array(size * tokens);
  // copies: the bytes can begin at any position
  viewBytes(scales).set(packed.subarray(0, scales.byteLength));
  viewBytes(values).set(packed.subarray(scales.byteLength));
  const states = new Float32Array(values.length);
  widenFloat16(values, states);
  for (let token = 0; token < tokens; token++) {
    const scale = scales[token]!;
    for (let i = token * size; i < (token + 1) * size; i++) states[i]! *= scale;
  }
  return states;
}
