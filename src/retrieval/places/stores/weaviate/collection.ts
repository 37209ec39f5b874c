/** The collection of passages in a Weaviate cluster, and what it is like. */

import { InputError } from "../../../../io/errors.ts";
import { type Consistency, type Objects, objectsOf, type WeaviateCluster } from "./cluster.ts";
import { type Described, isOrdered, orderedProperty, parseDescription } from "./schema.ts";

/** What a collection is like. */
export interface Schema extends Described {
  readonly properties: ReadonlySet<string>;
}

export interface DescribedCollection {
  /** Does work with the passages. Searches read one replica of a shard, other reads most. */
  withPassages<Result>(
    level: Consistency,
    work: (passages: Objects) => Promise<Result>,
  ): Promise<Result>;
  /** What the collection is like now; undefined without one. */
  find(): Promise<Schema | undefined>;
  /** @throws {InputError} if there is none, or another one */
  look(): Promise<Schema>;
  /** @throws {InputError} for a vector that would make the server fail */
  checkWidth(vector: Float32Array): Promise<void>;
  /** Adds those of the properties that order passages by their fields. */
  addProperties(names: readonly string[]): Promise<void>;
}

export function describedCollection(
  { ask }: WeaviateCluster,
  name: string,
  address: string,
): DescribedCollection {
  let known: Schema | undefined; // as of the last look
  const find = async (): Promise<Schema | undefined> => {
    known = undefined;
    const config = await ask(({ collections }) =>
      collections
        .use(name)
        .config.get()
        .catch((error: unknown) => {
          if ((error as { code?: number }).code === 404) return undefined;
          throw error;
        }),
    );
    if (!config) return undefined;
    const described = parseDescription(config.description ?? undefined);
    if (!described) throw foreign(address);
    known = { ...described, properties: new Set(config.properties.map(({ name }) => name)) };
    return known;
  };
  const look = async (): Promise<Schema> => {
    const found = await find();
    if (found) return found;
    throw noCollection(address);
  };
  return {
    find,
    look,
    withPassages: (level, work) => ask((client) => work(objectsOf(client, name, level))),
    async checkWidth({ length }) {
      const { dimension } = known ?? (await look());
      if (length !== dimension) throw otherWidth(address, dimension, length);
    },
    async addProperties(names) {
      const ordered = [...new Set(names)].filter(isOrdered);
      if (ordered.every((one) => known?.properties.has(one))) return;
      const { properties } = await look();
      for (const missing of ordered.filter((one) => !properties.has(one)))
        await ask(({ collections }) =>
          collections.use(name).config.addProperty(orderedProperty(missing)),
        );
      await look();
    },
  };
}

const noCollection = (where: string): InputError =>
  new InputError({
    code: "ERR_REATT_NO_INDEX",
    where,
    expected: "a collection that reatt index has made",
    got: "none",
    remedy: "import it: reatt index --store ADDRESS",
  });

const foreign = (where: string): InputError =>
  new InputError({
    code: "ERR_REATT_DAMAGED_INDEX",
    where,
    expected: "no collection, or one that reatt made",
    got: "another one of this name",
    remedy: "write another name, or delete the collection",
  });

const otherWidth = (where: string, dimension: number, got: number): InputError =>
  new InputError({
    code: "ERR_REATT_DAMAGED_INDEX",
    where,
    expected: `vectors of ${dimension} values`,
    got: `${got}`,
    remedy: "import again with --replace",
  });
