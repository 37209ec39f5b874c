/** The collection of passages in a Weaviate cluster, and what it is like. */

import type { CollectionConfig } from "weaviate-client";
import { InputError } from "../../../../io/errors.ts";
import { type Consistency, type Objects, objectsOf, type WeaviateCluster } from "./cluster.ts";
import { type Described, isOrdered, orderedProperty, parseDescription } from "./schema.ts";

/** What a collection is like. */
export interface Schema extends Described {
  readonly properties: ReadonlySet<string>;
}

export class DescribedCollection {
  readonly #cluster: WeaviateCluster;
  readonly #name: string;
  readonly #address: string;
  /** As of the last look. */
  #known: Schema | undefined;

  constructor(cluster: WeaviateCluster, name: string, address: string) {
    this.#cluster = cluster;
    this.#name = name;
    this.#address = address;
  }

  /** Does work with the passages. Searches read one replica of a shard, other reads most. */
  use<Result>(level: Consistency, work: (passages: Objects) => Promise<Result>): Promise<Result> {
    return this.#cluster.ask((client) => work(objectsOf(client, this.#name, level)));
  }

  /** What the collection is like now; undefined without one. */
  async find(): Promise<Schema | undefined> {
    this.#known = undefined;
    const config = await configOf(this.#cluster, this.#name);
    if (!config) return undefined;
    const described = parseDescription(config.description ?? undefined);
    if (!described) throw foreign(this.#address);
    const properties = new Set(config.properties.map(({ name }) => name));
    this.#known = { ...described, properties };
    return this.#known;
  }

  /** @throws {InputError} if there is none, or another one */
  async look(): Promise<Schema> {
    const found = await this.find();
    if (found) return found;
    throw noCollection(this.#address);
  }

  /** @throws {InputError} for a vector that would make the server fail */
  async checkWidth({ length }: Float32Array): Promise<void> {
    const { dimension } = this.#known ?? (await this.look());
    if (length !== dimension) throw otherWidth(this.#address, dimension, length);
  }

  /** Adds those of the properties that order passages by their fields. */
  async addProperties(names: readonly string[]): Promise<void> {
    const ordered = [...new Set(names)].filter(isOrdered);
    if (ordered.every((one) => this.#known?.properties.has(one))) return;
    const { properties } = await this.look();
    for (const missing of ordered.filter((one) => !properties.has(one)))
      await this.#cluster.ask(({ collections }) =>
        collections.use(this.#name).config.addProperty(orderedProperty(missing)),
      );
    await this.look();
  }
}

/** What a collection was created with; undefined without one. */
export const configOf = (
  cluster: WeaviateCluster,
  name: string,
): Promise<CollectionConfig | undefined> =>
  cluster.ask(({ collections }) =>
    collections
      .use(name)
      .config.get()
      .catch((error: unknown) => {
        if ((error as { code?: number }).code === 404) return undefined;
        throw error;
      }),
  );

const noCollection = (where: string): InputError =>
  new InputError({
    code: "ERR_REATT_NO_INDEX",
    where,
    expected: "a collection that reatt index has made",
    got: "none",
    remedy: "import it: reatt index --store ADDRESS",
  });

export const foreign = (where: string): InputError =>
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
