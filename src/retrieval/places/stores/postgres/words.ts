/** Terms as PostgreSQL searches them. */

import type { QueryTerm } from "../store.ts";
import type { Bind } from "./where.ts";

/** Passages that the rarest terms of a question must have before the others are left out. */
const ENOUGH_PASSAGES = 5_000;

export const quoted = (term: string): string => `'${term.replace(/[\\']/g, "$&$&")}'`;

/** Limits of tsvector. Source: https://www.postgresql.org/docs/18/textsearch-limitations.html */
const MAX_TERM_BYTES = 2_046;
const MAX_POSITION = 16_383;
const MAX_POSITIONS = 255; // of a term
const MAX_BYTES = 2 ** 20 - 1; // of all terms with their positions

/** Longer terms are left out, as a store may do: they only choose candidates. */
export const isStorable = (term: string): boolean =>
  term !== "" && Buffer.byteLength(term) <= MAX_TERM_BYTES;

/** The value of a tsvector with the places of terms: the first ones that it has room for. */
export function termsText(terms: readonly string[]): string {
  const positions = new Map<string, number[]>();
  for (const [i, term] of terms.entries()) {
    const known = positions.get(term) ?? [];
    positions.set(term, known);
    if (known.length < MAX_POSITIONS) known.push(Math.min(i + 1, MAX_POSITION));
  }
  const written: string[] = [];
  let bytes = 0;
  for (const [term, places] of positions) {
    if (!isStorable(term)) continue;
    // after a term, a byte of padding at most and the number of its positions
    bytes += Buffer.byteLength(term) + 3 + 2 * places.length;
    if (bytes > MAX_BYTES) break;
    written.push(`${quoted(term)}:${places.join(",")}`);
  }
  return written.join(" ");
}

/**
 * About BM25: `ts_rank` of one term grows with its frequency about as `tf / (tf + 0.9)` does, and
 * the divisor is the length norm of a term that occurs once, for a mean length of 100 terms. The
 * passages are those with the rarest terms of the question: a passage with common terms alone is
 * not among the best.
 *
 * @returns the condition on passages, and what they are ordered by
 */
export function wordsSql(
  terms: ReadonlyMap<string, QueryTerm>,
  bind: Bind,
): { readonly condition: string; readonly order: string } {
  const rarest = [...terms]
    .filter(([term]) => isStorable(term))
    .sort(([, a], [, b]) => a.frequency - b.frequency);
  const needed: string[] = [];
  for (let passages = 0; needed.length < rarest.length && passages < ENOUGH_PASSAGES; ) {
    const [term, { frequency }] = rarest[needed.length]!;
    passages += frequency;
    needed.push(term);
  }
  const condition = `terms @@ ${bind(needed.map(quoted).join(" | "))}::tsquery`;
  const rank = rarest
    .map(([term, { weight }]) => `${weight} * ts_rank(terms, ${bind(quoted(term))}::tsquery)`)
    .join(" + ");
  return { condition, order: `(${rank}) / (1 + 0.9 * (0.6 + 0.004 * term_count)) DESC, id` };
}
