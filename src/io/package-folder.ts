/**
 * The folder of this package, where its weights, its page and its version are. It is found by the
 * name of the package, because a bundler would copy a path that stands in the code, or break it.
 */

import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** A file or a folder of the package. */
export const inPackage = (...names: readonly string[]): string => join(packageFolder(), ...names);

let folder: string | undefined;

function packageFolder(): string {
  folder ??= foundFrom(import.meta.url) ?? foundFrom(join(process.cwd(), "package.json"));
  return folder ?? join(process.cwd(), "node_modules", "reatt"); // an error names it
}

/**
 * @param module where the name is resolved from: the package itself or one that depends on it;
 *   undefined in a bundle of CommonJS, which has no `import.meta`
 */
function foundFrom(module: string | undefined): string | undefined {
  try {
    return module && dirname(createRequire(module).resolve("reatt/package.json"));
  } catch {
    return undefined;
  }
}
