/**
 * The inner loops of src/retrieval/search/code-scores.ts, in AssemblyScript for the vector
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
 * over the keys that are likely to be the greatest for some token: the product with the centroid is
 * within a margin of the greatest one. Before the tables of a number of subquantisers stands a row
 * of margins.
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
  for (let passage: u32 = 0; passage < passages; passage++) {
    const first = codes + load<u32>(ranges);
    const end = codes + load<u32>(ranges, 4);
    if (lanes === 8)
      addSum<u8>(first, end, sums, idBytes, subquantisers, starts, ratios, centroids);
    else if (lanes === 16)
      addSum<u16>(first, end, sums, idBytes, subquantisers, starts, ratios, centroids);
    else addSum<u32>(first, end, sums, idBytes, subquantisers, starts, ratios, centroids);
    ranges += 8;
    sums += 4;
  }
}

/**
 * Adds the sum of one passage. `Row` is u8, u16 or u32 for rows of 8, 16 or 24 question tokens: for
 * each type, the compiler makes a function without the unused instructions.
 */
function addSum<Row>(
  codes: usize,
  end: usize,
  sum: usize,
  idBytes: usize,
  subquantisers: usize,
  starts: usize,
  ratios: usize,
  centroids: usize,
): void {
  const row = bytesOf<Row>();
  let least0 = i16x8.splat(i16.MIN_VALUE);
  let least1 = least0;
  let least2 = least0;
  for (let code = codes; code < end; ) {
    const number: usize = idBytes === 2 ? load<u16>(code) : load<u32>(code);
    const ratio = v128.load_splat<u16>(ratios + 2 * <usize>load<u8>(code + idBytes));
    const centroid = centroids + number * row;
    least0 = i16x8.max_s(least0, i16x8.q15mulr_sat_s(v128.load(centroid), ratio));
    if (sizeof<Row>() >= 2)
      least1 = i16x8.max_s(least1, i16x8.q15mulr_sat_s(v128.load(centroid, EIGHT), ratio));
    if (sizeof<Row>() >= 4)
      least2 = i16x8.max_s(least2, i16x8.q15mulr_sat_s(v128.load(centroid, 2 * EIGHT), ratio));
    code += idBytes + 1 + load<u16>(subquantisers + 2 * number);
  }
  let greatest0 = i16x8.splat(i16.MIN_VALUE);
  let greatest1 = greatest0;
  let greatest2 = greatest0;
  for (let code = codes; code < end; ) {
    const number: usize = idBytes === 2 ? load<u16>(code) : load<u32>(code);
    const ratio = v128.load_splat<u16>(ratios + 2 * <usize>load<u8>(code + idBytes));
    const count: usize = load<u16>(subquantisers + 2 * number);
    const tables: usize = load<u32>(starts + 4 * count);
    const centroid = centroids + number * row;
    let sum0 = v128.load(centroid);
    let sum1 = sum0;
    let sum2 = sum0;
    if (sizeof<Row>() >= 2) sum1 = v128.load(centroid, EIGHT);
    if (sizeof<Row>() >= 4) sum2 = v128.load(centroid, 2 * EIGHT);
    code += idBytes + 1;
    const margins = tables - row;
    let isLikely = reaches(sum0, ratio, v128.load(margins), least0);
    if (sizeof<Row>() >= 2)
      isLikely = v128.or(isLikely, reaches(sum1, ratio, v128.load(margins, EIGHT), least1));
    if (sizeof<Row>() >= 4)
      isLikely = v128.or(isLikely, reaches(sum2, ratio, v128.load(margins, 2 * EIGHT), least2));
    if (!v128.any_true(isLikely)) {
      code += count;
      continue;
    }
    const next = code + count;
    let first = tables;
    for (const last = next - (count & 3); code < last; code += 4) {
      const four = load<u32>(code);
      const a = first + <usize>(four & 255) * row;
      const b = first + CODEWORDS * row + <usize>((four >> 8) & 255) * row;
      const c = first + 2 * CODEWORDS * row + <usize>((four >> 16) & 255) * row;
      const d = first + 3 * CODEWORDS * row + <usize>(four >> 24) * row;
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
      first += 4 * CODEWORDS * row;
    }
    for (; code < next; code++) {
      const entry = first + <usize>load<u8>(code) * row;
      sum0 = i16x8.add(sum0, v128.load(entry));
      if (sizeof<Row>() >= 2) sum1 = i16x8.add(sum1, v128.load(entry, EIGHT));
      if (sizeof<Row>() >= 4) sum2 = i16x8.add(sum2, v128.load(entry, 2 * EIGHT));
      first += CODEWORDS * row;
    }
    greatest0 = i16x8.max_s(greatest0, i16x8.q15mulr_sat_s(sum0, ratio));
    if (sizeof<Row>() >= 2) greatest1 = i16x8.max_s(greatest1, i16x8.q15mulr_sat_s(sum1, ratio));
    if (sizeof<Row>() >= 4) greatest2 = i16x8.max_s(greatest2, i16x8.q15mulr_sat_s(sum2, ratio));
  }
  addLanes<Row>(sum, greatest0, greatest1, greatest2);
}

