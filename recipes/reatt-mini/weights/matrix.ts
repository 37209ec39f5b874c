/** The weights of a model as matrices that circuits are written into. */

import type { ModelConfig } from "../../../src/model/config.ts";
import { parameterShapes } from "../../../src/model/parameter-names.ts";

/** A weight [rows, columns]. What is written stands in the weight itself. */
export interface Matrix {
  row(row: number): Float32Array;
  set(row: number, column: number, value: number): void;
  fillColumn(column: number, value: number): void;
  scale(factor: number): void;
}

/** The projections of an attention layer: of the query, the key and the value, in rows by head, and of the output, in columns by head. */
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
