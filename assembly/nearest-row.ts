/**
 * The inner loop of src/retrieval/codec/nearest.ts, in AssemblyScript for the vector instructions
 * of WebAssembly: exact distances to the rows of the two best groups of a table.
 * `npm run build:wasm` compiles it.
 */

/** Bytes of four numbers of 32 bits. */
const VECTOR: usize = 16;
/** Rows of the table in a group. */
const GROUP: usize = 16;

/**
 * For each row, the number of the nearest row of the table in the two groups with the greatest
 * maxima. All arguments but `rowBytes` and `groups` are addresses.
 *
 * @param rows [rows, size] float32, up to `end`
 * @param rowBytes of a row, here and in the table: a multiple of 16
 * @param maxima [rows, groups] float32
 * @param table [count, size] float32, up to `tableEnd`
 * @param found [rows] 32-bit
 */
export function nearestRows(
  rows: usize,
  end: usize,
  rowBytes: usize,
  maxima: usize,
  groups: usize,
  table: usize,
  tableEnd: usize,
  found: usize,
): void {
  const groupBytes = GROUP * rowBytes;
  for (; rows < end; rows += rowBytes, found += 4) {
    let first: usize = 0;
    let second: usize = 0;
    let greatest = -f32.MAX_VALUE;
    let next = -f32.MAX_VALUE;
    for (let group: usize = 0; group < groups; group++, maxima += 4) {
      const maximum = load<f32>(maxima);
      if (maximum <= next) continue;
      if (maximum > greatest) {
        next = greatest;
        second = first;
        greatest = maximum;
        first = group;
      } else {
        next = maximum;
        second = group;
      }
    }
    let least = f32.MAX_VALUE;
    let best: usize = first * GROUP;
    for (let pass = 0; pass < 2; pass++) {
      const start = table + (pass === 0 ? first : second) * groupBytes;
      const last = min(start + groupBytes, tableEnd);
      for (let at = start; at < last; at += rowBytes) {
        const distance = squaredDistance(rows, at, rowBytes);
        if (distance >= least) continue;
        least = distance;
        best = (at - table) / rowBytes;
      }
      if (first === second) break;
    }
    store<u32>(found, <u32>best);
  }
}

function squaredDistance(a: usize, b: usize, bytes: usize): f32 {
  let even = f32x4.splat(0);
  let odd = f32x4.splat(0);
  const end = a + bytes;
  for (; a + VECTOR < end; a += 2 * VECTOR, b += 2 * VECTOR) {
    const x = f32x4.sub(v128.load(a), v128.load(b));
    const y = f32x4.sub(v128.load(a, VECTOR), v128.load(b, VECTOR));
    even = f32x4.add(even, f32x4.mul(x, x));
    odd = f32x4.add(odd, f32x4.mul(y, y));
  }
  if (a < end) {
    const x = f32x4.sub(v128.load(a), v128.load(b));
    even = f32x4.add(even, f32x4.mul(x, x));
  }
  const sums = f32x4.add(even, odd);
  return (
    f32x4.extract_lane(sums, 0) +
    f32x4.extract_lane(sums, 1) +
    (f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3))
  );
}
