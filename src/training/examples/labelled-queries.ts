/**
 * Relevance labels as a generation task: given the query, the target is a relevant passage after
 * its label. Labels then train the same loss as answers.
 *
 * Source: ReAtt (Jiang et al. 2022), section 3.3.
 */

import type { Qrels } from "../../evaluation/ranking.ts";
import { InputError } from "../../io/errors.ts";
import { createRandom } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";

/** A query with at least one relevant passage. */
export interface LabelledQuery {
  readonly id: string;
  readonly question: string;
  readonly relevant: readonly { readonly passageId: string; readonly label: number }[];
}

export interface LabelledExample {
  readonly question: string;
  /** `relevance: {label}. {passage text}` */
  readonly answer: string;
  readonly passageId: string;
  readonly label: number;
}

/** The target for one relevant passage. */
export function relevanceTarget(label: number, passage: Passage): string {
  return `relevance: ${label}. ${passage.text}`;
}

/**
 * The queries that have a relevant passage, in the order of the qrels.
 *
 * @param queries question by query id; queries without a label are left out
 * @param qrels a label of 0 or less means not relevant
 * @param passages the passage ids of the corpus
 * @throws {InputError} if a label names an unknown query or passage, or if no passage is relevant.
 */
export function labelledQueries(
  queries: ReadonlyMap<string, string>,
  qrels: Qrels,
  passages: { has(passageId: string): boolean },
): LabelledQuery[] {
  checkKnown("query", qrels.keys(), queries);
  const labelledPassages = new Set([...qrels.values()].flatMap((labels) => [...labels.keys()]));
  checkKnown("passage", labelledPassages, passages);
  const labelled = [...qrels].map(([id, labels]): LabelledQuery => {
    const relevant = [...labels].map(([passageId, label]) => ({ passageId, label }));
    return {
      id,
      question: queries.get(id) as string,
      relevant: relevant.filter(({ label }) => label > 0),
    };
  });
  const usable = labelled.filter((query) => query.relevant.length > 0);
  if (usable.length > 0) return usable;
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

/**
 * An example with one of the query's relevant passages. Seed, step and query determine the draw, so
 * a resumed run draws the same passage.
 *
 * @param passage returns the passage with an id
 */
export function labelledExample(
  query: LabelledQuery,
  passage: (passageId: string) => Passage,
  draw: { readonly seed: number | string; readonly step: number },
): LabelledExample {
  const random = createRandom(draw.seed, "relevant passage", draw.step, query.id);
  const { passageId, label } = query.relevant[random.integer(query.relevant.length)]!;
  return {
    question: query.question,
    answer: relevanceTarget(label, passage(passageId)),
    passageId,
    label,
  };
}
