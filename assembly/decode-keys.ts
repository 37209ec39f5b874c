/**
 * The inner loop of src/retrieval/codec/key-decoder.ts, in AssemblyScript for the vector
 * instructions of WebAssembly: four values at a time. `npm run build:wasm` compiles it.
 */

/** Bytes of four numbers of 32 bits. */
const VECTOR: usize = 16;
/** Codewords of a subquantiser. */
const CODEWORDS: usize = 256;

/**
 * Writes decoded keys, [tokens, dimension] float32:
 *
 *     ratio * (centroid + residual)
 *
 * in float64, rounded to float32. A codeword is written four values at a time; what exceeds its
 * subspace is overwritten by the next codeword. So the memory has room for three values after the
 * tables, the centroids and the keys. All arguments but `idBytes` and `rowBytes` are addresses.
 *
 * @param codes up to `end`: the centroid in `idBytes`, a byte for the ratio, and a byte for each
 * subquantiser
 * @param subquantisers [centroids] 16-bit: the number of subquantisers of each centroid
 * @param layouts [subquantisers + 1, 2] 32-bit: by the number of subquantisers, the addresses of
 * the widths of their subspaces, 16-bit, and of their codewords, float32
 * @param ratios [256] float64
 * @param centroids [centroids, dimension] float32
 * @param rowBytes of a centroid
 */
export function decodeKeys(
  codes: usize,
  end: usize,
  keys: usize,
  idBytes: usize,
  subquantisers: usize,
  layouts: usize,
  ratios: usize,
  centroids: usize,
  rowBytes: usize,
): void {
  while (codes < end) {
    const number: usize = idBytes === 2 ? load<u16>(codes) : load<u32>(codes);
    const ratio = v128.load_splat<u64>(ratios + 8 * <usize>load<u8>(codes + idBytes));
    codes += idBytes + 1;
    const count: usize = load<u16>(subquantisers + 2 * number);
    let widths: usize = load<u32>(layouts + 8 * count);
    let table: usize = load<u32>(layouts + 8 * count, 4);
    let centroid = centroids + number * rowBytes;
    for (const next = codes + count; codes < next; codes++) {
      const bytes = 4 * <usize>load<u16>(widths);
      let codeword = table + <usize>load<u8>(codes) * bytes;
      table += CODEWORDS * bytes;
      widths += 2;
      const keyEnd = keys + bytes;
      for (; keys < keyEnd; keys += VECTOR) {
        v128.store(keys, sumTimesRatio(v128.load(centroid), v128.load(codeword), ratio));
        centroid += VECTOR;
        codeword += VECTOR;
      }
      centroid -= keys - keyEnd;
      keys = keyEnd;
    }
  }
}

/** The product of ratio and sum of four values. */
function sumTimesRatio(a: v128, b: v128, ratio: v128): v128 {
  const low = f64x2.add(f64x2.promote_low_f32x4(a), f64x2.promote_low_f32x4(b));
  const high = f64x2.add(
    f64x2.promote_low_f32x4(i64x2.shuffle(a, a, 1, 1)),
    f64x2.promote_low_f32x4(i64x2.shuffle(b, b, 1, 1)),
  );
  return i64x2.shuffle(
    f32x4.demote_f64x2_zero(f64x2.mul(low, ratio)),
    f32x4.demote_f64x2_zero(f64x2.mul(high, ratio)),
    0,
    2,
  );
}
