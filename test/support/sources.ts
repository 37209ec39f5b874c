/** Small corpora as streams, and their examples. */

import type { Passage } from "../../src/text/passage.ts";
import type { LabelFreeExample, Passages } from "../../src/training/examples/sources/example.ts";

/** Passages in memory. */
export const passagesOf = (all: readonly Passage[]): Passages => ({
  size: all.length,
  async *passages(accept = () => true) {
    for (const passage of all) if (accept(passage.id)) yield passage;
  },
});

/** Passages p0, p1 … with these texts and no title. */
export const textsOf = (...texts: readonly string[]): Passages =>
  passagesOf(texts.map((text, i) => ({ id: `p${i}`, title: "", text })));

export async function listOf(
  examples: AsyncIterable<LabelFreeExample>,
): Promise<LabelFreeExample[]> {
  const list: LabelFreeExample[] = [];
  for await (const example of examples) list.push(example);
  return list;
}

export const ALL = { wanted: 1_000, seed: 0 };
