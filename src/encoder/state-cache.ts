/**
 * The states of the lower layers for the passages that were read last. They depend on the passage
 * alone (ReAtt, section 2.2), so a passage that several questions find needs them once.
 */

/** A passage of 200 tokens has 0.2 MB with 288 dimensions, and 0.8 MB with 1,024. */
const CACHE_BYTES = 128 * 2 ** 20;

/** The least recently used states leave first. */
export class StateCache {
  readonly #limit: number;
  /** In the order of their last use. */
  readonly #states = new Map<string, Float32Array>();
  #bytes = 0;

  /** @param limit bytes of all states together */
  constructor(limit: number = CACHE_BYTES) {
    this.#limit = limit;
  }

  /** Bytes of the states that are held. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The states of each sequence, each [length, modelSize]. `encode` computes those that are not
   * held.
   */
  async statesOf(
    sequences: readonly (readonly number[])[],
    encode: (missing: readonly (readonly number[])[]) => Promise<readonly Float32Array[]>,
  ): Promise<Float32Array[]> {
    const keys = sequences.map((sequence) => sequence.join());
    const found = keys.map((key) => this.#states.get(key));
    const missing = sequences.filter((_, i) => !found[i]);
    const encoded = missing.length > 0 ? await encode(missing) : [];
    let next = 0;
    return keys.map((key, i) => {
      const states = found[i] ?? encoded[next++]!;
      this.#hold(key, states);
      return states;
    });
  }

  #hold(key: string, states: Float32Array): void {
    this.#remove(key);
    this.#states.set(key, states);
    this.#bytes += states.byteLength;
    for (const oldest of this.#states.keys()) {
      if (this.#bytes <= this.#limit) break;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    this.#bytes -= this.#states.get(key)?.byteLength ?? 0;
    this.#states.delete(key);
  }
}