/** The lanes where a product times its ratio, plus a margin, is at least `least`. */
function reaches(product: v128, ratio: v128, margin: v128, least: v128): v128 {
  return i16x8.ge_s(i16x8.add_sat_s(i16x8.q15mulr_sat_s(product, ratio), margin), least);
}

/** Adds the lanes of a row to the number at `sum`. */
function addLanes<Row>(sum: usize, a: v128, b: v128, c: v128): void {
  let pairs = i32x4.extadd_pairwise_i16x8_s(a);
  if (sizeof<Row>() >= 2) pairs = i32x4.add(pairs, i32x4.extadd_pairwise_i16x8_s(b));
  if (sizeof<Row>() >= 4) pairs = i32x4.add(pairs, i32x4.extadd_pairwise_i16x8_s(c));
  store<i32>(
    sum,
    load<i32>(sum) +
      i32x4.extract_lane(pairs, 0) +
      i32x4.extract_lane(pairs, 1) +
      i32x4.extract_lane(pairs, 2) +
      i32x4.extract_lane(pairs, 3),
  );
}

function sumOfFour(a: v128, b: v128, c: v128, d: v128): v128 {
  return i16x8.add(i16x8.add(a, b), i16x8.add(c, d));
}

/**
 * Finds the keys of a passage whose product with a question token is at most `margin` below the
 * greatest, and writes a pair of 32-bit numbers for each: the address of its code, and a bit for
 * each such token. Adds the greatest products to the sum of the passage, as `addSumsOfMaxima`.
 *
 * @param end the address after the codes
 * @param tokens a bit for each lane that has a question token
 * @param products memory for a row for each key
 * @param pairs the address of the pairs
 * @returns the address after the pairs
 */
export function findMaxima(
  lanes: u32,
  codes: usize,
  end: usize,
  sum: usize,
  idBytes: usize,
  subquantisers: usize,
  starts: usize,
  ratios: usize,
  centroids: usize,
  margin: i32,
  tokens: u32,
  products: usize,
  pairs: usize,
): usize {
  if (lanes === 8)
    return findForRows<u8>(
      codes,
      end,
      sum,
      idBytes,
      subquantisers,
      starts,
      ratios,
      centroids,
      margin,
      tokens,
      products,
      pairs,
    );
  if (lanes === 16)
    return findForRows<u16>(
      codes,
      end,
      sum,
      idBytes,
      subquantisers,
      starts,
      ratios,
      centroids,
      margin,
      tokens,
      products,
      pairs,
    );
  return findForRows<u32>(
    codes,
    end,
    sum,
    idBytes,
    subquantisers,
    starts,
    ratios,
    centroids,
    margin,
    tokens,
    products,
    pairs,
  );
}

