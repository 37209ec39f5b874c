/**
 * Calls of a Weaviate cluster. A node is asked whether it is ready before and during a call, since
 * the client itself waits up to half a minute for one that is gone. Then the next one is asked.
 *
 * Source: https://docs.weaviate.io/weaviate/client-libraries/typescript
 */

import { setInterval as ticks } from "node:timers/promises";
import type { Collection, FilterValue, WeaviateClient } from "weaviate-client";
import { isAway } from "../retry.ts";
import { missingPackage } from "../store-errors.ts";
import type { WeaviateAddress, WeaviateHost } from "./address.ts";
import { nodeAway, weaviateError } from "./errors.ts";

/** The package. */
export type Weaviate = typeof import("weaviate-client");

/** The description of a collection. */
export type WeaviateClass = Parameters<WeaviateClient["collections"]["createFromSchema"]>[0];

/** The objects of a collection. Whoever reads their properties knows the types. */
export type Objects = Collection<undefined, string>;

/** How many replicas answer: one, or most. */
export type Consistency = "ONE" | "QUORUM";

/** Seconds that a call takes at most. */
const TIMEOUTS = { init: 10, query: 60, insert: 120 } as const;
/** Milliseconds that a node has to say that it is ready, and between two questions of that. */
const READY_MS = 5_000;
const WATCH_MS = 1_000;

/** @throws {InputError} if the package weaviate-client is not installed */
export const openCluster = async (
  address: WeaviateAddress,
  apiKey: string | undefined = process.env.WEAVIATE_API_KEY,
): Promise<WeaviateCluster> =>
  new WeaviateCluster(await loadPackage(address.address), address, apiKey);

export class WeaviateCluster implements AsyncDisposable {
  readonly weaviate: Weaviate;
  readonly #address: WeaviateAddress;
  readonly #apiKey: string | undefined;
  readonly #clients = new Map<WeaviateHost, Promise<WeaviateClient>>();
  /** The host that is asked next: many processes begin with different ones. */
  #turn: number;

  constructor(weaviate: Weaviate, address: WeaviateAddress, apiKey: string | undefined) {
    this.weaviate = weaviate;
    this.#address = address;
    this.#apiKey = apiKey;
    this.#turn = Math.floor(Math.random() * address.hosts.length);
  }

  get filter() {
    return this.weaviate.default.filter;
  }

  /** Of an object, by what it is found by. */
  uuidOf(key: string): string {
    return this.weaviate.generateUuid5(key);
  }

  byIds(ids: readonly string[]): FilterValue {
    return this.filter.byId().containsAny(ids.map((id) => this.uuidOf(id)));
  }

  /** Does work with a node that answers; if the node is lost, again with another one. */
  async ask<Result>(work: (client: WeaviateClient) => Promise<Result>): Promise<Result> {
    const { hosts, address } = this.#address;
    let failure: unknown;
    const first = this.#turn++;
    for (const i of hosts.keys()) {
      const host = hosts[(first + i) % hosts.length]!;
      try {
        await this.#checkReady(host);
        return await whileTrue(() => this.#checkReady(host), this.#connect(host).then(work));
      } catch (error) {
        failure = weaviateError(error, address);
        if (!isAway(failure)) throw failure;
        await this.#forget(host);
      }
    }
    throw failure;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#clients.keys()].map((host) => this.#forget(host)));
  }

  #connect(host: WeaviateHost): Promise<WeaviateClient> {
    const known = this.#clients.get(host);
    if (known) return known;
    const { isEncrypted } = this.#address;
    const client = this.weaviate.default.connectToCustom({
      httpHost: host.name,
      httpPort: host.port,
      httpSecure: isEncrypted,
      grpcHost: host.name,
      grpcPort: host.grpcPort,
      grpcSecure: isEncrypted,
      ...(this.#apiKey !== undefined && {
        authCredentials: new this.weaviate.ApiKey(this.#apiKey),
      }),
      timeout: TIMEOUTS,
    });
    this.#clients.set(host, client);
    client.catch(() => this.#clients.delete(host));
    return client;
  }

  async #forget(host: WeaviateHost): Promise<void> {
    const client = this.#clients.get(host);
    this.#clients.delete(host);
    await client?.then((open) => open.close()).catch(() => {}); // it may never have connected
  }

  async #checkReady({ name, port }: WeaviateHost): Promise<void> {
    const { isEncrypted, address } = this.#address;
    const node = `${isEncrypted ? "https" : "http"}://${name}:${port}`;
    const reply = await fetch(`${node}/v1/.well-known/ready`, {
      signal: AbortSignal.timeout(READY_MS),
    });
    await reply.arrayBuffer();
    if (!reply.ok) throw nodeAway(address, `${name}:${port} is not ready (${reply.status})`);
  }
}

export const objectsOf = (
  { collections }: WeaviateClient,
  name: string,
  level: Consistency,
): Objects => collections.use(name).withConsistency(level) as Objects;

/** The result of a work, or the failure of a check that is repeated until then. */
async function whileTrue<Result>(
  check: () => Promise<void>,
  work: Promise<Result>,
): Promise<Result> {
  const done = new AbortController();
  const watch = async (): Promise<never> => {
    for await (const _ of ticks(WATCH_MS, undefined, { signal: done.signal })) await check();
    throw new Error("the watch ended");
  };
  const failed = watch();
  failed.catch(() => {});
  work.catch(() => {});
  try {
    return await Promise.race([work, failed]);
  } finally {
    done.abort();
  }
}

async function loadPackage(where: string): Promise<Weaviate> {
  return await import("weaviate-client").catch((cause: unknown) => {
    throw missingPackage(where, "weaviate-client", "@3.12", cause);
  });
}
