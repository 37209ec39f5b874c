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
import { CODE_SCORES } from "./code-scores.wasm.ts";

/** Bytes of a product of a question token with a centroid or a codeword, in fixed point. */
const PRODUCT_BYTES = 2;

/**
 * A key is likely to be the best for a question token if its centroid's product is at most this
 * many standard deviations of the residual's product below the greatest. docs/experiments/speed.md
 * has the recall of other values.
 */
const LIKELY_DEVIATIONS = 0.7;

/** Rows that are written for one token before the next: they stay in a cache. */
const WRITTEN_ROWS = 256;

/** The exported functions of assembly/code-scores.ts. */
interface Kernel {
  addSumsOfMaxima(
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
  ): void;
  findMaxima(
    lanes: Lanes,
    codes: number,
    end: number,
    sum: number,
    idBytes: number,
    subquantisers: number,
    starts: number,
    ratios: number,
    centroids: number,
    margin: number,
    tokens: number,
    products: number,
    pairs: number,
  ): number;
  addSpread(
    lanes: Lanes,
    question: number,
    codewords: number,
    widths: number,
    count: number,
    products: number,
    spread: number,
  ): void;
  writeTables(
    lanes: Lanes,
    question: number,
    codewords: number,
    widths: number,
    count: number,
    products: number,
    scale: number,
    rows: number,
  ): void;
  writeRows(products: number, end: number, scale: number, rows: number): void;
}

/** Question tokens whose products with one vector are a row. */
type Lanes = 8 | 16 | 24;

/** Question tokens that share a row, and the addresses of their parts of the memory. */
interface Group {
  readonly lanes: Lanes;
  readonly firstToken: number;
  readonly endToken: number;
  /** Their vectors, [dimension, lanes]. */
  readonly question: number;
  /** By the number of subquantisers, the address of the first table: [dimension + 1]. */
  readonly starts: number;
  /** Of the centroids. */
  readonly rows: number;
  /** For each number of subquantisers. */
  readonly tables: readonly GroupTables[];
  readonly end: number;
}

/** Addresses in the memory. */
interface GroupTables {
  /** The greatest sums of products with codewords, and their variances: [2, lanes] float32. */
  readonly spread: number;
  /** How far below the greatest product with a centroid that of a likely key can be: a row. */
  readonly margins: number;
  /** [subquantisers, 256] rows, after the margins. */
  readonly first: number;
}

/** The codewords of a number of subquantisers, with addresses in the memory. */
interface PlacedCodewords {
  readonly subquantisers: number;
  /** Of the subspaces. */
  readonly widths: number;
  readonly values: number;
}

/** Keys of a passage that can be the best for a question token. */
export interface Maxima {
  /** The approximate scores of the passages: most are as `likelyScores`, some are higher. */
  readonly scores: Float64Array;
  /**
   * Calls `visit` for each such key of a passage, with its code, the first of a group of question
   * tokens and a bit for each token of the group.
   */
  forEach(
    passage: number,
    visit: (code: Uint8Array, firstToken: number, tokens: number) => void,
  ): void;
}

/**
 * Scores passages for one question after another.
 *
 * The memory of a WebAssembly instance holds the codebook without its centroids, and products that
 * are not yet rows; then, for each group of question tokens, its vectors, the addresses of its
 * codeword tables, the rows of the centroids and those of the codewords, which are the tables;
 * then, for each passage to score, the range of its codes and its sum; then the codes.
 */
export class CodeScorer {
  readonly #codebook: Codebook;
  readonly #idBytes: number;
  readonly #memory: WebAssembly.Memory;
  readonly #reserve: WasmKernel["reserve"];
  readonly #kernel: Kernel;
  readonly #codewords: readonly PlacedCodewords[];
  /** Addresses in the memory. */
  readonly #subquantisers: number;
  readonly #products: number;
  readonly #firstGroup: number;
  #ranges = 0;
  #groups: readonly Group[] = [];
  #questionTokens = 0;
  /** The value of 1 in fixed point. */
  #unit = 0;

