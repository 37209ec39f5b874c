/**
 * Copies a model folder with its weights as fp16: half the size, rounded to the nearest.
 *
 *     npx tsx scripts/halve.ts FROM TO
 */

import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { readConfig, writeConfig } from "../src/config.ts";
import { loadWeights } from "../src/weights/load.ts";
import { parameterShapes } from "../src/weights/names.ts";
import { writeSafetensors } from "../src/weights/write-safetensors.ts";

const [from, to] = process.argv.slice(2);
if (!from || !to) throw new Error("Usage: npx tsx scripts/halve.ts FROM TO");
const config = await readConfig(from);
const weights = await loadWeights(from, config);
const tensors = Array.from(parameterShapes(config), ([name, shape]) => {
  return [name, { shape, numbers: weights.get(name)! }] as const;
});
await mkdir(to, { recursive: true });
await writeSafetensors(join(to, "model.safetensors"), new Map(tensors), { dtype: "F16" });
await copyFile(join(from, "spiece.model"), join(to, "spiece.model"));
await writeConfig(to, config, from);
