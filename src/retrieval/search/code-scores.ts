/**
 * Scores of compressed passages, computed on their codes: nothing is decompressed.
 *
 * The product of question token i with a key of centroid c, ratio r and entries e_p is
 *
 *     q_i . k = r (q_i . c + sum_p q_i . e_p)
 *
 * and the products of q_i with all centroids and entries are computed once a question, so a key costs a look-up for each
 * part (asymmetric distance computation). A look-up gives the products of 16 question tokens, as 16-bit fixed-point numbers,
 * which WebAssembly adds and compares eight at a time (assembly/code-scores.ts).
 * Sources: Jégou et al., Product quantization for nearest neighbor search, 2011, section III.A; André et al., Cache locality is not
 * enough: high-performance nearest neighbor search with product quantization fast scan, 2015 (fixed point and vector instructions).
 */

import { CODEWORDS, type Codebook, centroidBytes, subquantiserStarts } from "../codec/codec.ts";
import { dotProduct } from "../scoring/vectors.ts";
import { CODE_SCORES } from "./code-scores.wasm.ts";

/** Question tokens of a group: their products with one vector are a row. */
const LANES = 16;
const ROW_BYTES = 2 * LANES;
const WASM_PAGE = 65_536;

const kernel = new WebAssembly.Module(Buffer.from(CODE_SCORES, "base64"));

/** The exported function of assembly/code-scores.ts. */
type SumOfMaxima = (
  codes: number,
  end: number,
  idBytes: number,
  subquantisers: number,
  starts: number,
  ratios: number,
  centroids: number,
) => number;

/** MatMul of one question token. */
interface TokenProducts {
  /** [centroids] */
  readonly centroids: Float32Array;
  /** With the entries of each part, by the number of parts: [parts, 256]. */
  readonly codewords: ReadonlyMap<number, Float32Array>;
}

/**
 * Scores passages for one question after another. Everything lies in the memory of a WebAssembly instance: the codebook's ratios and parts,
 * then for each group of question tokens its `starts`, rows of centroids and tables, then the codes that are scored.
 */
export class CodeScorer {
  readonly #codebook: Codebook;
  readonly #memory: WebAssembly.Memory;
  readonly #sumOfMaxima: SumOfMaxima;
  /** Addresses. */
  readonly #subquantisers: number;
  readonly #groups: number;
  #codes = 0;
  /** Bytes of a group, and where its rows and tables begin in it. */
  readonly #groupBytes: number;
  readonly #rows: number;
  readonly #codewords: number;
  #questionTokens = 0;
  /** What 1 in fixed point stands for. */
  #unit = 0;

  constructor(codebook: Codebook) {
    this.#codebook = codebook;
    const { ratios, subquantisers, codewords, dimension } = codebook;
    const allSubquantisers = [...codewords.keys()].reduce((total, count) => total + count);
    this.#subquantisers = aligned(2 * CODEWORDS);
    this.#groups = aligned(this.#subquantisers + subquantisers.length);
    this.#rows = aligned(4 * (dimension + 1));
    this.#codewords = this.#rows + subquantisers.length * ROW_BYTES;
    this.#groupBytes = this.#codewords + allSubquantisers * CODEWORDS * ROW_BYTES;
    this.#memory = new WebAssembly.Memory({ initial: Math.ceil(this.#groups / WASM_PAGE) });
    const { exports } = new WebAssembly.Instance(kernel, { env: { memory: this.#memory } });
    this.#sumOfMaxima = exports.sumOfMaxima as SumOfMaxima;
    const greatest = Math.max(...ratios);
    new Int16Array(this.#memory.buffer).set(
      ratios.map((ratio) => Math.round((ratio / greatest) * 32_767)),
    );
    new Uint8Array(this.#memory.buffer).set(subquantisers, this.#subquantisers);
  }

  /** What is scored from now on is scored for this question, of which the products with all centroids are given: [question tokens, centroids]. */
  ask(question: Float32Array, centroidProducts: Float32Array): void {
    const { dimension, subquantisers, ratios } = this.#codebook;
    const tokens = question.length / dimension;
    const products = Array.from({ length: tokens }, (_, i) =>
      this.#productsOf(
        question.subarray(i * dimension, (i + 1) * dimension),
        centroidProducts.subarray(i * subquantisers.length, (i + 1) * subquantisers.length),
      ),
    );
    // the sum of a centroid's product and an entry's of each part stays below 2^15, however each of them is rounded
    const scale = (32_767 - dimension) / Math.max(...products.map(largestSum));
    this.#questionTokens = tokens;
    this.#unit = Math.max(...ratios) / scale;
    this.#codes = this.#groups + Math.ceil(tokens / LANES) * this.#groupBytes;
    this.#reserve(this.#codes);
    new Uint8Array(this.#memory.buffer, this.#groups, this.#codes - this.#groups).fill(0);
    for (const [i, product] of products.entries()) this.#write(i, product, scale);
  }

  /** About the avg-max of the question over keys of a passage, of which the codes are given. */
  score(codes: Uint8Array): number {
    const end = this.#codes + codes.length;
    this.#reserve(end);
    new Uint8Array(this.#memory.buffer).set(codes, this.#codes);
    const idBytes = centroidBytes(this.#codebook);
    let sum = 0;
    for (let group = this.#groups; group < this.#codes; group += this.#groupBytes)
      sum += this.#sumOfMaxima(
        this.#codes,
        end,
        idBytes,
        this.#subquantisers,
        group,
        0,
        group + this.#rows,
      );
    return (sum * this.#unit) / this.#questionTokens;
  }

  #productsOf(query: Float32Array, centroids: Float32Array): TokenProducts {
    const codewords = new Map<number, Float32Array>();
    for (const [subquantisers, table] of this.#codebook.codewords)
      codewords.set(subquantisers, codewordProducts(query, table, subquantisers));
    return { centroids, codewords };
  }

  /** Writes the products of question token i in its lane of its group. */
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

  #reserve(bytes: number): void {
    const missing = bytes - this.#memory.buffer.byteLength;
    if (missing > 0) this.#memory.grow(Math.ceil(missing / WASM_PAGE));
  }
}

/** The next address that a row may have. */
const aligned = (address: number): number => Math.ceil(address / ROW_BYTES) * ROW_BYTES;

/** [parts, 256] */
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

/** No sum of a centroid's product and one of each part has a greater absolute value. */
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
