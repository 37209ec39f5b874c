/** Texts by name in a collection of Weaviate. Most replicas have acknowledged what it returns. */

import type { WeaviateClient } from "weaviate-client";
import { type Objects, objectsOf, type WeaviateClass, type WeaviateCluster } from "./cluster.ts";

interface RecordObject {
  readonly name: string;
  readonly contents: string;
}

export interface Records {
  create(description: WeaviateClass): Promise<void>;
  /** @param key what the record is found by */
  write(key: string, name: string, contents: string): Promise<void>;
  read(key: string): Promise<string | undefined>;
  delete(key: string): Promise<void>;
  names(prefix: string): Promise<string[]>;
}

/** Names in one reply: the server returns no more. */
const MAX_NAMES = 10_000;

export function recordsIn({ ask, weaviate }: WeaviateCluster, collection: string): Records {
  const uuidOf = (key: string): string => weaviate.generateUuid5(key);
  const withRecords = <Result>(work: (records: Objects) => Promise<Result>): Promise<Result> =>
    ask((client) => work(objectsOf(client, collection, "QUORUM")));
  return {
    create: (description) => ask((client) => createOnce(client, description)),
    write: (key, name, contents) =>
      withRecords(async ({ data }) => {
        const record: RecordObject = { name, contents };
        const reply = await data.insertMany([{ id: uuidOf(key), properties: record as never }]);
        throwFirst(reply.errors);
      }),
    read: (key) =>
      withRecords(async ({ query }) => {
        const found = await query.fetchObjectById(uuidOf(key), { returnProperties: ["contents"] });
        return (found?.properties as RecordObject | undefined)?.contents;
      }),
    delete: (key) =>
      withRecords(async ({ data }) => {
        await data.deleteById(uuidOf(key));
      }),
    names: (prefix) =>
      withRecords(async ({ query }) => {
        const { objects } = await query.fetchObjects({
          limit: MAX_NAMES,
          returnProperties: ["name"],
        });
        return objects
          .map(({ properties }) => (properties as unknown as RecordObject).name)
          .filter((name) => name.startsWith(prefix))
          .sort();
      }),
  };
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
