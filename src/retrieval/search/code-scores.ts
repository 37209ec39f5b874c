/**
 * Approximate scores of compressed passages, computed from their codes without decoding.
 *
 * The product of question token i with a key of centroid c, length ratio r and codewords e_m is
 *
 *     q_i . k = r (q_i . c + sum_m q_i . e_m)
 *
 * The products of q_i with all centroids and codewords are computed once for each question, so a
 * key costs one look-up for each subquantiser (asymmetric distance computation). A look-up gives
 * the products of up to 24 question tokens as 16-bit fixed-point numbers, which WebAssembly adds
 * and compares eight at a time (assembly/code-scores.ts).
 *
 * Sources: Jégou et al., Product quantization for nearest neighbor search, 2011, section III.A;
 * André et al., Cache locality is not enough: high-performance nearest neighbor search with product
 * quantization fast scan, 2015 (fixed point and vector instructions).
 */

import { CODEWORDS, type Codebook, centroidBytes, subquantiserStarts } from "../codec/codec.ts";
import { openKernel, type WasmKernel } from "../codec/wasm-kernel.ts";
import { dotProduct } from "../scoring/vectors.ts";
import { CODE_SCORES } from "./code-scores.wasm.ts";

/** Bytes of a product in fixed point. */
const PRODUCT_BYTES = 2;

/** The exported function of assembly/code-scores.ts. */
type AddSumsOfMaxima = (
  lanes: Lanes,
  codes: number,
  ranges: number,
  passages: number,
  sums: number,
  idBytes: number,
  subquantisers: number,
  starts: number,
  ratios: number,
  centroids: number,
) => void;

/** Question tokens whose products with one vector are a row. */
type Lanes = 8 | 16 | 24;

interface Group {
  readonly lanes: Lanes;
  readonly firstToken: number;
  readonly endToken: number;
  /** Addresses in the memory. */
  readonly starts: number;
  readonly rows: number;
  readonly end: number;
}

/**
 * Scores passages for one question after another.
 *
 * The memory of a WebAssembly instance holds the ratios and the subquantiser counts of the
 * codebook; then, for each group of question tokens, the addresses of its codeword tables, the rows
 * of the centroids and those of the codewords, which are the tables; then, for each passage to
 * score, the range of its codes and its sum; then the codes.
 */
export class CodeScorer {
  readonly #codebook: Codebook;
  readonly #memory: WebAssembly.Memory;
  readonly #reserve: WasmKernel["reserve"];
  readonly #addSumsOfMaxima: AddSumsOfMaxima;
  /** Codewords of all subquantisers. */
  readonly #codewords: number;
  /** Addresses in the memory. */
  readonly #subquantisers: number;
  readonly #firstGroup: number;
  #ranges = 0;
  #groups: readonly Group[] = [];
  /** Of the question with all codewords: [question tokens, codewords]. */
  #codewordProducts = new Float32Array();
  #questionTokens = 0;
  /** The value of 1 in fixed point. */
  #unit = 0;

