/**
 * Random numbers that can be repeated, kept in a checkpoint and split by name.
 *
 * Generator: xoshiro128** 1.1 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021).
 * A stream is named by a seed and any number of keys, which are hashed to its first state: a thing that has a
 * name of its own (a passage, a step) draws from its own stream, so its draws do not depend on who came before.
 */

import { createHash } from "node:crypto";

/** Four unsigned 32-bit words, not all zero. Plain data: goes through JSON unharmed. */
export type RandomState = readonly [number, number, number, number];

export interface Random {
  /** Uniform in [0, 1), a multiple of 2^-53. */
  next(): number;
  /** Uniform 32 bits, 0 to 2^32 - 1. */
  uint32(): number;
  /** Uniform in 0 .. n - 1, without bias; n from 1 to 2^32. */
  integer(n: number): number;
  /** A copy in random order. */
  shuffle<T>(items: readonly T[]): T[];
  /** What `restore` needs to go on from here. */
  state(): RandomState;
  restore(state: RandomState): void;
}

/** The stream that `seed` and `keys` name: `createRandom(1, "dropout", step)`. Equal names give equal streams. */
export function createRandom(seed: number | string, ...keys: readonly (number | string)[]): Random {
  const digest = createHash("sha256")
    .update(JSON.stringify([seed, ...keys]))
    .digest();
  return randomFrom([
    digest.readUInt32LE(0),
    digest.readUInt32LE(4),
    digest.readUInt32LE(8),
    digest.readUInt32LE(12),
  ]);
}

/** A generator that goes on from `state`. */
export function randomFrom(state: RandomState): Random {
  let [a, b, c, d] = state;

  function uint32(): number {
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotateLeft(d, 11);
    return result;
  }

  function integer(n: number): number {
    if (!Number.isInteger(n) || n < 1 || n > 2 ** 32)
      throw new RangeError(`integer(${n}): n must be 1 to 2^32`);
    const end = 2 ** 32 - (2 ** 32 % n); // draws from here on would favour the small results
    for (;;) {
      const draw = uint32();
      if (draw < end) return draw % n;
    }
  }

  return {
    next: () => ((uint32() >>> 5) * 2 ** 26 + (uint32() >>> 6)) / 2 ** 53,
    uint32,
    integer,
    shuffle<T>(items: readonly T[]): T[] {
      const copy = [...items];
      for (let last = copy.length - 1; last > 0; last--) {
        const other = integer(last + 1);
        [copy[last], copy[other]] = [copy[other] as T, copy[last] as T];
      }
      return copy;
    },
    state: () => [a >>> 0, b >>> 0, c >>> 0, d >>> 0],
    restore(saved: RandomState): void {
      [a, b, c, d] = saved;
    },
  };
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
