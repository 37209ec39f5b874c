/**
 * Writes the mean of the weights of two models, the second of which was trained from the first. It
 * keeps much of what the second learned, and regains much of what it forgot (Wortsman et al.,
 * Robust fine-tuning of zero-shot models, 2022).
 *
 *     npx tsx recipes/reatt-mini/average.ts MODEL MODEL OUT
 */

import { readConfig } from "../../src/model/config.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { writeModel } from "../../src/training/run/save-model.ts";

const [before, after, out] = process.argv.slice(2);
if (!before || !after || !out)
  throw new Error("Usage: npx tsx recipes/reatt-mini/average.ts MODEL MODEL OUT");
const [one, other] = [await readConfig(before), await readConfig(after)];
const [weights, others] = [await loadWeights(before, one), await loadWeights(after, other)];
const mean = (name: string): Float32Array => {
  const second = others.get(name)!;
  return weights.get(name)!.map((weight, i) => (weight + second[i]!) / 2);
};
const retrievalScale = Math.sqrt(one.retrievalScale * other.retrievalScale);
await writeModel(out, { ...one, retrievalScale }, mean, { original: before, dtype: "F32" });
