/** Compiles a script of the tests once, so that processes that run it start fast. */

import { execFileSync } from "node:child_process";
import { symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const OPTIONS =
  "--ignoreConfig --noCheck --target es2022 --module nodenext --rewriteRelativeImportExtensions --types node";

/** Compiles `source`, a path from the repository root, into `directory`. Returns the script. */
export async function compileScript(source: string, directory: string): Promise<string> {
  const compiler = createRequire(import.meta.url).resolve("typescript/package.json");
  execFileSync(process.execPath, [
    join(dirname(compiler), "bin", "tsc"),
    ...OPTIONS.split(" "),
    "--rootDir",
    ROOT,
    "--outDir",
    directory,
    join(ROOT, source),
  ]);
  await writeFile(join(directory, "package.json"), '{ "type": "module" }');
  await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"));
  return join(directory, source.replace(/\.ts$/, ".js"));
}
