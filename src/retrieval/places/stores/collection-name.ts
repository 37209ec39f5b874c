/** Names of collections, which every store can have. */

import { InputError } from "../../../io/errors.ts";

const NAME = /^[a-z][a-z0-9_]{0,47}$/;

/** @throws {InputError} if it cannot be the name of a collection */
export function checkCollection(name: string, where: string): string {
  if (NAME.test(name)) return name;
  throw new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where,
    expected: "a collection of lower-case letters, digits and _, with a letter first, at most 48",
    got: name === "" ? "none" : JSON.stringify(name),
    remedy: "write it at the end: postgres://HOST/DATABASE/COLLECTION, weaviate://HOST/COLLECTION",
  });
}
