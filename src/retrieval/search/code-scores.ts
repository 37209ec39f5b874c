/**
 * Approximate scores of compressed passages, computed from their codes without decoding.
 *
 * The product of question token i with a key of centroid c, length ratio r and codewords e_m is
 *
 *     q_i . k = r (q_i . c + sum_m q_i . e_m)
 *
 * The products of q_i with all centroids and codewords are computed once for each question, so a
 * key costs one look-up for each subquantiser (asymmetric distance computation). A look-up gives
 * the products of 16 question tokens as 16-bit fixed-point numbers, which WebAssembly adds and
 * compares eight at a time (assembly/code-scores.ts).
 *
 * Sources: Jégou et al., Product quantization for nearest neighbor search, 2011, section III.A;
 * André et al., Cache locality is not enough: high-performance nearest neighbor search with product
 * quantization fast scan, 2015 (fixed point and vector instructions).
 */

import { CODEWORDS, type Codebook, centroidBytes, subquantiserStarts } from "../codec/codec.ts";
import { openKernel, type WasmKernel } from "../codec/wasm-kernel.ts";
import { dotProduct } from "../scoring/vectors.ts";
import { CODE_SCORES } from "./code-scores.wasm.ts";

/** Question tokens in a group. Their products with one vector are a row. */
const LANES = 16;
const ROW_BYTES = 2 * LANES;

/** The exported function of assembly/code-scores.ts. */
type AddSumsOfMaxima = (
  codes: number,
  ends: number,
  passages: number,
  sums: number,
  idBytes: number,
  subquantisers: number,
  starts: number,
  ratios: number,
  centroids: number,
) => void;

/** The products of one question token. */
interface TokenProducts {
  /** [centroids] */
  readonly centroids: Float32Array;
  /** With the codewords, by the number of subquantisers m: [m, 256]. */
  readonly codewords: ReadonlyMap<number, Float32Array>;
}

/**
 * Scores passages for one question after another.
 *
 * The memory of a WebAssembly instance holds the ratios and the subquantiser counts of the
 * codebook; then, for each group of question tokens, the addresses of its codeword tables, the rows
 * of its centroids and the tables; then, for each passage to score, the end of its codes and its
 * sum; then the codes.
 */
export class CodeScorer {
  readonly #codebook: Codebook;
  readonly #memory: WebAssembly.Memory;
  readonly #reserve: WasmKernel["reserve"];
  readonly #addSumsOfMaxima: AddSumsOfMaxima;
  /** Addresses in the memory. */
  readonly #subquantisers: number;
  readonly #groups: number;
  #ends = 0;
  /** Bytes of a group, and the offsets of its rows and tables. */
  readonly #groupBytes: number;
  readonly #rows: number;
  readonly #codewords: number;
  #passages = 0;
  #questionTokens = 0;
  /** The value of 1 in fixed point. */
  #unit = 0;

