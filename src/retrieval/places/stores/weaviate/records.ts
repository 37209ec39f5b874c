/** Texts by name in a collection of Weaviate. Most replicas have acknowledged what it returns. */

import type { WeaviateClient } from "weaviate-client";
import { type Objects, objectsOf, type WeaviateClass, type WeaviateCluster } from "./cluster.ts";
import { configOf, foreign } from "./collection.ts";
import { RECORDS_MARK } from "./schema.ts";

interface RecordObject {
  readonly name: string;
  readonly contents: string;
}

/** Names in one reply: the server returns no more. */
const MAX_NAMES = 10_000;

export class Records {
  readonly #cluster: WeaviateCluster;
  readonly #collection: string;

  constructor(cluster: WeaviateCluster, collection: string) {
    this.#cluster = cluster;
    this.#collection = collection;
  }

  async create(description: WeaviateClass): Promise<void> {
    await this.#cluster.ask((client) => createOnce(client, description));
    await this.checkOwn();
  }

  /** @throws {InputError} if there is a collection that reatt did not make */
  async checkOwn(): Promise<void> {
    const config = await configOf(this.#cluster, this.#collection);
    if (config && config.description !== RECORDS_MARK) throw foreign(this.#collection);
  }

  /** @param key what the record is found by */
  write(key: string, name: string, contents: string): Promise<void> {
    return this.#use(async ({ data }) => {
      const record: RecordObject = { name, contents };
      const reply = await data.insertMany([
        { id: this.#cluster.uuidOf(key), properties: record as never },
      ]);
      throwFirst(reply.errors);
    });
  }

  read(key: string): Promise<string | undefined> {
    return this.#use(async ({ query }) => {
      const options = { returnProperties: ["contents"] };
      const found = await query.fetchObjectById(this.#cluster.uuidOf(key), options);
      return (found?.properties as RecordObject | undefined)?.contents;
    });
  }

  delete(key: string): Promise<void> {
    return this.#use(async ({ data }) => {
      await data.deleteById(this.#cluster.uuidOf(key));
    });
  }

  names(prefix: string): Promise<string[]> {
    return this.#use(async ({ query }) => {
      const options = { limit: MAX_NAMES, returnProperties: ["name"] };
      const { objects } = await query.fetchObjects(options);
      return objects
        .map(({ properties }) => (properties as unknown as RecordObject).name)
        .filter((name) => name.startsWith(prefix))
        .sort();
    });
  }

  #use<Result>(work: (records: Objects) => Promise<Result>): Promise<Result> {
    return this.#cluster.ask((client) => work(objectsOf(client, this.#collection, "QUORUM")));
  }
}

/** Creates a collection, unless it is there. */
export async function createOnce(
  { collections }: WeaviateClient,
  description: WeaviateClass,
): Promise<void> {
  try {
    await collections.createFromSchema(description);
  } catch (error) {
    if (!(await collections.exists(description.class!))) throw error;
  }
}

/** @throws the first error of a batch, as the client throws others */
export function throwFirst(errors: Readonly<Record<number, { readonly message: string }>>): void {
  const [first] = Object.values(errors);
  if (!first) return;
  const error = new Error(first.message);
  error.name = "WeaviateBatchError";
  throw error;
}
