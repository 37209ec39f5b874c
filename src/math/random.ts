/**
 * Reproducible random numbers in named streams.
 *
 * A seed and any number of keys name a stream. The SHA-256 digest of the name is the first state of
 * the generator. A passage or a training step draws from its own stream, so its draws do not depend
 * on earlier draws, and a resumed run needs no saved generator state.
 *
 * Generator: xoroshiro128+ (Blackman and Vigna 2021, "Scrambled linear pseudorandom number
 * generators"), from pure-rand.
 */

import { createHash } from "node:crypto";
import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plusFromState } from "pure-rand/generator/xoroshiro128plus";

/** One stream of random numbers. */
export interface Random {
  /** Uniform in [0, 1), a multiple of 2^-53. */
  next(): number;
  /** A uniform integer in [0, 2^32). */
  uint32(): number;
  /** A uniform integer in [0, n), without bias; n is an integer from 1 to 2^32. */
  integer(n: number): number;
  /** Returns a copy in random order (Fisher-Yates). */
  shuffle<T>(items: readonly T[]): T[];
}

/**
 * The stream named by `seed` and `keys`: `createRandom(1, "dropout", step)`. Equal names give equal
 * streams.
 */
export function createRandom(seed: number | string, ...keys: readonly (number | string)[]): Random {
  const name = JSON.stringify([seed, ...keys]);
  const digest = createHash("sha256").update(name).digest();
  const generator = xoroshiro128plusFromState([0, 4, 8, 12].map((at) => digest.readInt32LE(at)));

  function integer(n: number): number {
    if (!Number.isInteger(n) || n < 1 || n > 2 ** 32)
      throw new RangeError(`integer(${n}): n must be an integer from 1 to 2^32`);
    return uniformInt(generator, 0, n - 1);
  }

  return {
    next: () => uniformFloat64(generator),
    uint32: () => generator.next() >>> 0,
    integer,
    shuffle<T>(items: readonly T[]): T[] {
      const copy = [...items];
      for (let last = copy.length - 1; last > 0; last--) {
        const other = integer(last + 1);
        [copy[last], copy[other]] = [copy[other] as T, copy[last] as T];
      }
      return copy;
    },
  };
}
