/** Chooses what keeps an index by its address. Nothing else asks what kind of address it is. */

import { InputError } from "../../io/errors.ts";
import { folderPlace } from "./folder/folder-place.ts";
import type { Place, PlaceOptions } from "./place.ts";
import type { Store } from "./stores/store.ts";
import { storePlace } from "./stores/store-place.ts";

const STORE_ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;

/**
 * The place of an index. It does nothing yet: each call of it fails if the address is no place.
 *
 * @param address the path of a folder, or `postgres://USER@HOST/DATABASE/COLLECTION`,
 *   `weaviate://HOST/COLLECTION`
 */
export const placeOf = (address: string, options: PlaceOptions = {}): Place =>
  STORE_ADDRESS.test(address)
    ? storePlace(address, () => connectStore(address), options)
    : folderPlace(address, options);

const openWeaviate = async (address: string): Promise<Store> =>
  (await import("./stores/weaviate/weaviate.ts")).openWeaviate(address);

/** What opens a store, by the scheme of its address. Each loads its package when it is used. */
const STORES: Readonly<Record<string, (address: string) => Promise<Store>>> = {
  postgres: async (address) =>
    (await import("./stores/postgres/postgres.ts")).openPostgres(address),
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
