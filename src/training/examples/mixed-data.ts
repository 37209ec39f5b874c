/** Training data from several sources, in given proportions. */

import { createHash } from "node:crypto";
import { createRandom } from "../../math/random.ts";
import type { ExampleSource } from "./example-source.ts";
import type { TrainingData } from "./training-data.ts";

export interface WeightedData {
  readonly name: string;
  /** Share of the examples, relative to the other sources. */
  readonly weight: number;
  readonly data: TrainingData;
}

/** An iteration has `examples` examples: of each source in proportion to its weight, at random. */
export function mixedData(
  sources: readonly WeightedData[],
  { examples, seed }: { readonly examples: number; readonly seed: number },
): TrainingData {
  const counts = apportion(sources, examples);
  const identity = sources.map(({ name, weight, data }) => [name, weight, data.digest]);
  return {
    digest: createHash("sha256").update(JSON.stringify(identity)).digest("hex"),
    async *examples(iteration, retriever) {
      const slots: (readonly [ExampleSource, number])[] = [];
      for (const [i, { name, data }] of sources.entries()) {
        const source = yield* data.examples(iteration, retriever);
        const order = createRandom(seed, "mixture", iteration, name).shuffle([
          ...Array(source.size).keys(),
        ]);
        for (let slot = 0; slot < counts[i]!; slot++)
          slots.push([source, order[slot % source.size]!]);
      }
      return {
        size: slots.length,
        example(index, step) {
          const [source, example] = slots[index]!;
          return source.example(example, step);
        },
      };
    },
  };
}

/** Integers in proportion to the weights, with sum `total`: largest remainders (Hamilton). */
export function apportion(items: readonly { readonly weight: number }[], total: number): number[] {
  const sum = items.reduce((all, { weight }) => all + weight, 0);
  const quotas = items.map(({ weight }) => (total * weight) / sum);
  const counts = quotas.map(Math.floor);
  const rest = total - counts.reduce((all, count) => all + count, 0);
  const byRemainder = quotas
    .map((quota, i) => ({ i, remainder: quota - counts[i]! }))
    .sort((a, b) => b.remainder - a.remainder || a.i - b.i);
  for (const { i } of byRemainder.slice(0, rest)) counts[i]!++;
  return counts;
}
