/**
 * Writes weights that were trained from an int8 model in int8 again:
 *
 *     npx tsx recipes/reatt-mini/round-at-random.ts --start DIR --model DIR --out DIR
 *
 * A short training moves most weights by less than half a step, and the nearest step is the one
 * where they began. So they are rounded at random, as what `reatt adapt` writes
 * (`roundAtRandom` in src/checkpoints/int8.ts).
 */

import { parseArgs } from "node:util";
import { readConfig } from "../../src/model/config-file.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { writeModel } from "../../src/model/write-model.ts";

const { values } = parseArgs({
  options: {
    /** The int8 model that training began with. */
    start: { type: "string", default: "models/reatt-mini" },
    model: { type: "string", default: "runs/reatt-mini/distilled" },
    out: { type: "string", default: "runs/reatt-mini/rounded" },
  },
});

const config = await readConfig(values.model);
const weights = await loadWeights(values.model, config);
const rounding = { original: values.start, seed: 1 };
await writeModel(values.out, config, (name) => weights.get(name)!, rounding);
