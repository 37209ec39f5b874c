/** Compiles a script of the tests once, so that processes that run it start fast. */

import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import ts from "typescript";
import { LOADER, programFile } from "../../../support/node-program.ts";

const ROOT = resolve("."); // of the repository: tests run there, also those that are compiled
const COMPILER_OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
};

/**
 * Compiles `source` and the files that it imports into `directory`, without checking types, unless
 * the tests are compiled.
 *
 * @param source a path from the repository root
 * @param others scripts that no file imports, because they run as processes of their own
 * @returns the compiled script
 */
export async function compileScript(
  source: string,
  directory: string,
  others: readonly string[] = [],
): Promise<string> {
  if (LOADER.length === 0) return programFile(source); // the tests run compiled already
  const paths = new Set([source, ...others]);
  for (const path of paths) {
    const text = await readFile(join(ROOT, path), "utf8");
    const compiled = join(directory, scriptOf(path));
    await mkdir(dirname(compiled), { recursive: true });
    const { outputText } = ts.transpileModule(text, { compilerOptions: COMPILER_OPTIONS });
    await writeFile(compiled, outputText);
    for (const { fileName } of ts.preProcessFile(text).importedFiles)
      if (fileName.startsWith(".")) paths.add(join(dirname(path), fileName));
  }
  await writeFile(join(directory, "package.json"), '{ "type": "module" }');
  await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"));
  return join(directory, scriptOf(source));
}

const scriptOf = (path: string): string => path.replace(/\.ts$/, ".js");
