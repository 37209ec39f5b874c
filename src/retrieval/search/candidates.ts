/**
 * The candidates of a compressed search, from the lists of centroids.
 *
 * Each question token reads the lists of its `nprobe` best centroids. A passage in the list of
 * centroid c has a token with a product of about q_i . c; the best of these centroids estimates the
 * maximum of the passage. For a passage in none of the lists, the last centroid read is the
 * estimate, which is about an upper bound.
 *
 * Sources: Santhanam et al., PLAID, 2022 (centroid interaction); Lee et al., XTR, 2023 (bounds for
 * missing scores).
 */

import { openKernel, type WasmKernel } from "../codec/wasm-kernel.ts";
import { damagedFile } from "../index/blocks/storage.ts";
import type { CompressedStore } from "../index/format/compressed-store.ts";
import { topPositions } from "../scoring/top-k.ts";
import type { SearchRequest } from "./engine.ts";
import { LIST_GAINS } from "./list-gains.wasm.ts";

/** The products of a question with the centroids. */
export interface CentroidProducts {
  /** [question tokens, centroids] */
  readonly data: Float32Array;
  readonly questionTokens: number;
}

export interface CandidateCounts {
  /** Centroids whose lists a question token reads. */
  readonly nprobe: number;
  /** About the most candidates. */
  readonly most: number;
  /** If a filter leaves fewer in the lists that were read, more lists are read. */
  readonly least: number;
}

/** The share of the candidates in the first round. Each further round doubles their number. */
const FIRST_ROUND = 1 / 8;

/** The sum of the greatest gains of all question tokens, in the fixed point of the kernel. */
const GREATEST_GAIN = 2 ** 28;

/** Bits of a gain that the histogram leaves out. It divides candidates into rounds, unsorted. */
const BIN_BITS = 14;
const BINS = (GREATEST_GAIN >> BIN_BITS) + 1;

/** Bytes of a mark. */
const MARK_BYTES = 8;

/** The exported function of assembly/list-gains.ts. */
type AddGain = (
  list: number,
  end: number,
  gain: number,
  token: number,
  marks: number,
  lastMark: number,
) => number;

/** The centroids that a question token reads, best first, and its products with them. */
interface Probe {
  readonly centroids: readonly number[];
  readonly products: readonly number[];
}

/**
 * Finds the candidates of one question after another.
 *
 * The memory of a WebAssembly instance holds a mark for each passage, then the lists. A mark has
 * two numbers of 32 bits: the gain of the passage, and the last question token that met it, from 1,
 * or 0 if none did. The gain is the sum over question tokens of the product with the best centroid
 * of the passage, above that with the last centroid read.
 */
export class CandidateFinder {
  readonly #store: CompressedStore;
  readonly #kernel: WasmKernel;
  readonly #addGain: AddGain;
  /** The address of the lists. */
  readonly #lists: number;

  constructor(store: CompressedStore) {
    this.#store = store;
    this.#kernel = openKernel(LIST_GAINS, "compressed search");
    this.#addGain = this.#kernel.exports.addGain as AddGain;
    this.#lists = MARK_BYTES * store.ordinalCount;
    this.#kernel.reserve(this.#lists);
  }

  /**
   * The accepted passages with the greatest estimates, in rounds of descending estimates. Passages
   * of a round ascend by ordinal.
   *
   * @throws {InputError} if the index is damaged
   */
  async find(
    products: CentroidProducts,
    counts: CandidateCounts,
    accept: SearchRequest["accept"],
  ): Promise<Uint32Array[]> {
    const { nprobe, most, least } = counts;
    await this.#probeLists(probesOf(products, nprobe));
    const accepted = this.#dropRejected(accept);
    if (accepted < least && nprobe < products.data.length / products.questionTokens)
      return this.find(products, { ...counts, nprobe: 4 * nprobe }, accept);
    return this.#rounds(Math.min(accepted, most));
  }

