/**
 * Approximate search in a LanceDB table of token keys (lance.ts). Passages are rescored exactly
 * (token-search.ts).
 */

import type { Table, VectorQuery } from "@lancedb/lancedb";
import { InputError } from "../../io/errors.ts";
import type { LANCE_OPTIONS } from "../../options/library-options.ts";
import type { Given } from "../../options/option.ts";
import type { SegmentRecord } from "../index/format/manifest.ts";
import type { KeyStore } from "../index/format/store.ts";
import type { SearchEngine } from "../search/engine.ts";
import type { TokenHits } from "../search/token-hits.ts";
import { openTokenSearch } from "../search/token-search.ts";
import { connect, loadLance, segmentNumber, stateTag, TABLE } from "./lance.ts";

export interface LanceTable extends Given<typeof LANCE_OPTIONS> {}

const DEFAULT_NPROBE = 16;

/**
 * @throws {InputError} if LanceDB is not installed, or if the table lacks the keys of these
 * segments
 */
export async function openLanceSearch(
  store: KeyStore,
  segments: readonly SegmentRecord[],
  { uri, nprobe = DEFAULT_NPROBE }: LanceTable,
  threads: number | undefined,
): Promise<SearchEngine> {
  const table = await openTable(uri, stateTag(segments));
  const bases = new Map<number, number>(); // the ordinal of the first passage of each segment
  let base = 0;
  for (const segment of segments) {
    bases.set(segmentNumber(segment), base);
    base += segment.passages;
  }
  const finder = {
    find: (question: Float32Array, count: number) =>
      findTokens(
        nearest(table, question, store.dimension).nprobes(nprobe).limit(count),
        question.length / store.dimension,
        bases,
      ),
    async [Symbol.asyncDispose]() {
      table.close();
    },
  };
  return openTokenSearch(store, finder, threads);
}

async function openTable(uri: string, tag: string): Promise<Table> {
  const lance = loadLance();
  try {
    const table = await (await connect(lance, uri)).openTable(TABLE);
    await table.checkout(tag);
    return table;
  } catch (cause) {
    throw new InputError(
      {
        where: uri,
        expected: "a table with the token keys of this generation of the index",
        got: (cause as Error).message.split(/\n|, \/|\. /)[0]!,
        remedy: "reatt index export --index DIR --lancedb URI makes it",
      },
      { cause },
    );
  }
}

/** A query for the tokens with the greatest products with each row of `question`. */
function nearest(table: Table, question: Float32Array, dimension: number): VectorQuery {
  let query = table.query().nearestTo(question.subarray(0, dimension));
  for (let start = dimension; start < question.length; start += dimension)
    query = query.addQueryVector(question.subarray(start, start + dimension));
  return query.column("key").distanceType("dot");
}

async function findTokens(
  query: VectorQuery,
  questionTokens: number,
  bases: ReadonlyMap<number, number>,
): Promise<TokenHits[]> {
  const found = await query.toArrow();
  const column = (name: string) => found.getChild(name)?.toArray() as ArrayLike<number> | undefined;
  const [tokens, segments, passages] = [
    column("query_index"),
    column("segment")!,
    column("passage")!,
  ];
  const distances = column("_distance")!; // 1 - product
  const hits = Array.from({ length: questionTokens }, () => ({
    ordinals: [] as number[],
    scores: [] as number[],
  }));
  for (let row = 0; row < found.numRows; row++) {
    const { ordinals, scores } = hits[tokens?.[row] ?? 0]!;
    ordinals.push(bases.get(segments[row]!)! + passages[row]!);
    scores.push(1 - distances[row]!);
  }
  return hits.map(({ ordinals, scores }) => ({
    ordinals: Uint32Array.from(ordinals),
    scores: Float32Array.from(scores),
  }));
}
