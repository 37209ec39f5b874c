/**
 * Connects to a store by its address: `postgres://USER@HOST/DATABASE/COLLECTION`,
 * `weaviate://HOST/COLLECTION`.
 */

import { InputError } from "../../../io/errors.ts";
import type { Store } from "./store.ts";

const openWeaviate = async (address: string): Promise<Store> =>
  (await import("./weaviate/weaviate.ts")).openWeaviate(address);

/** What opens a store, by the scheme of its address. Each loads its package when it is used. */
const STORES: Readonly<Record<string, (address: string) => Promise<Store>>> = {
  postgres: async (address) => (await import("./postgres/postgres.ts")).openPostgres(address),
  weaviate: openWeaviate,
  weaviates: openWeaviate, // with TLS
};

/** @throws {InputError} for an address of no known store, or without its package */
export async function connectStore(address: string): Promise<Store> {
  const scheme = address.split(":", 1)[0]!.toLowerCase();
  const open = STORES[scheme];
  if (open) return open(address);
  throw new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where: "store",
    expected: "an address: postgres://USER@HOST/DATABASE/COLLECTION or weaviate://HOST/COLLECTION",
    got: `one of ${scheme}://`,
    remedy: "correct it",
  });
}
