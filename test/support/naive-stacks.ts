/**
 * A model of BERT layers alone in plain float64 loops: retrieval layers, projections of its own,
 * and a linear map before a stack of another width. Written without code from src.
 */

import type { ModelConfig } from "../../src/model/config.ts";
import type { Stack } from "../../src/model/stack.ts";
import { affine, bertEmbeddings, type Matrix, naiveBertBlocks } from "./naive-t5.ts";

interface NaiveStacks {
  /** States of a text after the shared layers. */
  shared(ids: readonly number[]): Matrix;
  /** States after the retrieval layers. */
  retrieval(shared: Matrix): Matrix;
  /** The vectors that search compares by the cosine. */
  vectors(side: "query" | "key", shared: Matrix): Matrix;
  /** What the decoder attends to, of a question and a passage side by side. */
  joint(shared: Matrix): Matrix;
}

export function naiveStacks(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
): NaiveStacks {
  const rowsOf = (name: string, columns: number): Matrix => {
    const values = [...weights.get(name)!];
    return Array.from({ length: values.length / columns }, (_, row) =>
      values.slice(row * columns, (row + 1) * columns),
    );
  };
  const embedding = rowsOf("embedding.weight", config.modelSize);
  const run = (part: string, stacks: readonly Stack[], states: Matrix): Matrix =>
    stacks.reduce((x, stack, i) => {
      const mapped = stack.inputMap ? affine(weights, `${part}.${i}.input_map`, x) : x;
      const names = Array.from({ length: stack.layers }, (_, n) => `${part}.${i}.layer.${n}`);
      return naiveBertBlocks(stack, weights, names, mapped);
    }, states);
  /** x / sqrt(mean(x^2) + epsilon) * weight */
  const rmsNorm = (name: string, states: Matrix): Matrix =>
    states.map((row) => {
      const square = row.reduce((sum, value) => sum + value * value, 0) / row.length;
      const length = Math.sqrt(square + config.decoder.layerNormEpsilon);
      return row.map((value, i) => (value / length) * weights.get(name)![i]!);
    });
  const retrieval = (shared: Matrix): Matrix => run("retrieval", config.retrieval, shared);
  return {
    shared(ids) {
      const [first] = config.shared;
      const words = bertEmbeddings(first!, weights, ids, embedding, "shared.0.embeddings");
      return run("shared", config.shared, words);
    },
    retrieval,
    vectors(side, shared) {
      const normed = rmsNorm("retrieval_attention.norm.weight", retrieval(shared));
      const rows = rowsOf(`retrieval_attention.${side}.weight`, normed[0]!.length);
      return normed.map((state) => {
        const vector = rows.map((row) => row.reduce((sum, w, i) => sum + w * state[i]!, 0));
        return vector.map((value) => value / Math.hypot(...vector));
      });
    },
    joint: (shared) => rmsNorm("joint.final_layer_norm.weight", run("joint", config.joint, shared)),
  };
}
