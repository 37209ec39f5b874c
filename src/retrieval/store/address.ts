/** Addresses of stores: `postgres://USER@HOST/DATABASE/COLLECTION`. */

import { InputError } from "../../io/errors.ts";
import type { Store } from "./store.ts";

/** What opens a store, by the scheme of its address. Each loads its package when it is used. */
const STORES: Readonly<Record<string, (address: URL) => Promise<Store>>> = {
  postgres: async (address) => (await import("./postgres.ts")).openPostgres(address),
};

/** Whether the place of an index is an address, and not a folder. */
export const isStoreAddress = (place: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(place);

/** @throws {InputError} for an address of no known store, or without its package */
export async function connectStore(address: string): Promise<Store> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const open = url && STORES[url.protocol.slice(0, -1)];
  if (open) return open(url);
  throw new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where: "store",
    expected: "an address such as postgres://USER@HOST/DATABASE/COLLECTION",
    got: url ? `one of ${url.protocol}//` : "another text",
    remedy: "correct it",
  });
}
