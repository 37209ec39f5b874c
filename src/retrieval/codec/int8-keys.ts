/**
 * Keys that wait for their codebook, in about a quarter of the bytes of float32. A key is its scale
 * (float32, little-endian) and a signed byte for each value:
 *
 *     scale = max_i |key_i| / 127,    key_i ≈ scale * byte_i
 *
 * A codebook and codes of such keys are as near to the float32 keys as those of float32 keys
 * (docs/experiments/compression.md).
 */

import type { KeyDecoder } from "./codec.ts";

const SCALE_BYTES = 4;
const GREATEST = 127;

/** Bytes of a key. */
export const int8KeyBytes = (dimension: number): number => SCALE_BYTES + dimension;

/** @param keys [tokens, dimension] */
export function encodeInt8Keys(keys: Float32Array, dimension: number): Uint8Array {
  const size = int8KeyBytes(dimension);
  const bytes = new Uint8Array((keys.length / dimension) * size);
  const view = new DataView(bytes.buffer);
  for (let start = 0, at = 0; start < keys.length; start += dimension, at += size) {
    let greatest = 0;
    for (let i = start; i < start + dimension; i++)
      greatest = Math.max(greatest, Math.abs(keys[i]!));
    view.setFloat32(at, greatest / GREATEST, true);
    const scale = view.getFloat32(at, true) || 1; // a key of zeros, or nearly
    for (let i = 0; i < dimension; i++)
      bytes[at + SCALE_BYTES + i] = Math.round(keys[start + i]! / scale);
  }
  return bytes;
}

export function int8Decoder(dimension: number): KeyDecoder {
  const size = int8KeyBytes(dimension);
  return {
    file: "keys.i8",
    tokenBytes: size,
    decode(bytes) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const keys = new Float32Array((bytes.length / size) * dimension);
      for (let start = 0, at = 0; start < keys.length; start += dimension, at += size) {
        const scale = view.getFloat32(at, true);
        for (let i = 0; i < dimension; i++)
          keys[start + i] = scale * view.getInt8(at + SCALE_BYTES + i);
      }
      return keys;
    },
  };
}
