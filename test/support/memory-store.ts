/** A store in memory, as the interface describes it: for the suite, without a server. */

import { digestOf } from "../../src/retrieval/places/stores/digest.ts";
import { PROPERTIES } from "../../src/retrieval/places/stores/properties.ts";
import type {
  CandidateRequest,
  NewPassage,
  PassageRow,
  Store,
} from "../../src/retrieval/places/stores/store.ts";
import { passes } from "../../src/retrieval/where/where.ts";

export function memoryStore(): Store {
  const rows = new Map<string, NewPassage>();
  const records = new Map<string, string>();
  let changes = 0;
  const sorted = (): NewPassage[] =>
    [...rows.values()].sort((a, b) => (a.passage.id < b.passage.id ? -1 : 1));
  const best = (
    { count, where, ids }: CandidateRequest,
    score: (row: NewPassage) => number,
  ): NewPassage[] =>
    sorted()
      .filter(({ passage }) => where === undefined || passes(where, passage))
      .filter(({ passage }) => ids === undefined || ids.includes(passage.id))
      .map((row) => ({ row, score: score(row) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, count)
      .map(({ row }) => row);
  const sum = (of: (row: PassageRow & NewPassage) => number): number =>
    sorted().reduce((total, row) => total + of(row), 0);
  return {
    address: "memory://store",
    async create(_, properties) {
      records.set(PROPERTIES, records.get(PROPERTIES) ?? properties);
      return records.get(PROPERTIES)!;
    },
    async drop() {
      rows.clear();
      records.clear();
    },
    record: async (name) => records.get(name),
    async writeRecord(name, contents) {
      records.set(name, contents);
    },
    recordNames: async (prefix) =>
      [...records.keys()].filter((name) => name.startsWith(prefix)).sort(),
    async put(passages) {
      changes++;
      for (const row of passages) rows.set(row.passage.id, structuredClone(row));
    },
    async delete(ids) {
      changes++;
      return ids.filter((id) => rows.delete(id)).length;
    },
    digests: async (ids) =>
      new Map(ids.filter((id) => rows.has(id)).map((id) => [id, digestOf(rows.get(id)!.passage)])),
    get: async (ids) => ids.flatMap((id) => rows.get(id) ?? []),
    nearest: async (vector, request) =>
      best(request, (row) => row.vector.reduce((sum, value, d) => sum + value * vector[d]!, 0)),
    withWords: async (given, request) =>
      best(request, ({ terms }) => {
        const own = new Set(terms);
        return [...given].reduce(
          (sum, [term, { weight }]) => sum + (own.has(term) ? weight : 0),
          0,
        );
      }).filter(({ terms }) => terms.some((term) => given.has(term))),
    frequencies: async (terms) =>
      terms.map((term) => sorted().filter((row) => row.terms.includes(term)).length),
    statistics: async () => ({
      passages: rows.size,
      tokens: sum(({ tokens }) => tokens),
      terms: sum(({ terms }) => terms.length),
      cutPassages: sum(({ cutTokens }) => Number(cutTokens > 0)),
      cutTokens: sum(({ cutTokens }) => cutTokens),
      version: `${changes}`,
    }),
    bytes: async () => sum(({ codes }) => codes.length),
    async *matching(where) {
      for (const { passage } of sorted()) if (passes(where, passage)) yield passage;
    },
    async *rows() {
      yield* sorted();
    },
    snapshot: (work) => work(),
    async [Symbol.asyncDispose]() {},
  };
}
