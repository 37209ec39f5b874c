/** Chooses what keeps an index by its address. Nothing else asks what kind of address it is. */

import { folderPlace } from "./folder/folder-place.ts";
import type { Place, PlaceOptions } from "./place.ts";
import { connectStore } from "./stores/connect.ts";
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
