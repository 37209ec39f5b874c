/**
 * Starts files of this repository as processes of their own. Tests run compiled
 * (scripts/compile-tests) or, one file at a time, through tsx; a process runs in the same way.
 */

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const BUILD = fileURLToPath(new URL("../..", import.meta.url));
const isCompiled = import.meta.url.endsWith(".js");

/** Arguments of Node that `moduleArguments` puts before the file: none for a compiled file. */
export const LOADER: readonly string[] = isCompiled ? [] : ["--import", import.meta.resolve("tsx")];

/** The file that runs for `source`, a path from the root of the repository to a `.ts` file. */
export const programFile = (source: string): string =>
  join(BUILD, isCompiled ? source.replace(/\.ts$/, ".js") : source);

/**
 * The arguments of Node for the program `source`.
 *
 * @example spawn(process.execPath, [...moduleArguments("src/cli/main.ts"), "info"])
 */
export const moduleArguments = (source: string): string[] => [...LOADER, programFile(source)];

/** The file that runs for the program `name`, without an extension, beside the module `url`. */
export const programBeside = (name: string, url: string): string =>
  join(dirname(fileURLToPath(url)), `${name}${isCompiled ? ".js" : ".ts"}`);
