/** A wider model that computes the same (Net2Net, Chen et al. 2016). */

import type { ModelConfig } from "../../../src/model/config.ts";
import { parameterShapes } from "../../../src/model/parameter-names.ts";

type Weights = ReadonlyMap<string, Float32Array>;

/**
 * Adds `size` dimensions to the states of a model and to each head, after the existing ones. New
 * values of a weight are 0. Norms divide by the root mean square over more dimensions than before;
 * their weights are scaled to compensate.
 */
export function widen(
  config: ModelConfig,
  weights: Weights,
  size: number,
): { config: ModelConfig; weights: Weights } {
  const wide = { ...config, modelSize: config.modelSize + size, headSize: config.headSize + size };
  const oldShapes = parameterShapes(config);
  const normScale = Math.sqrt(config.modelSize / wide.modelSize);

  function norm(name: string, old: Float32Array): Float32Array {
    const isOutput = name === "decoder.final_layer_norm.weight";
    // With a tied embedding the output is also divided by the root of the width: the two cancel.
    // New dimensions have no influence on the output.
    const scale = isOutput && config.tied ? 1 : normScale;
    const numbers = new Float32Array(wide.modelSize).fill(isOutput ? 0 : scale);
    numbers.set(old.map((x) => scale * x));
    return numbers;
  }

  function matrix(
    name: string,
    old: Float32Array,
    [rows, columns]: readonly number[],
  ): Float32Array {
    const numbers = new Float32Array(rows! * columns!);
    const [oldRows, oldColumns] = oldShapes.get(name) as [number, number];
    const ofHead = (i: number): number =>
      Math.floor(i / config.headSize) * wide.headSize + (i % config.headSize);
    const rowOf = /\.[qkv]\.weight$/.test(name) ? ofHead : (row: number) => row;
    const columnOf = /\.o\.weight$/.test(name) ? ofHead : (column: number) => column;
    for (let row = 0; row < oldRows; row++)
      for (let column = 0; column < oldColumns; column++)
        numbers[rowOf(row) * columns! + columnOf(column)] = old[row * oldColumns + column]!;
    return numbers;
  }

  const widened = [...parameterShapes(wide)].map(([name, shape]): [string, Float32Array] => {
    const old = weights.get(name)!;
    return [name, shape.length === 1 ? norm(name, old) : matrix(name, old, shape)];
  });
  return { config: wide, weights: new Map(widened) };
}
