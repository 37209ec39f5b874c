/**
 * Addresses of stores: `postgres://USER@HOST/DATABASE/COLLECTION`, `weaviate://HOST/COLLECTION`.
 */

import { InputError } from "../../io/errors.ts";
import type { Store } from "./stores/store.ts";

const openWeaviate = async (address: string): Promise<Store> =>
  (await import("./stores/weaviate/weaviate.ts")).openWeaviate(address);

/** What opens a store, by the scheme of its address. Each loads its package when it is used. */
const STORES: Readonly<Record<string, (address: string) => Promise<Store>>> = {
  postgres: async (address) =>
    (await import("./stores/postgres/postgres.ts")).openPostgres(address),
  weaviate: openWeaviate,
  weaviates: openWeaviate, // with TLS
};

/** Whether the place of an index is an address, and not a folder. */
export const isStoreAddress = (place: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(place);

/** Such as `postgres`. */
export const schemeOf = (address: string): string => address.split(":", 1)[0]!.toLowerCase();

/** A place without the password that an address can have, to be shown. */
export const withoutPassword = (place: string): string =>
  isStoreAddress(place) ? place.replace(/:\/\/([^:@/]*):[^@/]*@/, "://$1@") : place;

/** @throws {InputError} for an address of no known store, or without its package */
export async function connectStore(address: string): Promise<Store> {
  const open = STORES[schemeOf(address)];
  if (open) return open(address);
  throw new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where: "store",
    expected: "an address: postgres://USER@HOST/DATABASE/COLLECTION or weaviate://HOST/COLLECTION",
    got: isStoreAddress(address) ? `one of ${schemeOf(address)}://` : "another text",
    remedy: "correct it",
  });
}
