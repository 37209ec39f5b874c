/**
 * The inner loop of src/retrieval/search/code-scores.ts, in AssemblyScript for the vector
 * instructions of WebAssembly: products of 16 question tokens at a time, as 16-bit fixed-point
 * numbers. The caller scales them so that sums cannot overflow. `npm run build:wasm` compiles it.
 */

/** Bytes of a row: one number for each of 16 question tokens. */
const ROW: usize = 32;
/** Bytes of the table of a subquantiser: 256 rows. */
const TABLE: usize = 256 * ROW;

/**
 * Adds to the sum of each passage, over 16 question tokens, the greatest product with a key,
 *
 *     sum_i max_j ratio_j (centroids[c_j][i] + sum_m tables[m][code_jm][i])
 *
 * All arguments but `passages` and `idBytes` are addresses.
 *
 * @param codes of the keys of the passages: the centroid in `idBytes`, a byte for the ratio, and a
 * byte for each subquantiser
 * @param ends [passages] 32-bit: where the codes of each passage end
 * @param sums [passages] 32-bit
 * @param subquantisers [centroids] 16-bit: the number of subquantisers of each centroid
 * @param starts [subquantisers + 1] 32-bit: by the number of subquantisers, the address of the
 * first table
 * @param ratios [256] 16-bit: 32,767 stands for the greatest, which is the unit of the sum
 * @param centroids [centroids] rows
 */
export function addSumsOfMaxima(
  codes: usize,
  ends: usize,
  passages: u32,
  sums: usize,
  idBytes: usize,
  subquantisers: usize,
  starts: usize,
  ratios: usize,
  centroids: usize,
): void {
  for (let passage: u32 = 0; passage < passages; passage++) {
    const end: usize = load<u32>(ends + 4 * passage);
    let greatest0 = i16x8.splat(i16.MIN_VALUE);
    let greatest1 = greatest0;
    while (codes < end) {
      const centroid: usize = idBytes === 2 ? load<u16>(codes) : load<u32>(codes);
      const ratio = v128.load_splat<u16>(ratios + 2 * <usize>load<u8>(codes + idBytes));
      codes += idBytes + 1;
      let sum0 = v128.load(centroids + centroid * ROW);
      let sum1 = v128.load(centroids + centroid * ROW, 16);
      const count: usize = load<u16>(subquantisers + 2 * centroid);
      let table: usize = load<u32>(starts + 4 * count);
      const next = codes + count;
      for (const last = next - (count & 3); codes < last; codes += 4) {
        const four = load<u32>(codes);
        const a = table + <usize>(four & 255) * ROW;
        const b = table + TABLE + <usize>((four >> 8) & 255) * ROW;
        const c = table + 2 * TABLE + <usize>((four >> 16) & 255) * ROW;
        const d = table + 3 * TABLE + <usize>(four >> 24) * ROW;
        sum0 = i16x8.add(
          sum0,
          i16x8.add(i16x8.add(v128.load(a), v128.load(b)), i16x8.add(v128.load(c), v128.load(d))),
        );
        sum1 = i16x8.add(
          sum1,
          i16x8.add(
            i16x8.add(v128.load(a, 16), v128.load(b, 16)),
            i16x8.add(v128.load(c, 16), v128.load(d, 16)),
          ),
        );
        table += 4 * TABLE;
      }
      for (; codes < next; codes++) {
        const entry = table + <usize>load<u8>(codes) * ROW;
        sum0 = i16x8.add(sum0, v128.load(entry));
        sum1 = i16x8.add(sum1, v128.load(entry, 16));
        table += TABLE;
      }
      greatest0 = i16x8.max_s(greatest0, i16x8.q15mulr_sat_s(sum0, ratio));
      greatest1 = i16x8.max_s(greatest1, i16x8.q15mulr_sat_s(sum1, ratio));
    }
    const pairs = i32x4.add(
      i32x4.extadd_pairwise_i16x8_s(greatest0),
      i32x4.extadd_pairwise_i16x8_s(greatest1),
    );
    const at = sums + 4 * passage;
    store<i32>(
      at,
      load<i32>(at) +
        i32x4.extract_lane(pairs, 0) +
        i32x4.extract_lane(pairs, 1) +
        i32x4.extract_lane(pairs, 2) +
        i32x4.extract_lane(pairs, 3),
    );
  }
}
