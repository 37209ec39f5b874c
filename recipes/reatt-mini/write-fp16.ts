/**
 * Copies a model folder with its weights as fp16: half the size, rounded to the nearest.
 *
 *     npx tsx recipes/reatt-mini/write-fp16.ts FROM TO
 */

import { readConfig } from "../../src/model/config.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { writeModel } from "../../src/training/run/save-model.ts";

const [from, to] = process.argv.slice(2);
if (!from || !to) throw new Error("Usage: npx tsx recipes/reatt-mini/write-fp16.ts FROM TO");
const config = await readConfig(from);
const weights = await loadWeights(from, config);
await writeModel(to, config, (name) => weights.get(name)!, { original: from, dtype: "F16" });
