/** Small corpora as streams, and their examples. */

import type { Passage } from "../../src/text/passage.ts";
import type { Example, Passages } from "../../src/training/examples/example.ts";
import type { CandidateSettings } from "../../src/training/examples/with-candidates.ts";

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

export async function listOf(examples: AsyncIterable<Example>): Promise<Example[]> {
  const list: Example[] = [];
  for await (const example of examples) list.push(example);
  return list;
}

export const ALL = { wanted: 1_000, seed: 0 };

/** Three candidates for each of many questions, read and with known passages, in a folder. */
export const settingsIn = (
  folder: string,
  changes: Partial<CandidateSettings> = {},
): CandidateSettings => ({
  ...{ seed: 0, steps: 100, questions: 16, candidatesPerQuestion: 3, nullPassage: false },
  ...{
    maxPassageTokens: 512,
    learnsReading: true,
    learnsRelevance: true,
    generatesLabels: true,
    folder,
    resume: false,
  },
  ...changes,
});
