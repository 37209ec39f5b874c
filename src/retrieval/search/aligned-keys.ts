/**
 * The layout of keys for exact search: each passage starts at a tile of tokens, and as many pieces
 * as fit stay in memory.
 */

import type { KeyPiece, KeyStore } from "../index/format/store.ts";

/**
 * Tokens in a tile. onnxruntime returns one maximum for each tile, at a tenth of the cost in
 * JavaScript. Passages with one key each need no maximum.
 */
export const tileTokens = ({ keyCount, ordinalCount }: KeyStore): number =>
  keyCount === ordinalCount ? 1 : 8;

export interface AlignedKeys extends Pick<KeyStore, "dimension" | "longestKey" | "keys"> {
  /**
   * All keys in order. Each passage starts at a multiple of `tileTokens`. Its last key is repeated
   * up to the next multiple, which does not change a maximum.
   */
  pieces(signal?: AbortSignal): AsyncGenerator<KeyPiece>;
}

/**
 * Opens the aligned keys of a store and keeps the first pieces in memory, up to `memoryLimit`
 * bytes. A scan reads all pieces in order, so a least-recently-used cache would always drop the
 * next piece.
 */
export function openAlignedKeys(store: KeyStore, memoryLimit: number): AlignedKeys {
  const { dimension, longestKey } = store;
  const tile = tileTokens(store);
  const kept: KeyPiece[] = [];
  const keptOf: KeyPiece[] = []; // by ordinal
  let bytes = 0;
  return {
    dimension,
    longestKey,
    async *pieces(signal) {
      let number = 0;
      for (; number < kept.length; number++) {
        signal?.throwIfAborted();
        yield kept[number]!;
      }
      for await (const unaligned of store.pieces({ from: number, signal })) {
        const piece = tile === 1 ? unaligned : align(unaligned, dimension, tile);
        if (number++ === kept.length && bytes + piece.keys.byteLength <= memoryLimit) {
          kept.push(piece);
          for (const ordinal of piece.ordinals) keptOf[ordinal] = piece;
          bytes += piece.keys.byteLength;
        }
        yield piece;
      }
    },
    async keys(ordinal) {
      const piece = keptOf[ordinal];
      if (!piece) return store.keys(ordinal);
      const row = ordinal - piece.ordinals[0]!;
      return piece.keys.subarray(
        piece.starts[row]! * dimension,
        piece.starts[row + 1]! * dimension,
      );
    },
  };
}

function align(
  { ordinals, starts, keys }: KeyPiece,
  dimension: number,
  tileTokens: number,
): KeyPiece {
  const alignedStarts = new Uint32Array(starts.length);
  for (let p = 0; p < ordinals.length; p++) {
    const tiles = Math.ceil((starts[p + 1]! - starts[p]!) / tileTokens);
    alignedStarts[p + 1] = alignedStarts[p]! + tiles * tileTokens;
  }
  const aligned = new Float32Array(alignedStarts.at(-1)! * dimension);
  for (let p = 0; p < ordinals.length; p++) {
    const end = starts[p + 1]! * dimension;
    aligned.set(keys.subarray(starts[p]! * dimension, end), alignedStarts[p]! * dimension);
    const written = alignedStarts[p]! + starts[p + 1]! - starts[p]!;
    for (let token = written; token < alignedStarts[p + 1]!; token++)
      aligned.set(keys.subarray(end - dimension, end), token * dimension);
  }
  return { ordinals, starts: alignedStarts, keys: aligned };
}
