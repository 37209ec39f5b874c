/**
 * The inner loop of src/retrieval/codec/nearest-codeword.ts, in AssemblyScript for the vector
 * instructions of WebAssembly: the distances of a row to 16 codewords at a time.
 * `npm run build:wasm` compiles it.
 */

/** Bytes of four numbers of 32 bits. */
const VECTOR: usize = 16;

/**
 * For `width` values of each row, the number of the nearest codeword: the c with the least
 * `|c|^2 / 2 - row . c`. The other arguments but `count` are addresses, or bytes from one row to
 * the next.
 *
 * @param rows float32, up to `end`, `stride` bytes apart
 * @param count of codewords, a multiple of 16, at most 256
 * @param table [1 + width, count] float32: the halves of the squares, then a row for each dimension
 * @param found a byte for each row, `foundStride` bytes apart
 */
export function nearestCodewords(
  rows: usize,
  end: usize,
  stride: usize,
  width: usize,
  count: usize,
  table: usize,
  found: usize,
  foundStride: usize,
): void {
  const rowBytes = 4 * width;
  const tableBytes = 4 * count;
  const four = i32x4.splat(4);
  for (; rows < end; rows += stride, found += foundStride) {
    let least = f32x4.splat(f32.MAX_VALUE);
    let best = i32x4(0, 1, 2, 3);
    let number = best;
    for (let at = table; at < table + tableBytes; at += 4 * VECTOR) {
      let a = v128.load(at);
      let b = v128.load(at, VECTOR);
      let c = v128.load(at, 2 * VECTOR);
      let d = v128.load(at, 3 * VECTOR);
      let column = at;
      for (let value = rows; value < rows + rowBytes; value += 4) {
        const x = v128.load_splat<u32>(value);
        column += tableBytes;
        a = f32x4.sub(a, f32x4.mul(x, v128.load(column)));
        b = f32x4.sub(b, f32x4.mul(x, v128.load(column, VECTOR)));
        c = f32x4.sub(c, f32x4.mul(x, v128.load(column, 2 * VECTOR)));
        d = f32x4.sub(d, f32x4.mul(x, v128.load(column, 3 * VECTOR)));
      }
      best = v128.bitselect(number, best, f32x4.lt(a, least));
      least = f32x4.pmin(least, a);
      number = i32x4.add(number, four);
      best = v128.bitselect(number, best, f32x4.lt(b, least));
      least = f32x4.pmin(least, b);
      number = i32x4.add(number, four);
      best = v128.bitselect(number, best, f32x4.lt(c, least));
      least = f32x4.pmin(least, c);
      number = i32x4.add(number, four);
      best = v128.bitselect(number, best, f32x4.lt(d, least));
      least = f32x4.pmin(least, d);
      number = i32x4.add(number, four);
    }
    store<u8>(found, <u8>lowestLane(least, best));
  }
}

/** The lane of `best` where `least` is lowest. */
function lowestLane(least: v128, best: v128): i32 {
  let lowest = f32x4.extract_lane(least, 0);
  let lane = i32x4.extract_lane(best, 0);
  if (f32x4.extract_lane(least, 1) < lowest) {
    lowest = f32x4.extract_lane(least, 1);
    lane = i32x4.extract_lane(best, 1);
  }
  if (f32x4.extract_lane(least, 2) < lowest) {
    lowest = f32x4.extract_lane(least, 2);
    lane = i32x4.extract_lane(best, 2);
  }
  return f32x4.extract_lane(least, 3) < lowest ? i32x4.extract_lane(best, 3) : lane;
}
