/** Type-checks examples as modules of their own that import the library from its sources. */

import { join } from "node:path";
import ts from "typescript";
import { compilerOptions, type Example } from "./find.ts";

/** The errors of the examples that do not compile. `modules`: the entry file of each name. */
export function typeErrors(
  examples: readonly Example[],
  modules: ReadonlyMap<string, string>,
): Map<Example, string> {
  const options = {
    ...compilerOptions(),
    paths: Object.fromEntries([...modules].map(([name, entry]) => [name, [entry]])),
  };
  const files = new Map(
    examples.map((example, i) => [join(process.cwd(), `example-${i}.ts`), example]),
  );
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path)?.code ?? readFile(path);
  host.getSourceFile = (path, version, ...rest) => {
    const example = files.get(path);
    if (!example) return getSourceFile(path, version, ...rest);
    return ts.createSourceFile(path, `${example.code}\nexport {};\n`, version); // always a module
  };
  const program = ts.createProgram({ rootNames: [...files.keys()], options, host });
  const errors = new Map<Example, string>();
  for (const [path, example] of files) {
    const source = program.getSourceFile(path)!;
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ].map((diagnostic) => describe(diagnostic, source));
    if (found.length > 0) errors.set(example, found.join("\n"));
  }
  return errors;
}

function describe({ start, messageText }: ts.Diagnostic, source: ts.SourceFile): string {
  const { line } = source.getLineAndCharacterOfPosition(start ?? 0);
  const text = source.text.split("\n")[line]!.trim();
  return `${ts.flattenDiagnosticMessageText(messageText, "\n")}: line ${line + 1}, ${text}`;
}
