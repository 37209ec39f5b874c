/** Orthonormal rows (Gram-Schmidt). */

import { createRandom } from "../../../src/math/random.ts";

/** `count` random orthonormal rows of `size` values. */
export function orthonormalRows(
  count: number,
  { size, seed }: { size: number; seed: string },
): Float32Array[] {
  const random = createRandom(seed);
  const rows = Array.from({ length: count }, () =>
    new Float32Array(size).map(() => random.next() - 0.5),
  );
  return orthonormalised(rows);
}

/** Orthonormal rows: the first n of them span the same space as the first n rows. */
export function orthonormalised(rows: readonly Float32Array[]): Float32Array[] {
  const found: Float32Array[] = [];
  for (const row of rows) {
    const rest = row.slice();
    for (const other of found) {
      const along = rest.reduce((sum, x, i) => sum + x * other[i]!, 0);
      rest.forEach((x, i) => {
        rest[i] = x - along * other[i]!;
      });
    }
    const norm = Math.hypot(...rest);
    found.push(rest.map((x) => x / norm));
  }
  return found;
}
