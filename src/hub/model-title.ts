/** What a text for people calls a model. */

import { basename, resolve } from "node:path";
import { nameOfSnapshot } from "./cache.ts";
import { EMBEDDED_MODEL } from "./model-name.ts";

/**
 * `ORG/NAME@COMMIT` for a model of the hub. For any other the name of its folder: reports and cards
 * are published, and the path above it is of no use to others.
 */
export function modelTitle(folder: string): string {
  return folder === EMBEDDED_MODEL
    ? "reatt-mini"
    : (nameOfSnapshot(folder) ?? basename(resolve(folder)));
}
