/**
 * A collection in Weaviate (weaviate-address.ts, weaviate-schema.ts). The API key comes from
 * WEAVIATE_API_KEY. Writes are acknowledged by most replicas of a shard, and searches read one.
 *
 * Sources: https://docs.weaviate.io/weaviate/client-libraries/typescript,
 * https://docs.weaviate.io/weaviate/concepts/replication-architecture/consistency
 */

import { randomUUID } from "node:crypto";
import type { FilterValue, WeaviateObject } from "weaviate-client";
import type { Passage } from "../../../../text/passage.ts";
import type { Where } from "../../../where/where.ts";
import { batches } from "../batches.ts";
import { PROPERTIES } from "../properties.ts";
import type {
  CandidateRequest,
  NewPassage,
  PassageRow,
  Store,
  StoredPassage,
  StoreStatistics,
} from "../store.ts";
import { parseWeaviateAddress } from "./address.ts";
import { type Objects, openCluster } from "./cluster.ts";
import { describedCollection } from "./collection.ts";
import { createOnce, recordsIn, throwFirst } from "./records.ts";
import {
  objectOf,
  PLACES,
  passagesClass,
  recordsClass,
  type StoredObject,
  SUMS,
  VECTOR,
} from "./schema.ts";
import { all, type Filter, whereFilter } from "./where.ts";

/** Passages with codes in one reply, which is 105 MB at most: 200 float32 keys each fit. */
const REPLY_PASSAGES = 200;
/** The server returns no more of a search (QUERY_MAXIMUM_RESULTS). */
const MAX_RESULTS = 10_000;
/** Passages of a page of a scan with a condition, on average and at most. */
const PAGE = 500;
const MAX_PAGE = 1_000;
/** Of the record that every change replaces. */
const VERSION = "version";

const FIELDS = ["passage", "title", "text", "document", "metadata"] as const;
const CODES = [...FIELDS, "codes"] as const;
const ROW = [...CODES, "digest", "checksum", "tokens", "cutTokens"] as const;

type Found = WeaviateObject<undefined, undefined>;