function findForRows<Row>(
  codes: usize,
  end: usize,
  sum: usize,
  idBytes: usize,
  subquantisers: usize,
  starts: usize,
  ratios: usize,
  centroids: usize,
  margin: i32,
  tokens: u32,
  products: usize,
  pairs: usize,
): usize {
  const row = bytesOf<Row>();
  let greatest0 = i16x8.splat(i16.MIN_VALUE);
  let greatest1 = greatest0;
  let greatest2 = greatest0;
  let product = products;
  for (let code = codes; code < end; product += row) {
    const number: usize = idBytes === 2 ? load<u16>(code) : load<u32>(code);
    const ratio = v128.load_splat<u16>(ratios + 2 * <usize>load<u8>(code + idBytes));
    const count: usize = load<u16>(subquantisers + 2 * number);
    const centroid = centroids + number * row;
    let first: usize = load<u32>(starts + 4 * count);
    let sum0 = v128.load(centroid);
    let sum1 = sum0;
    let sum2 = sum0;
    if (sizeof<Row>() >= 2) sum1 = v128.load(centroid, EIGHT);
    if (sizeof<Row>() >= 4) sum2 = v128.load(centroid, 2 * EIGHT);
    code += idBytes + 1;
    for (const next = code + count; code < next; code++) {
      const entry = first + <usize>load<u8>(code) * row;
      sum0 = i16x8.add(sum0, v128.load(entry));
      if (sizeof<Row>() >= 2) sum1 = i16x8.add(sum1, v128.load(entry, EIGHT));
      if (sizeof<Row>() >= 4) sum2 = i16x8.add(sum2, v128.load(entry, 2 * EIGHT));
      first += CODEWORDS * row;
    }
    sum0 = i16x8.q15mulr_sat_s(sum0, ratio);
    v128.store(product, sum0);
    greatest0 = i16x8.max_s(greatest0, sum0);
    if (sizeof<Row>() >= 2) {
      sum1 = i16x8.q15mulr_sat_s(sum1, ratio);
      v128.store(product, sum1, EIGHT);
      greatest1 = i16x8.max_s(greatest1, sum1);
    }
    if (sizeof<Row>() >= 4) {
      sum2 = i16x8.q15mulr_sat_s(sum2, ratio);
      v128.store(product, sum2, 2 * EIGHT);
      greatest2 = i16x8.max_s(greatest2, sum2);
    }
  }
  addLanes<Row>(sum, greatest0, greatest1, greatest2);
  const margins = i16x8.splat(<i16>min<i32>(margin, i16.MAX_VALUE));
  const least0 = i16x8.sub_sat_s(greatest0, margins);
  const least1 = i16x8.sub_sat_s(greatest1, margins);
  const least2 = i16x8.sub_sat_s(greatest2, margins);
  product = products;
  for (let code = codes; code < end; product += row) {
    let found: u32 = i16x8.bitmask(i16x8.ge_s(v128.load(product), least0));
    if (sizeof<Row>() >= 2)
      found |= i16x8.bitmask(i16x8.ge_s(v128.load(product, EIGHT), least1)) << 8;
    if (sizeof<Row>() >= 4)
      found |= i16x8.bitmask(i16x8.ge_s(v128.load(product, 2 * EIGHT), least2)) << 16;
    found &= tokens;
    if (found !== 0) {
      store<u32>(pairs, code);
      store<u32>(pairs, found, 4);
      pairs += 8;
    }
    const number: usize = idBytes === 2 ? load<u16>(code) : load<u32>(code);
    code += idBytes + 1 + load<u16>(subquantisers + 2 * number);
  }
  return pairs;
}

/**
 * Adds, for each question token, over the subquantisers, the greatest absolute product with a
 * codeword to the first row of `spread`, and the variance of the products to the second.
 *
 * @param question [dimension, lanes] float32
 * @param codewords [subquantisers] times [256, width] float32
 * @param widths [subquantisers] 16-bit
 * @param products memory for [256, lanes] float32
 * @param spread [2, lanes] float32
 */
