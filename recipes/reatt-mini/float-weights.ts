/**
 * Writes an int8 model with float32 weights that int8 rounds back to the same model:
 *
 *     npx tsx recipes/reatt-mini/float-weights.ts --model DIR --out DIR
 *
 * Training needs weights between the steps. A value in the middle of its step has to move by half a
 * step before int8 shows it, so a short training of such weights would round to nothing. Here each
 * weight is drawn uniformly within its step: int8 then shows movements of any size on average.
 */

import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { scaleName } from "../../src/checkpoints/int8.ts";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { createRandom } from "../../src/math/random.ts";
import { readConfig, writeConfig } from "../../src/model/config-file.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    out: { type: "string", default: "runs/reatt-mini/float" },
  },
});
/** The largest sum of a pair of neighbours is the range of its row: int8.ts. */
const RANGE = 127;

const config = await readConfig(values.model);
const weights = await loadWeights(values.model, config);
await using file = await openSafetensors(join(values.model, "model.safetensors"));
const random = createRandom(1, "float weights");

/** Moves each weight within its step. Pairs at the range of the row stay: they define its scale. */
function drawRow(row: Float32Array, scale: number): void {
  const steps = row.map((value) => Math.abs(Math.round(value / scale)));
  for (let i = 0; i < row.length; i++)
    if (steps[i]! + (steps[i ^ 1] ?? 0) < RANGE)
      row[i] = row[i]! + (random.next() - 0.5) * 0.999 * scale;
}

const tensors = new Map<string, { shape: readonly number[]; values: Float32Array }>();
for (const [name, shape] of parameterShapes(config)) {
  const matrix = weights.get(name)!;
  // The embedding, which has scales of columns too, stays in the middle of its steps.
  if (file.tensors.has(scaleName(name)) && !name.startsWith("embedding")) {
    const scales = await file.read(scaleName(name));
    scales.forEach((scale, row) => {
      drawRow(
        matrix
          .subarray((row * matrix.length) / scales.length)
          .subarray(0, matrix.length / scales.length),
        scale,
      );
    });
  }
  tensors.set(name, { shape, values: matrix });
}
await mkdir(values.out, { recursive: true });
await writeSafetensors(join(values.out, "model.safetensors"), tensors, { dtype: "F32" });
await copyFile(join(values.model, "spiece.model"), join(values.out, "spiece.model"));
await writeConfig(values.out, config);