  constructor(codebook: Codebook) {
    this.#codebook = codebook;
    const { ratios, subquantisers, codewords } = codebook;
    this.#codewords = CODEWORDS * [...codewords.keys()].reduce((total, count) => total + count);
    this.#subquantisers = aligned(PRODUCT_BYTES * CODEWORDS);
    this.#firstGroup = aligned(this.#subquantisers + subquantisers.byteLength);
    const { memory, exports, reserve } = openKernel(CODE_SCORES, "compressed search");
    reserve(this.#firstGroup);
    this.#memory = memory;
    this.#reserve = reserve;
    this.#addSumsOfMaxima = exports.addSumsOfMaxima as AddSumsOfMaxima;
    const greatest = Math.max(...ratios);
    new Int16Array(this.#memory.buffer).set(
      ratios.map((ratio) => Math.round((ratio / greatest) * 32_767)),
    );
    new Uint16Array(this.#memory.buffer).set(subquantisers, this.#subquantisers / 2);
  }

  /**
   * Sets the question for the next scores. `centroidProducts` are its products with all centroids,
   * [question tokens, centroids].
   */
  setQuestion(question: Float32Array, centroidProducts: Float32Array): void {
    const { dimension, subquantisers, ratios } = this.#codebook;
    const tokens = question.length / dimension;
    this.#multiplyCodewords(question);
    let largest = 0;
    for (let i = 0; i < tokens; i++)
      largest = Math.max(largest, this.#largestSum(i, centroidProducts));
    // The sum of a centroid's product and one product of each subquantiser stays below 2^15, with
    // all rounding.
    const scale = (32_767 - dimension) / largest;
    this.#questionTokens = tokens;
    this.#unit = Math.max(...ratios) / scale;
    this.#groups = this.#layOut(tokens);
    this.#ranges = this.#groups.at(-1)!.end;
    this.#reserve(this.#ranges);
    for (const group of this.#groups) {
      const { starts, rows, lanes, end } = group;
      new Uint8Array(this.#memory.buffer, rows, end - rows).fill(0); // lanes without a token
      this.#writeRows(group, rows, centroidProducts, subquantisers.length, scale);
      let table = rows + PRODUCT_BYTES * lanes * subquantisers.length;
      this.#writeRows(group, table, this.#codewordProducts, this.#codewords, scale);
      const addresses = new Uint32Array(this.#memory.buffer, starts, dimension + 1);
      for (const count of this.#codebook.codewords.keys()) {
        addresses[count] = table;
        table += PRODUCT_BYTES * lanes * CODEWORDS * count;
      }
    }
  }

  /**
   * A bound on the error of a score, in exact arithmetic: half a step of the fixed point for each
   * number of a sum; and for the product with the ratio half a step for the ratio, one because
   * 32,767 stands for 32,768, and half a step for the product.
   */
  get error(): number {
    const numbers = 1 + Math.max(...this.#codebook.codewords.keys());
    return (numbers / 2 + 2) * this.#unit;
  }

  /** Memory for `bytes` of codes of this number of passages. It is valid until the next call. */
  allocate(passages: number, bytes: number): Uint8Array {
    const codes = this.#codesOf(passages);
    this.#reserve(codes + bytes);
    return new Uint8Array(this.#memory.buffer, codes, bytes);
  }

  /**
   * The approximate retrieval scores of passages whose codes were written to the memory for them.
   * `ranges` are their places in it, [passages, 2].
   */
  scores(ranges: Uint32Array): Float64Array {
    const passages = ranges.length / 2;
    new Uint32Array(this.#memory.buffer, this.#ranges, ranges.length).set(ranges);
    const sums = this.#ranges + ranges.byteLength;
    const totals = new Int32Array(this.#memory.buffer, sums, passages).fill(0);
    const idBytes = centroidBytes(this.#codebook);
    for (const { lanes, starts, rows } of this.#groups)
      this.#addSumsOfMaxima(
        lanes,
        this.#codesOf(passages),
        this.#ranges,
        passages,
        sums,
        idBytes,
        this.#subquantisers,
        starts,
        0,
        rows,
      );
    return new Float64Array(totals).map((sum) => (sum * this.#unit) / this.#questionTokens);
  }

  /** The address of the codes of this number of passages. */
  #codesOf(passages: number): number {
    return aligned(this.#ranges + 12 * passages);
  }

  /** The groups of a question, with their places in the memory. */
  #layOut(tokens: number): Group[] {
    const { dimension, subquantisers } = this.#codebook;
    const groups: Group[] = [];
    const lanes = lanesFor(tokens);
    for (let [firstToken, starts] = [0, this.#firstGroup]; firstToken < tokens; ) {
      const endToken = Math.min(tokens, firstToken + lanes);
      const rows = aligned(starts + 4 * (dimension + 1));
      const end = rows + PRODUCT_BYTES * lanes * (subquantisers.length + this.#codewords);
      groups.push({ lanes, firstToken, endToken, starts, rows, end });
      [firstToken, starts] = [endToken, end];
    }
    return groups;
  }

  /** Computes the products of all question tokens with all codewords. */
  #multiplyCodewords(question: Float32Array): void {
    const { dimension, codewords } = this.#codebook;
    const size = (question.length / dimension) * this.#codewords;
    if (this.#codewordProducts.length < size) this.#codewordProducts = new Float32Array(size);
    let at = 0;
    for (let token = 0; token < question.length; token += dimension)
      for (const [subquantisers, table] of codewords) {
        const starts = subquantiserStarts(dimension, subquantisers);
        for (let subspace = 0; subspace < subquantisers; subspace++) {
          const first = starts[subspace]!;
          const width = starts[subspace + 1]! - first;
          for (let c = 0, word = CODEWORDS * first; c < CODEWORDS; c++, word += width)
            this.#codewordProducts[at++] = dotProduct(question, token + first, table, word, width);
        }
      }
  }

  /**
   * Of question token i, the greatest absolute value of a sum of one centroid's product and one
   * product of each subquantiser.
   */
  #largestSum(i: number, centroidProducts: Float32Array): number {
    const centroids = this.#codebook.subquantisers.length;
    let first = i * this.#codewords;
    let largest = 0;
    for (const subquantisers of this.#codebook.codewords.keys()) {
      let total = 0;
      for (let subspace = 0; subspace < subquantisers; subspace++, first += CODEWORDS)
        total += largestOf(this.#codewordProducts, first, first + CODEWORDS);
      largest = Math.max(largest, total);
    }
    return largestOf(centroidProducts, i * centroids, (i + 1) * centroids) + largest;
  }

  /**
   * Writes the products of the tokens of a group with `count` vectors, [question tokens, count], as
   * rows from `address`.
   */
  #writeRows(
    { lanes, firstToken, endToken }: Group,
    address: number,
    products: Float32Array,
    count: number,
    scale: number,
  ): void {
    const rows = new Int16Array(this.#memory.buffer, address, count * lanes);
    for (let first = 0; first < count; first += WRITTEN_ROWS) {
      const end = Math.min(first + WRITTEN_ROWS, count);
      for (let token = firstToken; token < endToken; token++) {
        const from = token * count;
        for (let i = first, at = first * lanes + token - firstToken; i < end; i++, at += lanes)
          rows[at] = ((products[from + i]! * scale + ROUNDING) | 0) - OFFSET;
      }
    }
  }
}

/** The fewest lanes with which a question of this many tokens has the fewest groups. */
function lanesFor(tokens: number): Lanes {
  const groups = Math.ceil(tokens / 24);
  return tokens <= 8 * groups ? 8 : tokens <= 16 * groups ? 16 : 24;
}

/** Rows that are written for one token before the next: they stay in a cache. */
const WRITTEN_ROWS = 256;

/** `| 0` cuts, which rounds positive numbers when a half is added. Math.round takes longer. */
const OFFSET = 32_768;
const ROUNDING = OFFSET + 0.5;

/** The next address at which a row can start. */
const aligned = (address: number): number => Math.ceil(address / 32) * 32;

/** The greatest absolute value from `first` to `end`. */
function largestOf(values: Float32Array, first: number, end: number): number {
  let largest = 0;
  for (let i = first; i < end; i++) largest = Math.max(largest, Math.abs(values[i]!));
  return largest;
}
