/**
 * Copies a model folder and gives its decoder a copy mechanism (src/decoder/copying.ts). The gate
 * is 0: what is written and what is copied are mixed in equal parts. A stage of
 * `recipes/reatt-mini/train`.
 *
 *     npx tsx recipes/reatt-mini/add-copy-gate.ts FROM TO
 */

import { readConfig } from "../../src/model/config.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { writeModel } from "../../src/training/run/save-model.ts";

const [from, to] = process.argv.slice(2);
if (!from || !to) throw new Error("Usage: npx tsx recipes/reatt-mini/add-copy-gate.ts FROM TO");
const config = await readConfig(from);
const weights = await loadWeights(from, config);
const gate = new Float32Array(config.modelSize);
const copying = { ...config, copying: true };
await writeModel(to, copying, (name) => weights.get(name) ?? gate, {
  original: from,
  dtype: "F32",
});
