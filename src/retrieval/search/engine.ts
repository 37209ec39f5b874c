/** The interface of a search engine: it finds the best passages of a store for a question. */

import { rotate } from "../codec/opq-rotation.ts";
import type { ScoredPassage } from "../scoring/top-k.ts";
import type { Keys } from "./rescore.ts";

export interface SearchRequest {
  readonly topK: number;
  /** Whether the search may return the passage. False for deleted passages. */
  readonly accept: (ordinal: number) => boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface SearchEngine extends AsyncDisposable {
  /**
   * For each question, [tokens, dimension], the `topK` best accepted passages in the order of
   * `byScore`. The scores are exact (rescore.ts).
   */
  search(questions: readonly Float32Array[], request: SearchRequest): Promise<ScoredPassage[][]>;
  /** The keys of the store, where the engine has some of them in memory. */
  readonly keys?: Keys | undefined;
}

/** Rotates the questions of `engine`, whose store has rotated keys (opq-rotation.ts). */
export const rotatingEngine = (engine: SearchEngine, rotation: Float32Array): SearchEngine => {
  const dimension = Math.sqrt(rotation.length);
  return {
    search: (questions, request) =>
      engine.search(
        questions.map((question) => rotate(question, rotation, dimension)),
        request,
      ),
    keys: engine.keys,
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
};
