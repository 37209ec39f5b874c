/**
 * A collection in Weaviate (address.ts, schema.ts). The API key comes from
 * WEAVIATE_API_KEY. Writes are acknowledged by most replicas of a shard, and searches read one.
 *
 * Sources: https://docs.weaviate.io/weaviate/client-libraries/typescript,
 * https://docs.weaviate.io/weaviate/concepts/replication-architecture/consistency
 */

import { randomUUID } from "node:crypto";
import type { Passage } from "../../../../text/passage.ts";
import type { Where } from "../../../where/where.ts";
import { batches } from "../batches.ts";
import { PROPERTIES } from "../properties.ts";
import type {
  CandidateRequest,
  NewPassage,
  PassageRow,
  QueryTerm,
  Store,
  StoredPassage,
  StoreStatistics,
} from "../store.ts";
import { parseWeaviateAddress, type WeaviateAddress } from "./address.ts";
import { openCluster, type WeaviateCluster } from "./cluster.ts";
import { DescribedCollection } from "./collection.ts";
import { idOf, propertiesOf } from "./objects.ts";
import { PassageReads } from "./passage-reads.ts";
import { createOnce, Records, throwFirst } from "./records.ts";
import { objectOf, passagesClass, recordsClass, SUMS, VECTOR } from "./schema.ts";

/** Of the record that every change replaces. */
const VERSION = "version";

/** @throws {InputError} if the package weaviate-client is not installed */
export async function openWeaviate(given: string): Promise<Store> {
  const parsed = parseWeaviateAddress(given);
  return new WeaviateStore(parsed, await openCluster(parsed));
}

class WeaviateStore implements Store {
  readonly address: string;
  readonly #parsed: WeaviateAddress;
  readonly #cluster: WeaviateCluster;
  readonly #name: string;
  readonly #passages: DescribedCollection;
  readonly #reads: PassageReads;
  readonly #records: Records;

  constructor(parsed: WeaviateAddress, cluster: WeaviateCluster) {
    const { address, collection } = parsed;
    this.address = address;
    this.#parsed = parsed;
    this.#cluster = cluster;
    this.#name = collection[0]!.toUpperCase() + collection.slice(1);
    this.#passages = new DescribedCollection(cluster, this.#name, address);
    this.#reads = new PassageReads(cluster, this.#passages);
    this.#records = new Records(cluster, `${this.#name}Records`);
  }

  async create(dimension: number, properties: string): Promise<string> {
    await this.#records.create(recordsClass(`${this.#name}Records`, this.#parsed));
    const id = randomUUID();
    await this.#records.write(id, PROPERTIES, properties);
    const { shards = this.#parsed.hosts.length } = this.#parsed;
    const described = { reatt: id, dimension };
    const passages = passagesClass(this.#name, described, { ...this.#parsed, shards });
    await this.#cluster.ask((client) => createOnce(client, passages));
    const { reatt: first } = await this.#passages.look();
    if (first !== id) await this.#records.delete(id);
    return (await this.#records.read(first))!;
  }

  async drop(): Promise<void> {
    await this.#passages.find(); // it must be of reatt
    await this.#records.checkOwn();
    await this.#cluster.ask(async ({ collections }) => {
      await collections.delete(this.#name);
      await collections.delete(`${this.#name}Records`);
    });
  }

  async record(name: string): Promise<string | undefined> {
    const found = await this.#passages.find();
    return found && (await this.#records.read(name === PROPERTIES ? found.reatt : name));
  }

  async writeRecord(name: string, contents: string): Promise<void> {
    const { reatt } = await this.#passages.look();
    await this.#records.write(name === PROPERTIES ? reatt : name, name, contents);
  }

  async recordNames(prefix: string): Promise<string[]> {
    return (await this.#passages.find()) ? this.#records.names(prefix) : [];
  }

  async put(given: readonly NewPassage[]): Promise<void> {
    for (const { vector } of given) await this.#passages.checkWidth(vector);
    for (const batch of batches(given)) await this.#putBatch(batch);
    await this.#writeLogs();
    await this.#recordChange();
  }

  async delete(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0;
    const { successful } = await this.#passages.use("QUORUM", ({ data }) =>
      data.deleteMany(this.#cluster.byIds(ids)),
    );
    await this.#recordChange();
    return successful;
  }

  async digests(ids: readonly string[]): Promise<Map<string, string>> {
    const found = await this.#reads.fetchIds(ids, ["passage", "digest"], ids.length);
    return new Map(found.map((object) => [idOf(object), propertiesOf(object).digest]));
  }

  get(ids: readonly string[]): Promise<StoredPassage[]> {
    return this.#reads.get(ids);
  }

  async nearest(vector: Float32Array, request: CandidateRequest): Promise<StoredPassage[]> {
    await this.#passages.checkWidth(vector);
    return this.#reads.candidates(request, ({ query }, options) =>
      query.nearVector(Array.from(vector), { targetVector: VECTOR, ...options }),
    );
  }

  async withWords(
    terms: ReadonlyMap<string, QueryTerm>,
    request: CandidateRequest,
  ): Promise<StoredPassage[]> {
    if (terms.size === 0) return [];
    return this.#reads.candidates(request, ({ query }, options) =>
      query.bm25([...terms.keys()].join(" "), { queryProperties: ["terms"], ...options }),
    );
  }

  frequencies(terms: readonly string[]): Promise<number[]> {
    const property = this.#cluster.filter.byProperty("terms");
    return Promise.all(terms.map((term) => this.#reads.count(property.equal(term))));
  }

  async statistics(): Promise<StoreStatistics> {
    const { sums, total } = await this.#reads.sums(SUMS);
    return {
      passages: total,
      tokens: sums.tokens,
      terms: sums.termCount,
      cutPassages: sums.cut,
      cutTokens: sums.cutTokens,
      version: (await this.#records.read(VERSION)) ?? "",
    };
  }

  async bytes(): Promise<number> {
    return (await this.#reads.sums(["bytes"])).sums.bytes;
  }

  matching(where: Where): AsyncGenerator<Passage> {
    return this.#reads.matching(where);
  }

  rows(): AsyncGenerator<PassageRow> {
    return this.#reads.rows();
  }

  snapshot<Result>(work: () => Promise<Result>): Promise<Result> {
    return work();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cluster[Symbol.asyncDispose]();
  }

  async #putBatch(rows: readonly NewPassage[]): Promise<void> {
    const objects = rows.map(objectOf);
    await this.#passages.addProperties(objects.flatMap((object) => Object.keys(object)));
    const given = rows.map(({ passage, vector }, i) => ({
      id: this.#cluster.uuidOf(passage.id),
      vectors: { [VECTOR]: Array.from(vector) },
      properties: objects[i] as never, // of this collection, whose type the client does not know
    }));
    await this.#passages.use("QUORUM", async ({ data }) =>
      throwFirst((await data.insertMany(given)).errors),
    );
  }

  /**
   * Weaviate 1.39.3 acknowledges a batch before the log of the vector index leaves the process, so
   * a node that is killed then never finds its last passages. A deletion writes the logs of all
   * shards, also one that deletes nothing.
   */
  async #writeLogs(): Promise<void> {
    await this.#passages.use("QUORUM", ({ data }) =>
      data.deleteMany(this.#cluster.byIds([""]), { dryRun: true }),
    );
  }

  #recordChange(): Promise<void> {
    return this.#records.write(VERSION, VERSION, randomUUID());
  }
}