  constructor(codebook: Codebook) {
    this.#codebook = codebook;
    this.#idBytes = centroidBytes(codebook);
    const { dimension, ratios, subquantisers, codewords } = codebook;
    this.#subquantisers = aligned(PRODUCT_BYTES * CODEWORDS);
    let end = aligned(this.#subquantisers + subquantisers.byteLength);
    this.#codewords = Array.from(codewords, ([count, table]) => {
      const widths = end;
      const values = aligned(widths + 2 * count);
      end = aligned(values + table.byteLength);
      return { subquantisers: count, widths, values };
    });
    this.#products = end;
    this.#firstGroup = aligned(end + 4 * WRITTEN_ROWS * 24);
    const { memory, exports, reserve } = openKernel(CODE_SCORES, "compressed search");
    reserve(this.#firstGroup);
    this.#memory = memory;
    this.#reserve = reserve;
    this.#kernel = exports as unknown as Kernel;
    const greatest = Math.max(...ratios);
    new Int16Array(memory.buffer).set(
      ratios.map((ratio) => Math.round((ratio / greatest) * 32_767)),
    );
    new Uint16Array(memory.buffer, this.#subquantisers).set(subquantisers);
    for (const { subquantisers, widths, values } of this.#codewords) {
      const starts = subquantiserStarts(dimension, subquantisers);
      new Uint16Array(memory.buffer, widths).set(starts.slice(1).map((at, m) => at - starts[m]!));
      new Float32Array(memory.buffer, values).set(codewords.get(subquantisers)!);
    }
  }

  /**
   * Sets the question for the next scores. `centroidProducts` are its products with all centroids,
   * [question tokens, centroids].
   */
  setQuestion(question: Float32Array, centroidProducts: Float32Array): void {
    const { dimension, ratios } = this.#codebook;
    this.#questionTokens = question.length / dimension;
    this.#groups = this.#layOut(this.#questionTokens);
    this.#ranges = this.#groups.at(-1)!.end;
    this.#reserve(this.#ranges);
    let largest = 0;
    for (const group of this.#groups) {
      this.#writeQuestion(group, question);
      largest = Math.max(largest, this.#largestSum(group, centroidProducts));
    }
    // The sum of a centroid's product and one product of each subquantiser stays below 2^15, with
    // all rounding.
    const scale = Math.fround((32_767 - dimension) / largest);
    this.#unit = Math.max(...ratios) / scale;
    for (const group of this.#groups) {
      this.#writeCentroids(group, centroidProducts, scale);
      this.#writeTables(group, scale);
    }
  }

  /**
   * A bound on the error of a score: half a step of the fixed point for each number of a sum, and a
   * fiftieth for its computation in float32; and for the product with the ratio half a step for the
   * ratio, one because 32,767 stands for 32,768, and half a step for the product.
   */
  get error(): number {
    const numbers = 1 + Math.max(...this.#codebook.codewords.keys());
    return (0.52 * numbers + 2) * this.#unit;
  }

  /** Memory for `bytes` of codes of this number of passages. It is valid until the next call. */
  allocate(passages: number, bytes: number): Uint8Array {
    const codes = this.#codesOf(passages);
    this.#reserve(codes + bytes);
    return new Uint8Array(this.#memory.buffer, codes, bytes);
  }

  /**
   * The approximate retrieval scores of passages whose codes were written to the memory for them,
   * from the keys alone that are likely to be the best for some question token. `ranges` are their
   * places in it, [passages, 2].
   */
  likelyScores(ranges: Uint32Array): Float64Array {
    const { passages, sums } = this.#writeRanges(ranges);
    for (const { lanes, starts, rows } of this.#groups)
      this.#kernel.addSumsOfMaxima(
        lanes,
        this.#codesOf(passages),
        this.#ranges,
        passages,
        sums,
        this.#idBytes,
        this.#subquantisers,
        starts,
        0,
        rows,
      );
    return this.#meansOf(sums, passages);
  }

  /**
   * As `likelyScores`, from all keys, with those that can be the best for a question token by exact
   * products, which differ from those of decoded keys by at most `rounding`. The keys are valid
   * until the memory is written.
   */
  maxima(ranges: Uint32Array, rounding: number): Maxima {
    const { passages, sums } = this.#writeRanges(ranges);
    const codes = this.#codesOf(passages);
    const margin = Math.ceil((2 * (this.error + rounding)) / this.#unit);
    const { mostKeys, longest, end } = this.#sizesOf(ranges);
    const products = aligned(codes + end);
    const firstPair = aligned(products + 48 * longest);
    this.#reserve(firstPair + PAIR_BYTES * mostKeys * this.#groups.length);
    const bounds = new Uint32Array(passages * this.#groups.length + 1);
    let last = firstPair;
    bounds[0] = last;
    for (let passage = 0; passage < passages; passage++)
      for (const [g, group] of this.#groups.entries()) {
        last = this.#kernel.findMaxima(
          group.lanes,
          codes + ranges[2 * passage]!,
          codes + ranges[2 * passage + 1]!,
          sums + 4 * passage,
          this.#idBytes,
          this.#subquantisers,
          group.starts,
          0,
          group.rows,
          margin,
          2 ** (group.endToken - group.firstToken) - 1,
          products,
          last,
        );
        bounds[passage * this.#groups.length + g + 1] = last;
      }
    return {
      scores: this.#meansOf(sums, passages),
      forEach: (passage, visit) => {
        for (const [g, { firstToken }] of this.#groups.entries()) {
          const at = passage * this.#groups.length + g;
          const size = (bounds[at + 1]! - bounds[at]!) / 4;
          const pairs = new Uint32Array(this.#memory.buffer, bounds[at]!, size);
          for (let i = 0; i < size; i += 2)
            visit(this.#codeAt(pairs[i]!), firstToken, pairs[i + 1]!);
        }
      },
    };
  }

  /** The code at an address. */
  #codeAt(address: number): Uint8Array {
    const { buffer } = this.#memory;
    const view = new DataView(buffer, address);
    const number = this.#idBytes === 2 ? view.getUint16(0, true) : view.getUint32(0, true);
    const length = this.#idBytes + 1 + this.#codebook.subquantisers[number]!;
    return new Uint8Array(buffer, address, length);
  }

  /** The most keys of passages with these ranges, of the longest of them, and the end of all. */
  #sizesOf(ranges: Uint32Array): { mostKeys: number; longest: number; end: number } {
    const least = this.#idBytes + 1 + Math.min(...this.#codebook.codewords.keys());
    let [mostKeys, longest, end] = [0, 0, 0];
    for (let i = 0; i < ranges.length; i += 2) {
      const keys = Math.ceil((ranges[i + 1]! - ranges[i]!) / least);
      mostKeys += keys;
      longest = Math.max(longest, keys);
      end = Math.max(end, ranges[i + 1]!);
    }
    return { mostKeys, longest, end };
  }

  #writeRanges(ranges: Uint32Array): { passages: number; sums: number } {
    const passages = ranges.length / 2;
    const { buffer } = this.#memory;
    new Uint32Array(buffer, this.#ranges, ranges.length).set(ranges);
    const sums = this.#ranges + ranges.byteLength;
    new Int32Array(buffer, sums, passages).fill(0);
    return { passages, sums };
  }

  #meansOf(sums: number, passages: number): Float64Array {
    const totals = new Int32Array(this.#memory.buffer, sums, passages);
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
    const row = PRODUCT_BYTES * lanes;
    let end = this.#firstGroup;
    const place = (bytes: number): number => {
      const start = end;
      end = aligned(start + bytes);
      return start;
    };
    for (let firstToken = 0; firstToken < tokens; firstToken += lanes) {
      const endToken = Math.min(tokens, firstToken + lanes);
      const question = place(4 * dimension * lanes);
      const starts = place(4 * (dimension + 1));
      const rows = place(row * subquantisers.length);
      const tables = this.#codewords.map(({ subquantisers }) => {
        const spread = place(2 * 4 * lanes);
        const margins = place(row * (1 + CODEWORDS * subquantisers));
        return { spread, margins, first: margins + row };
      });
      groups.push({ lanes, firstToken, endToken, question, starts, rows, tables, end });
    }
    return groups;
  }

  /** Writes the vectors of a group as [dimension, lanes]. */
  #writeQuestion(
    { lanes, firstToken, endToken, question: at }: Group,
    question: Float32Array,
  ): void {
    const { dimension } = this.#codebook;
    const columns = new Float32Array(this.#memory.buffer, at, dimension * lanes).fill(0);
    for (let token = firstToken; token < endToken; token++)
      for (let d = 0; d < dimension; d++)
        columns[d * lanes + token - firstToken] = question[token * dimension + d]!;
  }

  /**
   * The greatest absolute value, over the question tokens of a group, of a sum of one centroid's
   * product and one product of each subquantiser.
   */
  #largestSum(group: Group, centroidProducts: Float32Array): number {
    const { lanes, firstToken, endToken, question, tables } = group;
    const centroids = this.#codebook.subquantisers.length;
    const sums = this.#codewords.map(({ subquantisers, widths, values }, i) => {
      const { spread } = tables[i]!;
      const numbers = new Float32Array(this.#memory.buffer, spread, 2 * lanes).fill(0);
      const places = [question, values, widths, subquantisers, this.#products] as const;
      this.#kernel.addSpread(lanes, ...places, spread);
      return numbers;
    });
    let largest = 0;
    for (let token = firstToken; token < endToken; token++) {
      const ofCodewords = Math.max(...sums.map((numbers) => numbers[token - firstToken]!));
      const products = centroidProducts.subarray(token * centroids, (token + 1) * centroids);
      largest = Math.max(largest, largestOf(products) + ofCodewords);
    }
    return largest;
  }

  /** Writes the products of the tokens of a group with the centroids as rows. */
  #writeCentroids(group: Group, centroidProducts: Float32Array, scale: number): void {
    const { lanes, firstToken, endToken, rows } = group;
    const centroids = this.#codebook.subquantisers.length;
    const columns = new Float32Array(this.#memory.buffer, this.#products, lanes * WRITTEN_ROWS);
    columns.fill(0); // lanes without a token
    for (let first = 0; first < centroids; first += WRITTEN_ROWS) {
      const count = Math.min(WRITTEN_ROWS, centroids - first);
      for (let token = firstToken; token < endToken; token++) {
        const from = token * centroids + first;
        for (let i = 0, at = token - firstToken; i < count; i++, at += lanes)
          columns[at] = centroidProducts[from + i]!;
      }
      const end = this.#products + 4 * lanes * count;
      this.#kernel.writeRows(this.#products, end, scale, rows + PRODUCT_BYTES * lanes * first);
    }
  }

  /** Writes the tables of a group, the margins before them, and their addresses. */
  #writeTables(group: Group, scale: number): void {
    const { lanes, firstToken, endToken, question, starts, tables } = group;
    const { buffer } = this.#memory;
    const addresses = new Uint32Array(buffer, starts, this.#codebook.dimension + 1);
    for (const [i, { subquantisers, widths, values }] of this.#codewords.entries()) {
      const { spread, margins, first } = tables[i]!;
      addresses[subquantisers] = first;
      const places = [question, values, widths, subquantisers, this.#products] as const;
      this.#kernel.writeTables(lanes, ...places, scale, first);
      const variances = new Float32Array(buffer, spread, 2 * lanes).subarray(lanes);
      // no key is likely for a lane without a token
      const row = new Int16Array(buffer, margins, lanes).fill(-1);
      for (let lane = 0; lane < endToken - firstToken; lane++) {
        const deviation = Math.sqrt(Math.max(0, variances[lane]!));
        row[lane] = Math.min(32_767, Math.ceil(LIKELY_DEVIATIONS * deviation * scale));
      }
    }
  }
}

/** Bytes of a key that `findMaxima` finds, with its tokens. */
const PAIR_BYTES = 8;

/** The fewest lanes with which a question of this many tokens has the fewest groups. */
function lanesFor(tokens: number): Lanes {
  const groups = Math.ceil(tokens / 24);
  return tokens <= 8 * groups ? 8 : tokens <= 16 * groups ? 16 : 24;
}

/** The next address at which a row can start. */
const aligned = (address: number): number => Math.ceil(address / 32) * 32;

/** The greatest absolute value. */
function largestOf(values: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, Math.abs(values[i]!));
  return largest;
}