  async #probeLists(probes: readonly Probe[]): Promise<void> {
    this.#marks().fill(0);
    const best = probes.reduce((sum, { products }) => sum + products[0]! - products.at(-1)!, 0);
    const scale = best > 0 ? GREATEST_GAIN / best : 0;
    for (const [i, { centroids, products }] of probes.entries())
      for (const { path, base, passages, ranges } of await this.#store.lists(
        centroids,
        this.#allocate,
      )) {
        const first = MARK_BYTES * base;
        const last = first + MARK_BYTES * (passages - 1);
        for (const [rank, product] of products.entries()) {
          const gain = Math.floor((product - products.at(-1)!) * scale);
          const list = this.#lists + ranges[2 * rank]!;
          const end = this.#lists + ranges[2 * rank + 1]!;
          // the first list in which a token meets a passage is that of the best centroid
          if (!this.#addGain(list, end, gain, i + 1, first, last))
            throw damagedFile(path, `ordinals below ${passages}`);
        }
      }
  }

  /** Takes rejected passages from those that were met, and counts the others. */
  #dropRejected(accept: SearchRequest["accept"]): number {
    const marks = this.#marks();
    let accepted = 0;
    for (let at = 1; at < marks.length; at += 2)
      if (marks[at]! > 0) {
        if (accept(at >>> 1)) accepted++;
        else marks[at] = 0;
      }
    return accepted;
  }

  /** Divides the best `count` passages that were met, or a few more, into rounds. */
  #rounds(count: number): Uint32Array[] {
    const marks = this.#marks();
    const members = new Uint32Array(BINS);
    for (let at = 0; at < marks.length; at += 2)
      if (marks[at + 1]! > 0) members[marks[at]! >>> BIN_BITS]!++;
    const { ends, roundOfBin } = roundsOf(members, count);
    const candidates = new Uint32Array(ends.at(-1) ?? 0);
    const next = Uint32Array.from([0, ...ends]);
    for (let at = 0; at < marks.length; at += 2) {
      if (marks[at + 1] === 0) continue;
      const round = roundOfBin[marks[at]! >>> BIN_BITS]!;
      if (round < ends.length) candidates[next[round]!++] = at >>> 1;
    }
    return ends.map((end, round) => candidates.subarray(ends[round - 1] ?? 0, end));
  }

  #marks(): Uint32Array {
    return new Uint32Array(this.#kernel.memory.buffer, 0, 2 * this.#store.ordinalCount);
  }

  /** Memory for lists, valid until the next call. */
  readonly #allocate = (bytes: number): Uint8Array => {
    this.#kernel.reserve(this.#lists + bytes + 1); // the kernel reads two bytes at a time
    return new Uint8Array(this.#kernel.memory.buffer, this.#lists, bytes);
  };
}

/** The `nprobe` best centroids of each question token. */
function probesOf({ data, questionTokens }: CentroidProducts, nprobe: number): Probe[] {
  const centroids = data.length / questionTokens;
  return Array.from({ length: questionTokens }, (_, i) => {
    const row = data.subarray(i * centroids, (i + 1) * centroids);
    const best = topPositions(row, nprobe);
    return { centroids: best, products: best.map((centroid) => row[centroid]!) };
  });
}

/**
 * The number of candidates up to the end of each round, and the round of each bin, so that the
 * rounds hold `count` passages or a few more. Bins of no round have the number of rounds.
 */
function roundsOf(members: Uint32Array, count: number): { ends: number[]; roundOfBin: Uint8Array } {
  const ends: number[] = [];
  const roundOfBin = new Uint8Array(BINS);
  let bin = BINS - 1;
  let total = 0;
  for (let share = FIRST_ROUND; total < count; share *= 2) {
    const before = total;
    for (; total < share * count; bin--) {
      total += members[bin]!;
      roundOfBin[bin] = ends.length;
    }
    if (total > before) ends.push(total); // else the last round has the members of this one
  }
  return { ends, roundOfBin: roundOfBin.fill(ends.length, 0, bin + 1) };
}
