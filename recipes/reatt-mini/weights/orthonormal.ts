/** Random orthonormal rows (Gram-Schmidt). */

import { createRandom } from "../../../src/math/random.ts";

/** `count` orthonormal rows of `size` values, of which only the first `used` are not 0. */
export function orthonormalRows(
  count: number,
  { size, used, seed }: { size: number; used: number; seed: string },
): Float32Array[] {
  const random = createRandom(seed);
  const rows: Float32Array[] = [];
  while (rows.length < count) {
    const row = new Float32Array(size);
    for (let i = 0; i < used; i++) row[i] = random.next() - 0.5;
    for (const other of rows) {
      const along = row.reduce((sum, x, i) => sum + x * other[i]!, 0);
      row.forEach((x, i) => {
        row[i] = x - along * other[i]!;
      });
    }
    const norm = Math.hypot(...row);
    rows.push(row.map((x) => x / norm));
  }
  return rows;
}
