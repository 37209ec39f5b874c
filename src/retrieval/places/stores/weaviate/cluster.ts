/**
 * Calls of a Weaviate cluster. A node is asked whether it is ready before and during a call, since
 * the client itself waits up to half a minute for one that is gone. Then the next one is asked.
 *
 * Source: https://docs.weaviate.io/weaviate/client-libraries/typescript
 */

import { setInterval as ticks } from "node:timers/promises";
import type { Collection, WeaviateClient } from "weaviate-client";
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

export interface WeaviateCluster extends AsyncDisposable {
  readonly weaviate: Weaviate;
  /** Does work with a node that answers; if the node is lost, again with another one. */
  ask<Result>(work: (client: WeaviateClient) => Promise<Result>): Promise<Result>;
}

/** @throws {InputError} if the package weaviate-client is not installed */
export async function openCluster(
  { hosts, isEncrypted, address }: WeaviateAddress,
  apiKey: string | undefined = process.env.WEAVIATE_API_KEY,
): Promise<WeaviateCluster> {
  const weaviate = await loadPackage(address);
  const clients = new Map<WeaviateHost, Promise<WeaviateClient>>();
  let turn = Math.floor(Math.random() * hosts.length); // many processes begin with different nodes
  const connect = (host: WeaviateHost): Promise<WeaviateClient> => {
    const known = clients.get(host);
    if (known) return known;
    const client = weaviate.default.connectToCustom({
      httpHost: host.name,
      httpPort: host.port,
      httpSecure: isEncrypted,
      grpcHost: host.name,
      grpcPort: host.grpcPort,
      grpcSecure: isEncrypted,
      ...(apiKey !== undefined && { authCredentials: new weaviate.ApiKey(apiKey) }),
      timeout: TIMEOUTS,
    });
    clients.set(host, client);
    client.catch(() => clients.delete(host));
    return client;
  };
  const forget = async (host: WeaviateHost): Promise<void> => {
    const client = clients.get(host);
    clients.delete(host);
    await client?.then((open) => open.close()).catch(() => {}); // it may never have connected
  };
  const checkReady = async ({ name, port }: WeaviateHost): Promise<void> => {
    const node = `${isEncrypted ? "https" : "http"}://${name}:${port}`;
    const reply = await fetch(`${node}/v1/.well-known/ready`, {
      signal: AbortSignal.timeout(READY_MS),
    });
    await reply.arrayBuffer();
    if (!reply.ok) throw nodeAway(address, `${name}:${port} is not ready (${reply.status})`);
  };
  const askOne = async <Result>(
    host: WeaviateHost,
    work: (client: WeaviateClient) => Promise<Result>,
  ): Promise<Result> => {
    await checkReady(host);
    return await whileTrue(() => checkReady(host), connect(host).then(work));
  };
  return {
    weaviate,
    async ask(work) {
      let failure: unknown;
      const first = turn++;
      for (const i of hosts.keys()) {
        const host = hosts[(first + i) % hosts.length]!;
        try {
          return await askOne(host, work);
        } catch (error) {
          failure = weaviateError(error, address);
          if (!isAway(failure)) throw failure;
          await forget(host);
        }
      }
      throw failure;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...clients.keys()].map(forget));
    },
  };
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
