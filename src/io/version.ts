/** The version of the package. */

import { readFileSync } from "node:fs";
import { inPackage } from "./package-folder.ts";

export const version = (): string =>
  JSON.parse(readFileSync(inPackage("package.json"), "utf8")).version;
