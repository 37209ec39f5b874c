/**
 * Writes the mean of the weights of model folders as a model folder, in fp16, rounded to the nearest; of one folder, a copy of half the size.
 *
 *     npx tsx scripts/average.ts TO FROM...
 *
 * The mean of a model before and after fine-tuning keeps what was learned before and after (Wortsman et al., Robust fine-tuning of zero-shot models, 2022).
 */

import { readConfig } from "../src/config.ts";
import { writeModel } from "../src/training/run/save-model.ts";
import { loadWeights } from "../src/weights/load.ts";

const [to, ...from] = process.argv.slice(2);
if (!to || from.length === 0) throw new Error("Usage: npx tsx scripts/average.ts TO FROM...");
const models = await Promise.all(
  from.map(async (folder) => {
    const config = await readConfig(folder);
    return { config, weights: await loadWeights(folder, config) };
  }),
);
const mean = <T>(list: readonly T[], numberOf: (member: T) => number): number =>
  list.reduce((sum, member) => sum + numberOf(member), 0) / list.length;
const retrievalScale = Math.exp(mean(models, ({ config }) => Math.log(config.retrievalScale)));
const averaged = (name: string): Float32Array => {
  const all = models.map(({ weights }) => weights.get(name)!);
  return all[0]!.map((_, i) => mean(all, (weights) => weights[i]!));
};
await writeModel(to, { ...models[0]!.config, retrievalScale }, averaged, {
  original: from[0]!,
  dtype: "F16",
});
