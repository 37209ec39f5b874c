/** Matrix product of question vectors and token keys, on onnxruntime. */

import { compile } from "../../tensor/session.ts";
import { trace } from "../../tensor/trace.ts";

export interface MatMul extends AsyncDisposable {
  /** `queries` [n, dimension] times the transpose of `keys` [tokens, dimension]: [n, tokens]. */
  multiply(queries: Float32Array, keys: Float32Array): Promise<Float32Array>;
}

export async function openMatMul(dimension: number, threads: number | undefined): Promise<MatMul> {
  // The keys are the left operand: onnxruntime copies the right one first.
  const graph = trace(
    { queries: ["float32", "question", dimension], keys: ["float32", "token", dimension] },
    (ops, { queries, keys }) => ({
      scores: ops.transpose(ops.matmul(keys, ops.transpose(queries, [1, 0])), [1, 0]),
    }),
  );
  const session = await compile(graph, { threads });
  return {
    async multiply(queries, keys) {
      const { scores } = await session.run<"scores">({
        queries: { data: queries, shape: [queries.length / dimension, dimension] },
        keys: { data: keys, shape: [keys.length / dimension, dimension] },
      });
      return scores.data as Float32Array;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}
