/**
 * Relevance labels as examples: the text to generate is a relevant passage after its label. Labels
 * then train the same loss as answers.
 *
 * Source: ReAtt (Jiang et al. 2022), section 3.3.
 */

import type { Qrels } from "../../../evaluation/ranking.ts";
import { InputError } from "../../../io/errors.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Example } from "../example.ts";
import type { SourceTraits } from "./source.ts";

export const labelSource: SourceTraits<"labels"> = {
  name: "labels",
  relevant: "those with a label above 0",
  draws: 1,
};

/** The text to generate for a relevant passage. */
export const relevanceTarget = (label: number, passage: Passage): string =>
  `relevance: ${label}. ${passage.text}`;

/**
 * The queries that have a relevant passage, in the order of the qrels.
 *
 * @param queries question by query id; queries without a label are left out
 * @param qrels a label of 0 or less means not relevant
 * @param passages the passage ids of the corpus
 * @throws {InputError} if a label names an unknown query or passage, or if no passage is relevant.
 */
export function labelledExamples(
  queries: ReadonlyMap<string, string>,
  qrels: Qrels,
  passages: { has(passageId: string): boolean },
): Example[] {
  checkKnown("query", qrels.keys(), queries);
  const labelledPassages = new Set([...qrels.values()].flatMap((labels) => [...labels.keys()]));
  checkKnown("passage", labelledPassages, passages);
  const examples = [...qrels].flatMap(([id, labels]): Example[] => {
    const positive = [...labels].filter(([, label]) => label > 0);
    if (positive.length === 0) return [];
    return [
      {
        id,
        question: queries.get(id)!,
        answers: [],
        relevant: positive.map(([passageId]) => passageId),
        labels: positive.map(([, label]) => label),
      },
    ];
  });
  if (examples.length > 0) return examples;
  throw new InputError({
    where: "relevance labels",
    expected: "a passage with a label above 0",
    got: `none for ${qrels.size} queries`,
    remedy: "give the labels of the train split of this corpus",
  });
}

function checkKnown(
  kind: "query" | "passage",
  ids: Iterable<string>,
  known: { has(id: string): boolean },
): void {
  const all = [...ids];
  const unknown = all.filter((id) => !known.has(id));
  if (unknown.length === 0) return;
  throw new InputError({
    where: "relevance labels",
    expected: `${kind} ids of this set`,
    got: `${unknown.length} of ${all.length} unknown, the first ${JSON.stringify(unknown[0])}`,
    remedy: "labels, queries and corpus must be of one set and version",
  });
}
