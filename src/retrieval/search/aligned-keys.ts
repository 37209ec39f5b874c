/** Keys as the exact search wants them: passages start at whole tiles of tokens, and as many as fit stay in memory. */

import type { KeyPiece, KeyStore } from "../index/format/store.ts";

/** A maximum over so many tokens at a time is taken on onnxruntime, where it costs a tenth of what it costs here. */
export const TILE_TOKENS = 8;

export interface AlignedKeys extends Pick<KeyStore, "dimension" | "longestKey" | "keys"> {
  /**
   * All keys in order. Each passage starts at a multiple of `TILE_TOKENS`; its last key stands again in the room behind
   * it, which changes no maximum.
   */
  pieces(signal?: AbortSignal): AsyncGenerator<KeyPiece>;
}

/**
 * Keeps the first pieces, up to `memoryLimit` bytes. A scan visits all in turn, so of an index that is larger than the
 * limit "least recently used" would always throw away what is needed next.
 */
export function openAlignedKeys(store: KeyStore, memoryLimit: number): AlignedKeys {
  const { dimension, longestKey } = store;
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
        const piece = align(unaligned, dimension);
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

function align({ ordinals, starts, keys }: KeyPiece, dimension: number): KeyPiece {
  const alignedStarts = new Uint32Array(starts.length);
  for (let p = 0; p < ordinals.length; p++) {
    const tiles = Math.ceil((starts[p + 1]! - starts[p]!) / TILE_TOKENS);
    alignedStarts[p + 1] = alignedStarts[p]! + tiles * TILE_TOKENS;
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
