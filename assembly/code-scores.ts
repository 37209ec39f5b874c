/**
 * The inner loop of src/retrieval/search/code-scores.ts, in AssemblyScript for the vector
 * instructions of WebAssembly: products of 8, 16 or 24 question tokens at a time, as 16-bit
 * fixed-point numbers. The caller scales them so that sums cannot overflow. `npm run build:wasm`
 * compiles it.
 */

/** Codewords of a subquantiser. */
const CODEWORDS: usize = 256;
/** Bytes of eight products. */
const EIGHT: usize = 16;

/**
 * Adds to the sum of each passage, over the question tokens of a row, the greatest product with a
 * key,
 *
 *     sum_i max_j ratio_j (centroids[c_j][i] + sum_m tables[m][code_jm][i])
 *
 * All arguments but `lanes`, `passages` and `idBytes` are addresses.
 *
 * @param lanes question tokens in a row: 8, 16 or 24
 * @param codes of the keys of the passages: the centroid in `idBytes`, a byte for the ratio, and a
 * byte for each subquantiser
 * @param ranges [passages, 2] 32-bit: where the codes of each passage start and end, from `codes`
 * @param sums [passages] 32-bit
 * @param subquantisers [centroids] 16-bit: the number of subquantisers of each centroid
 * @param starts [subquantisers + 1] 32-bit: by the number of subquantisers, the address of the
 * first table
 * @param ratios [256] 16-bit: 32,767 stands for the greatest, which is the unit of the sum
 * @param centroids [centroids] rows
 */
export function addSumsOfMaxima(
  lanes: u32,
  codes: usize,
  ranges: usize,
  passages: u32,
  sums: usize,
  idBytes: usize,
  subquantisers: usize,
  starts: usize,
  ratios: usize,
  centroids: usize,
): void {
  if (lanes === 8)
    addForRows<u8>(
      codes,
      ranges,
      passages,
      sums,
      idBytes,
      subquantisers,
      starts,
      ratios,
      centroids,
    );
  else if (lanes === 16)
    addForRows<u16>(
      codes,
      ranges,
      passages,
      sums,
      idBytes,
      subquantisers,
      starts,
      ratios,
      centroids,
    );
  else
    addForRows<u32>(
      codes,
      ranges,
      passages,
      sums,
      idBytes,
      subquantisers,
      starts,
      ratios,
      centroids,
    );
}

/**
 * `Row` is u8, u16 or u32 for rows of 8, 16 or 24 question tokens: for each type, the compiler
 * makes a function without the unused instructions.
 */
function addForRows<Row>(
  codes: usize,
  ranges: usize,
  passages: u32,
  sums: usize,
  idBytes: usize,
  subquantisers: usize,
  starts: usize,
  ratios: usize,
  centroids: usize,
): void {
  const eights: usize = sizeof<Row>() === 4 ? 3 : sizeof<Row>();
  const row = EIGHT * eights;
  const table: usize = CODEWORDS * row;
  for (let passage: u32 = 0; passage < passages; passage++) {
    const range = ranges + 8 * passage;
    let code: usize = codes + load<u32>(range);
    const end: usize = codes + load<u32>(range, 4);
    let greatest0 = i16x8.splat(i16.MIN_VALUE);
    let greatest1 = greatest0;
    let greatest2 = greatest0;
    while (code < end) {
      const number: usize = idBytes === 2 ? load<u16>(code) : load<u32>(code);
      const ratio = v128.load_splat<u16>(ratios + 2 * <usize>load<u8>(code + idBytes));
      code += idBytes + 1;
      const centroid = centroids + number * row;
      let sum0 = v128.load(centroid);
      let sum1 = sum0;
      let sum2 = sum0;
      if (sizeof<Row>() >= 2) sum1 = v128.load(centroid, EIGHT);
      if (sizeof<Row>() >= 4) sum2 = v128.load(centroid, 2 * EIGHT);
      const count: usize = load<u16>(subquantisers + 2 * number);
      let first: usize = load<u32>(starts + 4 * count);
      const next = code + count;
      for (const last = next - (count & 3); code < last; code += 4) {
        const four = load<u32>(code);
        const a = first + <usize>(four & 255) * row;
        const b = first + table + <usize>((four >> 8) & 255) * row;
        const c = first + 2 * table + <usize>((four >> 16) & 255) * row;
        const d = first + 3 * table + <usize>(four >> 24) * row;
        sum0 = i16x8.add(sum0, sumOfFour(v128.load(a), v128.load(b), v128.load(c), v128.load(d)));
        if (sizeof<Row>() >= 2)
          sum1 = i16x8.add(
            sum1,
            sumOfFour(
              v128.load(a, EIGHT),
              v128.load(b, EIGHT),
              v128.load(c, EIGHT),
              v128.load(d, EIGHT),
            ),
          );
        if (sizeof<Row>() >= 4)
          sum2 = i16x8.add(
            sum2,
            sumOfFour(
              v128.load(a, 2 * EIGHT),
              v128.load(b, 2 * EIGHT),
              v128.load(c, 2 * EIGHT),
              v128.load(d, 2 * EIGHT),
            ),
          );
        first += 4 * table;
      }
      for (; code < next; code++) {
        const entry = first + <usize>load<u8>(code) * row;
        sum0 = i16x8.add(sum0, v128.load(entry));
        if (sizeof<Row>() >= 2) sum1 = i16x8.add(sum1, v128.load(entry, EIGHT));
        if (sizeof<Row>() >= 4) sum2 = i16x8.add(sum2, v128.load(entry, 2 * EIGHT));
        first += table;
      }
      greatest0 = i16x8.max_s(greatest0, i16x8.q15mulr_sat_s(sum0, ratio));
      if (sizeof<Row>() >= 2) greatest1 = i16x8.max_s(greatest1, i16x8.q15mulr_sat_s(sum1, ratio));
      if (sizeof<Row>() >= 4) greatest2 = i16x8.max_s(greatest2, i16x8.q15mulr_sat_s(sum2, ratio));
    }
    let pairs = i32x4.extadd_pairwise_i16x8_s(greatest0);
    if (sizeof<Row>() >= 2) pairs = i32x4.add(pairs, i32x4.extadd_pairwise_i16x8_s(greatest1));
    if (sizeof<Row>() >= 4) pairs = i32x4.add(pairs, i32x4.extadd_pairwise_i16x8_s(greatest2));
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

function sumOfFour(a: v128, b: v128, c: v128, d: v128): v128 {
  return i16x8.add(i16x8.add(a, b), i16x8.add(c, d));
}
