/**
 * Prepares weights that were trained from an int8 model for int8:
 *
 *     npx tsx recipes/reatt-mini/round-at-random.ts --model DIR --out DIR
 *
 * A short training moves most weights by less than half a step, and the nearest step is the one
 * where they began: int8 would undo it. A number drawn uniformly from a step is added here, so a
 * weight that has moved by a tenth of a step is rounded to the next one with probability 0.1, and
 * the mean of the rounded weights is that of the trained ones.
 *
 * This is for the BERT layers. Conversion chooses other steps for the decoder.
 */

import { parseArgs } from "node:util";
import { quantiseLayer } from "../../src/checkpoints/int8.ts";
import { createRandom } from "../../src/math/random.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { writeModel } from "../../src/model/write-model.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "runs/reatt-mini/distilled" },
    out: { type: "string", default: "runs/reatt-mini/rounded" },
  },
});
const LAYER = /^(?:shared|retrieval|joint)\..*(?:attention|dense|input_map).*\.weight$/;
/** The largest sum of a pair of neighbours is the range of its row (int8.ts). */
const RANGE = 127;

const config = await readConfig(values.model);
const weights = await loadWeights(values.model, config);
const random = createRandom(1, "round at random");

/** Pairs at the range of the row stay as they are: they define its scale. */
function moveRow(row: Float32Array, steps: Int8Array, scale: number): void {
  for (let i = 0; i < row.length; i++)
    if (Math.abs(steps[i]!) + Math.abs(steps[i ^ 1] ?? 0) < RANGE)
      row[i] = row[i]! + (random.next() - 0.5) * scale;
}

function moveWeights(matrix: Float32Array, rows: number): void {
  const columns = matrix.length / rows;
  const { values: steps, scales } = quantiseLayer(matrix, rows);
  for (const [row, scale] of scales.entries()) {
    const own = [row * columns, (row + 1) * columns] as const;
    moveRow(matrix.subarray(...own), steps.subarray(...own), scale);
  }
}

for (const [name, shape] of parameterShapes(config))
  if (LAYER.test(name) && shape.length === 2) moveWeights(weights.get(name)!, shape[0]!);
const { model: original } = values;
await writeModel(values.out, config, (name) => weights.get(name)!, { original, dtype: "F32" });
