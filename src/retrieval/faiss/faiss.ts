/**
 * The optional package faiss-node: loads it, fills an index with token keys, finds nearest tokens.
 */

import { InputError } from "../../io/errors.ts";
import type { KeyStore } from "../index/format/store.ts";
import type { TokenHits } from "../search/token-hits.ts";

/**
 * The methods that the indexes of faiss-node share. They take JavaScript arrays and block while
 * they work. faiss aborts the process on an error in `train`, `add` or `search`.
 * Source: https://github.com/ewfian/faiss-node, lib/index.d.ts
 */
export interface FaissIndex {
  isTrained(): boolean;
  train(vectors: number[]): void;
  add(vectors: number[]): void;
  /**
   * `distances` and `labels` are [queries, count], best first. A label of -1 means no further
   * result.
   */
  search(queries: number[], count: number): { distances: number[]; labels: number[] };
  toBuffer(): Buffer;
}

export interface Faiss {
  readonly IndexFlatIP: new (dimension: number) => FaissIndex;
  readonly Index: {
    fromFactory(dimension: number, factory: string, metric: number): FaissIndex;
    fromBuffer(bytes: Buffer): FaissIndex;
  };
}

export interface FilledIndex {
  readonly index: FaissIndex;
  /** The passage of each token. */
  readonly passageOf: Uint32Array;
}

/** @throws {InputError} if faiss-node is not installed or does not run */
export async function loadFaiss(): Promise<Faiss> {
  // By default the threads of OpenMP spin while they wait, which is ten times as slow on busy
  // cores.
  process.env.OMP_WAIT_POLICY ??= "passive";
  const name = "faiss-node"; // optional, so the compiler must not look for its types
  try {
    return (await import(name)).default;
  } catch (cause) {
    throw new InputError(
      {
        code: "ERR_REATT_NO_PACKAGE",
        where: "engine faiss",
        expected: "the package faiss-node",
        got: (cause as Error).message.split("\n")[0]!,
        remedy: "install it, or use the engine onnxruntime",
      },
      { cause },
    );
  }
}

/** Adds all keys, piece by piece. `onTokens` receives the number of tokens in the index. */
export async function fillIndex(
  index: FaissIndex,
  store: KeyStore,
  {
    onTokens,
    signal,
  }: { onTokens?: (tokens: number) => void; signal?: AbortSignal | undefined } = {},
): Promise<FilledIndex> {
  const passageOf = new Uint32Array(store.keyCount);
  let token = 0;
  for await (const { ordinals, starts, keys } of store.pieces({ signal })) {
    index.add(Array.from(keys));
    for (const [p, ordinal] of ordinals.entries())
      passageOf.fill(ordinal, token + starts[p]!, token + starts[p + 1]!);
    token += starts.at(-1)!;
    onTokens?.(token);
  }
  return { index, passageOf };
}

/** The `count` nearest tokens of each token of `question`, [tokens, dimension]. */
export function findTokens(
  { index, passageOf }: FilledIndex,
  question: Float32Array,
  dimension: number,
  count: number,
): TokenHits[] {
  const { distances, labels } = index.search(Array.from(question), count);
  return Array.from({ length: question.length / dimension }, (_, i) => {
    const row = labels.slice(i * count, (i + 1) * count);
    const found = row.indexOf(-1) === -1 ? count : row.indexOf(-1);
    return {
      ordinals: Uint32Array.from(row.slice(0, found), (label) => passageOf[label]!),
      scores: Float32Array.from(distances.slice(i * count, i * count + found)),
    };
  });
}
