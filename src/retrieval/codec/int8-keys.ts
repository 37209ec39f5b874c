/**
 * Keys that wait for their codebook, in about a quarter of the bytes of float32. A key is its scale
 * (float32, little-endian) and a signed byte for each value:
 *
 *     scale = max_i |key_i| / 127,    key_i ≈ scale * byte_i
 *
 * A codebook and codes of such keys are as near to the float32 keys as those of float32 keys
 * (docs/experiments/compression.md).
 */

import { dequantise, quantiseRows } from "../../checkpoints/int8.ts";
import type { KeyDecoder } from "./codec.ts";

const SCALE_BYTES = 4;

/** Bytes of a key. */
export const int8KeyBytes = (dimension: number): number => SCALE_BYTES + dimension;

/** @param keys [tokens, dimension] */
export function encodeInt8Keys(keys: Float32Array, dimension: number): Uint8Array {
  const { values, scales } = quantiseRows(keys, keys.length / dimension);
  const size = int8KeyBytes(dimension);
  const bytes = new Uint8Array(scales.length * size);
  const view = new DataView(bytes.buffer);
  for (const [token, scale] of scales.entries()) {
    view.setFloat32(token * size, scale, true);
    const own = values.subarray(token * dimension, (token + 1) * dimension);
    bytes.set(own, token * size + SCALE_BYTES);
  }
  return bytes;
}

export function int8Decoder(dimension: number): KeyDecoder {
  const size = int8KeyBytes(dimension);
  return {
    file: "keys.i8",
    tokenBytes: size,
    decode({ buffer, byteOffset, length }) {
      const view = new DataView(buffer, byteOffset, length);
      const scales = new Float32Array(length / size);
      const values = new Int8Array(scales.length * dimension);
      for (const token of scales.keys()) {
        const start = token * size;
        scales[token] = view.getFloat32(start, true);
        const own = new Int8Array(buffer, byteOffset + start + SCALE_BYTES, dimension);
        values.set(own, token * dimension);
      }
      return dequantise({ values, scales });
    },
  };
}
