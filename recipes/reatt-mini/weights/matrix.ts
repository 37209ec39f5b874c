/** Weights as matrices, to write circuits into. */

import type { ModelConfig } from "../../../src/model/config.ts";
import { parameterShapes } from "../../../src/model/parameter-names.ts";

/** A view of a weight [rows, columns]: writing changes the weight. */
export interface Matrix {
  row(row: number): Float32Array;
  set(row: number, column: number, value: number): void;
  fillColumn(column: number, value: number): void;
  scale(factor: number): void;
}

/** Projections of an attention layer. Heads are rows of q, k and v, and columns of o. */
export type Projection = "q" | "k" | "v" | "o";

/** Weights of two dimensions, by their names in the checkpoint. */
export function matricesOf(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
): { matrix(name: string): Matrix; encoderAttention(block: number, part: Projection): Matrix } {
  const shapes = parameterShapes(config);

  function matrix(name: string): Matrix {
    const data = weights.get(name)!;
    const columns = shapes.get(name)![1]!;
    return {
      row: (row) => data.subarray(row * columns, (row + 1) * columns),
      set(row, column, value) {
        data[row * columns + column] = value;
      },
      fillColumn(column, value) {
        for (let i = column; i < data.length; i += columns) data[i] = value;
      },
      scale(factor) {
        data.forEach((value, i) => {
          data[i] = factor * value;
        });
      },
    };
  }

  return {
    matrix,
    encoderAttention: (block, part) =>
      matrix(`encoder.block.${block}.layer.0.SelfAttention.${part}.weight`),
  };
}
