/**
 * The states of the shared layers for the passages that were read last. They depend on the passage
 * alone (ReAtt, section 2.2), so a passage that several questions find needs them once.
 */

import { Recent } from "../math/recent.ts";

/** A passage of 200 tokens has 0.2 MB with 288 dimensions, and 0.8 MB with 1,024. */
const CACHE_BYTES = 128 * 2 ** 20;

/**
 * The states of a passage that are stored, in a form that takes less memory.
 *
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const passages = [{ id: "1", title: "Rhine", text: "The Rhine flows to the North Sea." }];
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * await using index = await model.index(passages, { directory, keepStates: true });
 * const [stored] = (await index.states([0]))!;
 * console.log(stored!.unpack().length / stored!.tokens); // 384
 * ```
 */
export interface StoredStates {
  /** The number of tokens that have a state. */
  readonly tokens: number;
  /** Unpacks them: [tokens, modelSize]. */
  unpack(): Float32Array;
}

/** The states that were used last. */
export class StateCache {
  readonly #states: Recent<Float32Array>;

  /** @param limit bytes of all states together */
  constructor(limit: number = CACHE_BYTES) {
    this.#states = new Recent(limit, ({ byteLength }) => byteLength);
  }

  /** Bytes of the states that are held. */
  get bytes(): number {
    return this.#states.bytes;
  }

  /**
   * The states of each sequence, each [length, modelSize]. Those that are not held are unpacked if
   * they are in `stored` at the position of the sequence; `encode` computes the others. A cut
   * sequence has other states than the whole, so stored ones count only for as many tokens.
   */
  async statesOf(
    sequences: readonly (readonly number[])[],
    encode: (missing: readonly (readonly number[])[]) => Promise<readonly Float32Array[]>,
    stored: readonly (StoredStates | undefined)[] = [],
  ): Promise<Float32Array[]> {
    const usable = sequences.map(({ length }, i) =>
      stored[i]?.tokens === length ? stored[i] : undefined,
    );
    // Apart, so that what is read without an index does not depend on what was read from one.
    const keys = sequences.map((ids, i) => `${usable[i] ? "stored " : ""}${ids.join()}`);
    const found = keys.map((key, i) => this.#states.get(key) ?? usable[i]?.unpack());
    const missing = sequences.filter((_, i) => !found[i]);
    const encoded = missing.length > 0 ? await encode(missing) : [];
    let next = 0;
    return keys.map((key, i) => {
      const states = found[i] ?? encoded[next++]!;
      this.#states.set(key, states);
      return states;
    });
  }
}
