/**
 * The stored form of the states of a passage, which the reader starts from: 8 bits for each value
 * and a scale for each token. The scales of all tokens come first, float32 [tokens], then the
 * values, int8 [tokens, size]:
 *
 *     x[i, j] ~ scale[i] * q[i, j],   scale[i] = max_j |x[i, j]| / 127
 *
 * A value changes by at most half a step, `scale[i] / 2`. docs/experiments/speed.md compares the
 * answers with those of fp16.
 */

import { dequantise, quantiseRows } from "../../../checkpoints/int8.ts";
import { viewBytes } from "./new-files.ts";
import { damagedFile } from "./storage.ts";

const SCALE_BYTES = 4;

/** Bytes of the states of a token. */
export const stateBytes = (size: number): number => SCALE_BYTES + size;

/** Packs states [tokens, size]. */
export function packStates(states: Float32Array, size: number): Uint8Array {
  const { scales, values } = quantiseRows(states, states.length / size);
  const packed = new Uint8Array(scales.byteLength + values.length);
  packed.set(viewBytes(scales));
  packed.set(viewBytes(values), scales.byteLength);
  return packed;
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
  const scales = new Float32Array(tokens); // a copy: the bytes can begin at any position
  viewBytes(scales).set(packed.subarray(0, scales.byteLength));
  const start = packed.byteOffset + scales.byteLength;
  const values = new Int8Array(packed.buffer, start, size * tokens);
  return dequantise({ values, scales });
}