export function addSpread(
  lanes: u32,
  question: usize,
  codewords: usize,
  widths: usize,
  count: usize,
  products: usize,
  spread: usize,
): void {
  const row: usize = 4 * lanes;
  for (let m: usize = 0; m < count; m++) {
    const width: usize = load<u16>(widths + 2 * m);
    multiply(lanes, question, codewords, width, products);
    question += width * row;
    codewords += 4 * CODEWORDS * width;
    for (let lane: usize = 0; lane < row; lane += 16) {
      let largest = f32x4.splat(0);
      let sum = f32x4.splat(0);
      let squares = f32x4.splat(0);
      for (let at = products + lane; at < products + CODEWORDS * row; at += row) {
        const product = v128.load(at);
        largest = f32x4.max(largest, f32x4.abs(product));
        sum = f32x4.add(sum, product);
        squares = f32x4.add(squares, f32x4.mul(product, product));
      }
      const mean = f32x4.mul(sum, f32x4.splat(0.00390625));
      const variance = f32x4.sub(
        f32x4.mul(squares, f32x4.splat(0.00390625)),
        f32x4.mul(mean, mean),
      );
      v128.store(spread + lane, f32x4.add(v128.load(spread + lane), largest));
      const second = spread + row + lane;
      v128.store(second, f32x4.add(v128.load(second), variance));
    }
  }
}

/** Writes the products of the question with all codewords as rows. Arguments: see `addSpread`. */
export function writeTables(
  lanes: u32,
  question: usize,
  codewords: usize,
  widths: usize,
  count: usize,
  products: usize,
  scale: f32,
  rows: usize,
): void {
  const bytes = 4 * CODEWORDS * lanes;
  for (let m: usize = 0; m < count; m++) {
    const width: usize = load<u16>(widths + 2 * m);
    multiply(lanes, question, codewords, width, products);
    question += 4 * width * lanes;
    codewords += 4 * CODEWORDS * width;
    writeRows(products, products + bytes, scale, rows);
    rows += bytes / 2;
  }
}

/** Writes float32 numbers times `scale` as 16-bit fixed-point numbers. */
export function writeRows(products: usize, end: usize, scale: f32, rows: usize): void {
  const scales = f32x4.splat(scale);
  for (; products < end; products += 2 * EIGHT) {
    const a = f32x4.nearest(f32x4.mul(v128.load(products), scales));
    const b = f32x4.nearest(f32x4.mul(v128.load(products, EIGHT), scales));
    v128.store(rows, i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(a), i32x4.trunc_sat_f32x4_s(b)));
    rows += EIGHT;
  }
}

/** The products of the question with the codewords of a subquantiser, [256, lanes] float32. */
function multiply(
  lanes: u32,
  question: usize,
  codewords: usize,
  width: usize,
  products: usize,
): void {
  if (lanes === 8) multiplyForRows<u8>(question, codewords, width, products);
  else if (lanes === 16) multiplyForRows<u16>(question, codewords, width, products);
  else multiplyForRows<u32>(question, codewords, width, products);
}

function multiplyForRows<Row>(
  question: usize,
  codewords: usize,
  width: usize,
  products: usize,
): void {
  const row = 2 * bytesOf<Row>();
  const end = codewords + 4 * CODEWORDS * width;
  while (codewords < end) {
    let a = f32x4.splat(0);
    let b = a;
    let c = a;
    let d = a;
    let e = a;
    let f = a;
    let values = question;
    for (const next = codewords + 4 * width; codewords < next; codewords += 4) {
      const x = v128.load_splat<u32>(codewords);
      a = f32x4.add(a, f32x4.mul(x, v128.load(values)));
      b = f32x4.add(b, f32x4.mul(x, v128.load(values, 16)));
      if (sizeof<Row>() >= 2) {
        c = f32x4.add(c, f32x4.mul(x, v128.load(values, 32)));
        d = f32x4.add(d, f32x4.mul(x, v128.load(values, 48)));
      }
      if (sizeof<Row>() >= 4) {
        e = f32x4.add(e, f32x4.mul(x, v128.load(values, 64)));
        f = f32x4.add(f, f32x4.mul(x, v128.load(values, 80)));
      }
      values += row;
    }
    v128.store(products, a);
    v128.store(products, b, 16);
    if (sizeof<Row>() >= 2) {
      v128.store(products, c, 32);
      v128.store(products, d, 48);
    }
    if (sizeof<Row>() >= 4) {
      v128.store(products, e, 64);
      v128.store(products, f, 80);
    }
    products += row;
  }
}

/** Bytes of a row. */
function bytesOf<Row>(): usize {
  return EIGHT * (sizeof<Row>() === 4 ? 3 : sizeof<Row>());
}