  constructor(codebook: Codebook) {
    this.#codebook = codebook;
    const { ratios, subquantisers, codewords, dimension } = codebook;
    const allSubquantisers = [...codewords.keys()].reduce((total, count) => total + count);
    this.#subquantisers = aligned(2 * CODEWORDS);
    this.#groups = aligned(this.#subquantisers + subquantisers.byteLength);
    this.#rows = aligned(4 * (dimension + 1));
    this.#codewords = this.#rows + subquantisers.length * ROW_BYTES;
    this.#groupBytes = this.#codewords + allSubquantisers * CODEWORDS * ROW_BYTES;
    const { memory, exports, reserve } = openKernel(CODE_SCORES, "compressed search");
    reserve(this.#groups);
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
    const products = Array.from({ length: tokens }, (_, i) =>
      this.#productsOf(
        question.subarray(i * dimension, (i + 1) * dimension),
        centroidProducts.subarray(i * subquantisers.length, (i + 1) * subquantisers.length),
      ),
    );
    // The sum of a centroid's product and one product of each subquantiser stays below 2^15, with
    // all rounding.
    const scale = (32_767 - dimension) / Math.max(...products.map(largestSum));
    this.#questionTokens = tokens;
    this.#unit = Math.max(...ratios) / scale;
    this.#ends = this.#groups + Math.ceil(tokens / LANES) * this.#groupBytes;
    this.#reserve(this.#ends);
    new Uint8Array(this.#memory.buffer, this.#groups, this.#ends - this.#groups).fill(0);
    for (const [i, product] of products.entries()) this.#write(i, product, scale);
  }

  /**
   * Memory for the codes of passages, one after the other, from the bytes of each. It is valid
   * until the next call.
   */
  allocate(lengths: Uint32Array): Uint8Array {
    const codes = this.#ends + 8 * lengths.length;
    const bytes = lengths.reduce((sum, length) => sum + length, 0);
    this.#reserve(codes + bytes);
    this.#passages = lengths.length;
    const ends = new Uint32Array(this.#memory.buffer, this.#ends, lengths.length);
    let end = codes;
    for (const [i, length] of lengths.entries()) {
      end += length;
      ends[i] = end;
    }
    return new Uint8Array(this.#memory.buffer, codes, bytes);
  }

  /** The approximate retrieval scores of the passages whose codes were written. */
  scores(): Float64Array {
    const sums = this.#ends + 4 * this.#passages;
    const totals = new Int32Array(this.#memory.buffer, sums, this.#passages).fill(0);
    const idBytes = centroidBytes(this.#codebook);
    for (let group = this.#groups; group < this.#ends; group += this.#groupBytes)
      this.#addSumsOfMaxima(
        sums + 4 * this.#passages,
        this.#ends,
        this.#passages,
        sums,
        idBytes,
        this.#subquantisers,
        group,
        0,
        group + this.#rows,
      );
    return Float64Array.from(totals, (sum) => (sum * this.#unit) / this.#questionTokens);
  }

  #productsOf(query: Float32Array, centroids: Float32Array): TokenProducts {
    const codewords = new Map<number, Float32Array>();
    for (const [subquantisers, table] of this.#codebook.codewords)
      codewords.set(subquantisers, codewordProducts(query, table, subquantisers));
    return { centroids, codewords };
  }

  /** Writes the products of question token i to its lane of its group. */
  #write(i: number, { centroids, codewords }: TokenProducts, scale: number): void {
    const group = this.#groups + Math.floor(i / LANES) * this.#groupBytes;
    const numbers = new Int16Array(this.#memory.buffer);
    const starts = new Uint32Array(this.#memory.buffer, group, this.#codebook.dimension + 1);
    let at = (group + this.#rows) / 2 + (i % LANES);
    for (let c = 0; c < centroids.length; c++, at += LANES)
      numbers[at] = Math.round(centroids[c]! * scale);
    let table = group + this.#codewords;
    for (const [subquantisers, products] of codewords) {
      starts[subquantisers] = table;
      table += subquantisers * CODEWORDS * ROW_BYTES;
      for (let e = 0; e < products.length; e++, at += LANES)
        numbers[at] = Math.round(products[e]! * scale);
    }
  }
}

/** The next address at which a row can start. */
const aligned = (address: number): number => Math.ceil(address / ROW_BYTES) * ROW_BYTES;

/** The products of a question token with all codewords: [subquantisers, 256]. */
function codewordProducts(
  query: Float32Array,
  table: Float32Array,
  subquantisers: number,
): Float32Array {
  const codewords = new Float32Array(subquantisers * CODEWORDS);
  const starts = subquantiserStarts(query.length, subquantisers);
  for (let subspace = 0; subspace < subquantisers; subspace++) {
    const first = starts[subspace]!;
    const width = starts[subspace + 1]! - first;
    for (let codeword = 0; codeword < CODEWORDS; codeword++)
      codewords[subspace * CODEWORDS + codeword] = dotProduct(
        query,
        first,
        table,
        CODEWORDS * first + codeword * width,
        width,
      );
  }
  return codewords;
}

/**
 * The greatest absolute value of a sum of one centroid's product and one product of each
 * subquantiser.
 */
function largestSum({ centroids, codewords }: TokenProducts): number {
  const residuals = Array.from(codewords.values(), (products) => {
    let total = 0;
    for (let first = 0; first < products.length; first += CODEWORDS)
      total += largestOf(products.subarray(first, first + CODEWORDS));
    return total;
  });
  return largestOf(centroids) + Math.max(...residuals);
}

function largestOf(values: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, Math.abs(values[i]!));
  return largest;
}
