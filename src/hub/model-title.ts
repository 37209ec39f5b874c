/** What a text for people calls a model. */

import { nameOfSnapshot } from "./cache.ts";
import { EMBEDDED_MODEL } from "./model-name.ts";

/** `ORG/NAME@COMMIT` for a model of the hub, and the folder for any other. */
export function modelTitle(folder: string): string {
  return folder === EMBEDDED_MODEL ? "reatt-mini" : (nameOfSnapshot(folder) ?? folder);
}
