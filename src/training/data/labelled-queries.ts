/**
 * Relevance labels as generation: the question is the query, and the target is a relevant passage behind its label,
 * so that labels train the same loss as answers do.
 *
 * Source: ReAtt (Jiang et al. 2022), section 3.3.
 */

import type { Qrels } from "../../evaluation/ranking.ts";
import { InputError } from "../../io/errors.ts";
import { createRandom } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";

/** A query that has at least one relevant passage. */
export interface LabelledQuery {
  readonly id: string;
  readonly question: string;
  readonly relevant: readonly { readonly passageId: string; readonly label: number }[];
}

export interface RetrievalExample {
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
 * The queries that have a relevant passage, in the order of `labels`.
 *
 * @param queries question by query id; those without a label are left out
 * @param labels 0 and less are not relevant, more is more relevant
 * @param passages the corpus: anything that knows its passage ids
 * @throws InputError when a label is for a query or passage that is not there (a label file of another set), or when no
 *   passage is relevant to any query
 */
export function labelledQueries(
  queries: ReadonlyMap<string, string>,
  labels: Qrels,
  passages: { has(passageId: string): boolean },
): LabelledQuery[] {
  refuseUnknown("query", labels.keys(), queries);
  refuseUnknown(
    "passage",
    new Set([...labels.values()].flatMap((judged) => [...judged.keys()])),
    passages,
  );
  const labelled = [...labels].map(([id, judged]): LabelledQuery => {
    const relevant = [...judged].map(([passageId, label]) => ({ passageId, label }));
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
    got: `none for ${labels.size} queries`,
    remedy: "give the labels of the train split of this corpus",
  });
}

function refuseUnknown(
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
 * One of the query's relevant passages, drawn by seed, step and query: a run that is resumed draws the same.
 *
 * @param passage gives the text of a passage id
 */
export function retrievalExample(
  query: LabelledQuery,
  passage: (passageId: string) => Passage,
  draw: { readonly seed: number | string; readonly step: number },
): RetrievalExample {
  const random = createRandom(draw.seed, "relevant passage", draw.step, query.id);
  const drawn = query.relevant[random.integer(query.relevant.length)];
  if (drawn === undefined) throw new RangeError(`query ${query.id} has no relevant passage`);
  const { passageId, label } = drawn;
  return {
    question: query.question,
    answer: relevanceTarget(label, passage(passageId)),
    passageId,
    label,
  };
}