/** @throws {InputError} if the package weaviate-client is not installed */
export async function openWeaviate(given: string): Promise<Store> {
  const parsed = parseWeaviateAddress(given);
  const { address, collection } = parsed;
  const cluster = await openCluster(parsed);
  const { ask, weaviate } = cluster;
  const name = collection[0]!.toUpperCase() + collection.slice(1);
  const records = recordsIn(cluster, `${name}Records`);
  const described = describedCollection(cluster, name, address);
  const { withPassages, checkWidth } = described;
  const filter = weaviate.default.filter;
  /** The objects with these ids. */
  const fetchIds = async (
    ids: readonly string[],
    returnProperties: readonly string[],
    size: number,
  ): Promise<Found[]> => {
    const pages = Array.from({ length: Math.ceil(ids.length / size) }, (_, i) =>
      ids.slice(i * size, (i + 1) * size),
    );
    const found = pages.map((page) =>
      withPassages("QUORUM", (passages) =>
        passages.query.fetchObjects({
          filters: filter.byId().containsAny(page.map(uuidOf)),
          limit: page.length,
          returnProperties: [...returnProperties],
        }),
      ),
    );
    return (await Promise.all(found)).flatMap(({ objects }) => objects);
  };
  const get = async (ids: readonly string[]): Promise<StoredPassage[]> =>
    (await fetchIds(ids, CODES, REPLY_PASSAGES)).map(storedPassage);
  const uuidOf = (id: string): string => weaviate.generateUuid5(id);
  const selection = async ({ where, ids }: Omit<CandidateRequest, "count">): Promise<Filter> => {
    const byId = ids ? [ids.length > 0 && filter.byId().containsAny(ids.map(uuidOf))] : [];
    if (!where) return all(weaviate, byId);
    const { properties: known } = await described.look();
    return all(weaviate, [...byId, whereFilter({ weaviate, known }, where)]);
  };
  /** Many candidates are read in several replies. */
  const candidates = async (
    request: CandidateRequest,
    search: (
      passages: Objects,
      options: { limit: number; filters?: FilterValue; returnProperties: string[] },
    ) => Promise<{ objects: Found[] }>,
  ): Promise<StoredPassage[]> => {
    const selected = await selection(request);
    if (selected === false || request.count === 0) return [];
    const isOneReply = request.count <= REPLY_PASSAGES;
    const { objects } = await withPassages("ONE", (passages) =>
      search(passages, {
        limit: Math.min(request.count, MAX_RESULTS),
        ...(selected !== true && { filters: selected }),
        returnProperties: isOneReply ? [...CODES] : ["passage"],
      }),
    );
    return isOneReply ? objects.map(storedPassage) : get(objects.map(idOf));
  };
  const count = (filters?: FilterValue): Promise<number> =>
    withPassages("ONE", async ({ aggregate }) => {
      return (await aggregate.overAll(filters && { filters })).totalCount;
    });
  const putBatch = async (rows: readonly NewPassage[]): Promise<void> => {
    const objects = rows.map(objectOf);
    await described.addProperties(objects.flatMap((object) => Object.keys(object)));
    const given = rows.map(({ passage, vector }, i) => ({
      id: uuidOf(passage.id),
      vectors: { [VECTOR]: Array.from(vector) },
      properties: objects[i] as never, // of this collection, whose type the client does not know
    }));
    await withPassages("QUORUM", async ({ data }) =>
      throwFirst((await data.insertMany(given)).errors),
    );
  };
  /**
   * Weaviate 1.39.3 acknowledges a batch before the log of the vector index leaves the process, so
   * a node that is killed then never finds its last passages. A deletion writes the logs of all
   * shards, also one that deletes nothing.
   */
  const writeLogs = async (): Promise<void> => {
    await withPassages("QUORUM", ({ data }) =>
      data.deleteMany(filter.byId().containsAny([uuidOf("")]), { dryRun: true }),
    );
  };
  const changed = (): Promise<void> => records.write(VERSION, VERSION, randomUUID());
  const matchingIn = async function* (
    condition: Filter,
    from: number,
    to: number,
  ): AsyncGenerator<Found> {
    const place = filter.byProperty("place");
    const range = all(weaviate, [condition, place.greaterOrEqual(from), place.lessThan(to)]);
    const { objects } = await withPassages("ONE", (passages) =>
      passages.query.fetchObjects({
        filters: range as FilterValue,
        limit: MAX_PAGE,
        returnProperties: [...FIELDS],
      }),
    );
    if (objects.length < MAX_PAGE) return yield* objects;
    const middle = Math.floor((from + to) / 2);
    yield* matchingIn(condition, from, middle);
    yield* matchingIn(condition, middle, to);
  };
  return {
    address,
    async create(dimension, properties) {
      await records.create(recordsClass(`${name}Records`, parsed));
      const id = randomUUID();
      await records.write(id, PROPERTIES, properties);
      const { shards = parsed.hosts.length } = parsed;
      const passages = passagesClass(name, { reatt: id, dimension }, { ...parsed, shards });
      await ask((client) => createOnce(client, passages));
      const { reatt: first } = await described.look();
      if (first !== id) await records.delete(id);
      return (await records.read(first))!;
    },
    async drop() {
      await ask(async ({ collections }) => {
        await collections.delete(name);
        await collections.delete(`${name}Records`);
      });
    },
    async record(name) {
      const found = await described.find();
      return found && (await records.read(name === PROPERTIES ? found.reatt : name));
    },
    async writeRecord(name, contents) {
      const { reatt } = await described.look();
      await records.write(name === PROPERTIES ? reatt : name, name, contents);
    },
    recordNames: async (prefix) => ((await described.find()) ? records.names(prefix) : []),
    async put(given) {
      for (const { vector } of given) await checkWidth(vector);
      for (const batch of batches(given)) await putBatch(batch);
      await writeLogs();
      await changed();
    },
    async delete(ids) {
      if (ids.length === 0) return 0;
      const { successful } = await withPassages("QUORUM", (passages) =>
        passages.data.deleteMany(filter.byId().containsAny(ids.map(uuidOf))),
      );
      await changed();
      return successful;
    },
    async digests(ids) {
      const found = await fetchIds(ids, ["passage", "digest"], ids.length);
      return new Map(found.map((object) => [idOf(object), propertiesOf(object).digest]));
    },
    get,
    async nearest(vector, request) {
      await checkWidth(vector);
      return candidates(request, ({ query }, options) =>
        query.nearVector(Array.from(vector), { targetVector: VECTOR, ...options }),
      );
    },
    withWords: async (terms, request) =>
      terms.size === 0
        ? []
        : candidates(request, ({ query }, options) =>
            query.bm25([...terms.keys()].join(" "), { queryProperties: ["terms"], ...options }),
          ),
    frequencies: (terms) =>
      Promise.all(terms.map((term) => count(filter.byProperty("terms").equal(term)))),
    async statistics(): Promise<StoreStatistics> {
      const { properties, totalCount } = await withPassages("ONE", ({ aggregate, metrics }) =>
        aggregate.overAll({
          returnMetrics: SUMS.map((sum) => metrics.aggregate(sum).integer(["sum"])),
        }),
      );
      const sums = properties as Record<string, { sum?: number }>;
      const sum = (of: (typeof SUMS)[number]): number => sums[of]?.sum ?? 0;
      return {
        passages: totalCount,
        tokens: sum("tokens"),
        terms: sum("termCount"),
        cutPassages: sum("cut"),
        cutTokens: sum("cutTokens"),
        version: (await records.read(VERSION)) ?? "",
      };
    },
    async bytes() {
      const { properties } = await withPassages("ONE", ({ aggregate, metrics }) =>
        aggregate.overAll({ returnMetrics: [metrics.aggregate("bytes").integer(["sum"])] }),
      );
      return (properties as { bytes?: { sum?: number } }).bytes?.sum ?? 0;
    },
    async *matching(where: Where) {
      const condition = await selection({ where });
      if (condition === false) return;
      const total = await count(condition === true ? undefined : condition);
      const pages = Math.ceil(total / PAGE);
      const at = (page: number): number => Math.floor((page / pages) * PLACES);
      for (let page = 0; page < pages; page++)
        for await (const object of matchingIn(condition, at(page), at(page + 1)))
          yield passageOf(object);
    },
    async *rows() {
      for (let after: string | undefined; ; ) {
        const { objects } = await withPassages("ONE", (passages) =>
          passages.query.fetchObjects({
            limit: REPLY_PASSAGES,
            ...(after !== undefined && { after }),
            returnProperties: [...ROW],
          }),
        );
        yield* objects.map(passageRow);
        after = objects.at(-1)?.uuid;
        if (after === undefined) return;
      }
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

const propertiesOf = (found: Found): StoredObject => found.properties as unknown as StoredObject;

const idOf = (found: Found): string => propertiesOf(found).passage;

function passageOf(found: Found): Passage {
  const { passage: id, title, text, document, metadata } = propertiesOf(found);
  const fields = JSON.parse(metadata) as NonNullable<Passage["metadata"]>;
  return {
    id,
    title,
    text,
    ...(document !== undefined && { document }),
    ...(Object.keys(fields).length > 0 && { metadata: fields }),
  };
}

const storedPassage = (found: Found): StoredPassage => ({
  passage: passageOf(found),
  codes: Buffer.from(propertiesOf(found).codes ?? "", "base64"),
});

function passageRow(found: Found): PassageRow {
  const { digest, checksum, tokens, cutTokens } = propertiesOf(found);
  return { ...storedPassage(found), digest, checksum, tokens, cutTokens };
}
