/** Reads of the passages of a collection in Weaviate. */

import type { FilterValue } from "weaviate-client";
import type { Passage } from "../../../../text/passage.ts";
import type { Where } from "../../../where/where.ts";
import type { CandidateRequest, PassageRow, StoredPassage } from "../store.ts";
import type { Consistency, Objects, WeaviateCluster } from "./cluster.ts";
import type { DescribedCollection } from "./collection.ts";
import {
  CODES,
  FIELDS,
  type Found,
  idOf,
  passageOf,
  passageRow,
  ROW,
  storedPassage,
} from "./objects.ts";
import { PLACES, type SUMS } from "./schema.ts";
import { all, type Filter, whereFilter } from "./where.ts";

/** Passages with codes in one reply, which is 105 MB at most: 200 float32 keys each fit. */
const REPLY_PASSAGES = 200;
/** The server returns no more of a search (QUERY_MAXIMUM_RESULTS). */
const MAX_RESULTS = 10_000;
/** Passages of a page of a scan with a condition, on average and at most. */
const PAGE = 500;
const MAX_PAGE = 1_000;

export class PassageReads {
  readonly #cluster: WeaviateCluster;
  readonly #passages: DescribedCollection;

  constructor(cluster: WeaviateCluster, passages: DescribedCollection) {
    this.#cluster = cluster;
    this.#passages = passages;
  }

  async get(ids: readonly string[]): Promise<StoredPassage[]> {
    return (await this.fetchIds(ids, CODES, REPLY_PASSAGES)).map(storedPassage);
  }

  /** The objects with these ids. */
  async fetchIds(
    ids: readonly string[],
    returnProperties: readonly string[],
    size: number,
  ): Promise<Found[]> {
    const pages = Array.from({ length: Math.ceil(ids.length / size) }, (_, i) =>
      ids.slice(i * size, (i + 1) * size),
    );
    const found = pages.map((page) =>
      this.#fetch(
        {
          filters: this.#cluster.byIds(page),
          limit: page.length,
          returnProperties: [...returnProperties],
        },
        "QUORUM",
      ),
    );
    return (await Promise.all(found)).flat();
  }

  /** Many candidates are read in several replies. */
  async candidates(
    request: CandidateRequest,
    search: (
      passages: Objects,
      options: { limit: number; filters?: FilterValue; returnProperties: string[] },
    ) => Promise<{ objects: Found[] }>,
  ): Promise<StoredPassage[]> {
    const selected = await this.#selection(request);
    if (selected === false || request.count === 0) return [];
    const isOneReply = request.count <= REPLY_PASSAGES;
    const { objects } = await this.#passages.use("ONE", (passages) =>
      search(passages, {
        limit: Math.min(request.count, MAX_RESULTS),
        ...(selected !== true && { filters: selected }),
        returnProperties: isOneReply ? [...CODES] : ["passage"],
      }),
    );
    return isOneReply ? objects.map(storedPassage) : this.get(objects.map(idOf));
  }

  count(filters?: FilterValue): Promise<number> {
    return this.#passages.use("ONE", async ({ aggregate }) => {
      return (await aggregate.overAll(filters && { filters })).totalCount;
    });
  }

  /** Sums of properties over all passages. */
  async sums<Name extends (typeof SUMS)[number]>(
    names: readonly Name[],
  ): Promise<{ readonly sums: Record<Name, number>; readonly total: number }> {
    const { properties, totalCount } = await this.#passages.use("ONE", ({ aggregate, metrics }) =>
      aggregate.overAll({
        returnMetrics: names.map((name) => metrics.aggregate(name).integer(["sum"])),
      }),
    );
    const found = properties as Record<string, { sum?: number }>;
    const sums = Object.fromEntries(names.map((name) => [name, found[name]?.sum ?? 0]));
    return { sums: sums as Record<Name, number>, total: totalCount };
  }

  async *matching(where: Where): AsyncGenerator<Passage> {
    const condition = await this.#selection({ where });
    if (condition === false) return;
    const total = await this.count(condition === true ? undefined : condition);
    const pages = Math.ceil(total / PAGE);
    const at = (page: number): number => Math.floor((page / pages) * PLACES);
    for (let page = 0; page < pages; page++)
      for await (const object of this.#matchingIn(condition, at(page), at(page + 1)))
        yield passageOf(object);
  }

  async *rows(): AsyncGenerator<PassageRow> {
    for (let after: string | undefined; ; ) {
      const objects = await this.#fetch({
        limit: REPLY_PASSAGES,
        ...(after !== undefined && { after }),
        returnProperties: [...ROW],
      });
      yield* objects.map(passageRow);
      after = objects.at(-1)?.uuid;
      if (after === undefined) return;
    }
  }

  async #selection({ where, ids }: Omit<CandidateRequest, "count">): Promise<Filter> {
    const { weaviate } = this.#cluster;
    const byId = ids ? [ids.length > 0 && this.#cluster.byIds(ids)] : [];
    if (!where) return all(weaviate, byId);
    const { properties: known } = await this.#passages.look();
    return all(weaviate, [...byId, whereFilter({ weaviate, known }, where)]);
  }

  async #fetch(
    options: Parameters<Objects["query"]["fetchObjects"]>[0],
    level: Consistency = "ONE",
  ): Promise<Found[]> {
    const fetch = ({ query }: Objects) => query.fetchObjects(options);
    return (await this.#passages.use(level, fetch)).objects;
  }

  async *#matchingIn(condition: Filter, from: number, to: number): AsyncGenerator<Found> {
    const place = this.#cluster.filter.byProperty("place");
    const inRange = [place.greaterOrEqual(from), place.lessThan(to)];
    const objects = await this.#fetch({
      filters: all(this.#cluster.weaviate, [condition, ...inRange]) as FilterValue,
      limit: MAX_PAGE,
      returnProperties: [...FIELDS],
    });
    if (objects.length < MAX_PAGE) return yield* objects;
    const middle = Math.floor((from + to) / 2);
    yield* this.#matchingIn(condition, from, middle);
    yield* this.#matchingIn(condition, middle, to);
  }
}
