/** Training from several sources at once, in given proportions. */

import { createHash } from "node:crypto";
import { createRandom } from "../../math/random.ts";
import type { ExampleSource } from "./example-source.ts";
import type { TrainingTask } from "./task.ts";

export interface MixedPart {
  readonly name: string;
  /** Its share of the examples, in relation to the other parts'. */
  readonly weight: number;
  readonly task: TrainingTask;
}

/** An iteration of `examples` examples, of each part as many as its weight says, in random order. */
export function mixedTask(
  parts: readonly MixedPart[],
  { examples, seed }: { readonly examples: number; readonly seed: number },
): TrainingTask {
  const counts = apportion(parts, examples);
  const identity = parts.map(({ name, weight, task }) => [name, weight, task.digest]);
  return {
    digest: createHash("sha256").update(JSON.stringify(identity)).digest("hex"),
    async *prepare(iteration, search) {
      const sources: ExampleSource[] = [];
      for (const { task } of parts) sources.push(yield* task.prepare(iteration, search));
      const slots = sources.flatMap((source, part) => {
        const order = createRandom(seed, "mixture", iteration, parts[part]!.name).shuffle([
          ...Array(source.size).keys(),
        ]);
        return Array.from(
          { length: counts[part]! },
          (_, i) => [source, order[i % source.size]!] as const,
        );
      });
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

/** Whole numbers in the proportions of the weights, which sum to `total`: largest remainders (Hamilton). */
export function apportion(parts: readonly { readonly weight: number }[], total: number): number[] {
  const sum = parts.reduce((all, { weight }) => all + weight, 0);
  const quotas = parts.map(({ weight }) => (total * weight) / sum);
  const counts = quotas.map(Math.floor);
  const rest = total - counts.reduce((all, count) => all + count, 0);
  const byRemainder = quotas
    .map((quota, part) => ({ part, remainder: quota - counts[part]! }))
    .sort((a, b) => b.remainder - a.remainder || a.part - b.part);
  for (const { part } of byRemainder.slice(0, rest)) counts[part]!++;
  return counts;
}
